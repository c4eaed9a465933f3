// SPDX-License-Identifier: Apache-2.0
// nvcc gives the host a variable of the same name and size for each __device__ and __constant__
// one, which only serves as a key. Its linked name may differ (the host's is static), so the
// readable names are compared; the device's may stand in one more namespace, that of its compiled
// file.
#include "analyzer/device_code/static_variables.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "analyzer/device_code/cubin.h"
#include "analyzer/device_code/fatbin.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/trace_reader/reused_addresses.h"

namespace gmt {
namespace {

constexpr std::chrono::milliseconds kSearchOfOneFile{500}; // in the device code of one file

bool is_same_name(std::string_view host, std::string_view device) {
  if (!device.ends_with(host)) return false;
  device.remove_suffix(host.size());
  return device.empty() || device.ends_with("::");
}

bool is_identifier(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$';
}

// nvcc -rdc makes a static name the program's own: "__nv_static_<n>_<n characters of the
// file>_<linked name>".
std::string readable(std::string_view device) {
  constexpr std::string_view kStatic = "__nv_static_";
  if (!device.starts_with(kStatic)) return demangle(device);
  std::string_view rest = device.substr(kStatic.size());
  std::size_t file = 0;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9' && file < device.size()) {
    file = file * 10 + static_cast<std::size_t>(rest[0] - '0');
    rest.remove_prefix(1);
  }
  return demangle(rest.size() > file + 2 ? rest.substr(file + 2) : device);
}

// A line of PTX that declares a variable: ".visible .global .align 4 .b8 name[bytes];". Of a
// managed one the host has a pointer.
std::optional<DataSymbol> declared_in(std::string_view line) {
  const bool is_variable =
    line.starts_with('.') && (line.find(".global ") != std::string_view::npos ||
                              line.find(".const ") != std::string_view::npos);
  const std::size_t stop = line.find_first_of("[;=");
  if (!is_variable || stop == std::string_view::npos ||
      line.find(".managed") != std::string_view::npos)
    return {};
  std::size_t end = stop;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && is_identifier(line[begin - 1])) --begin;
  DataSymbol variable{.name = std::string(line.substr(begin, end - begin))};
  const bool counts_bytes = line[stop] == '[' && line.find(".b8 ") < stop;
  for (std::size_t at = stop + 1;
       counts_bytes && at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at) {
    variable.bytes = variable.bytes * 10 + static_cast<std::uint64_t>(line[at] - '0');
  }
  return variable;
}

std::vector<DataSymbol> variables_in(const FatbinEntry& entry, std::span<const char> code) {
  std::vector<DataSymbol> found;
  if (entry.kind == FatbinEntry::Kind::kCubin) {
    const std::optional<Cubin> cubin = Cubin::open(code);
    if (!cubin) return found;
    for (const auto& [name, bytes] : cubin->variables())
      found.push_back({.name = std::string(name), .bytes = bytes});
  } else if (entry.kind == FatbinEntry::Kind::kPtx) {
    std::string_view text(code.data(), code.size());
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (auto variable = declared_in(line)) found.push_back(std::move(*variable));
    }
  }
  return found;
}

} // namespace

StaticVariables::File StaticVariables::read(const Module& module) {
  File file;
  const std::optional<ElfFile> binary = ElfFile::open(module.path);
  if (!binary || binary->build_id() != module.build_id) return file;
  for (DataSymbol& variable : binary->variables()) {
    variable.name = demangle(variable.name);
    file.variables.emplace(variable.address, std::move(variable));
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kSearchOfOneFile;
  std::vector<char> buffer;
  visit_entries(device_code_of(binary->image()), deadline, [&](const FatbinEntry& entry) {
    for (DataSymbol& variable : variables_in(entry, unpack(entry, buffer))) {
      variable.name = readable(variable.name);
      std::string key(unscoped_function(variable.name));
      const auto [first, last] = file.device.equal_range(key);
      const bool is_known = std::any_of(first, last, [&](const auto& known) {
        return known.second.name == variable.name && known.second.bytes == variable.bytes;
      });
      if (!is_known) file.device.emplace(std::move(key), std::move(variable));
    }
    return true;
  });
  file.knows_all = std::chrono::steady_clock::now() <= deadline;
  return file;
}

// Where a second variable of the host has that name and size, which of them is the shadow is not
// known.
StaticVariable StaticVariables::describe(const File& file, const DataSymbol& variable) {
  const auto [first, last] = file.device.equal_range(unscoped_function(variable.name));
  const bool is_devices = std::any_of(first, last, [&](const auto& entry) {
    const DataSymbol& device = entry.second;
    return (device.bytes == 0 || device.bytes == variable.bytes) &&
           is_same_name(variable.name, device.name);
  });
  if (!is_devices) {
    return {.kind = file.knows_all ? StaticVariable::Kind::kHost : StaticVariable::Kind::kUnknown,
            .name = variable.name};
  }
  const auto alike = std::ranges::count_if(file.variables, [&](const auto& entry) {
    return entry.second.name == variable.name && entry.second.bytes == variable.bytes;
  });
  return {.kind = alike == 1 ? StaticVariable::Kind::kShadow : StaticVariable::Kind::kUnknown,
          .name = variable.name};
}

StaticVariable StaticVariables::find(const Module& module, std::uint64_t address) {
  const auto [at, is_new] = files_.try_emplace({module.path, module.build_id});
  if (is_new) at->second = read(module);
  File& file = at->second;
  const std::uint64_t offset = machine_address(address - module.bias);
  const auto behind = file.variables.upper_bound(offset);
  if (behind == file.variables.begin()) return {};
  const DataSymbol& variable = std::prev(behind)->second;
  if (offset - variable.address >= variable.bytes) return {};
  const auto answer = file.answers.find(variable.address);
  if (answer != file.answers.end()) return answer->second;
  return file.answers[variable.address] = describe(file, variable);
}

} // namespace gmt
