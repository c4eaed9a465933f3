// SPDX-License-Identifier: Apache-2.0
// See static_variables.h. nvcc gives the host a variable of the same name and size for each __device__ and
// __constant__ one, which only serves as a key. Its linked name may differ (the host's is static), so the
// readable names are compared; the device's may stand in one more namespace, that of its compiled file.
#include "analyzer/static_variables.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "analyzer/cubin.h"
#include "analyzer/elf_file.h"
#include "analyzer/fatbin.h"
#include "analyzer/function_name.h"

namespace gmt {
namespace {

constexpr std::chrono::milliseconds kSearch{500}; // in the device code of one file

bool is_same_name(std::string_view host, std::string_view device) {
  if (!device.ends_with(host)) return false;
  device.remove_suffix(host.size());
  return device.empty() || device.ends_with("::");
}

bool is_identifier(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }

// The declarations of PTX end in "name;", "name[bytes];" or "name[bytes] = {".
bool declares(std::string_view ptx, const DataSymbol& host) {
  const std::string name = demangle(host.name), brackets = "[" + std::to_string(host.bytes) + "]";
  for (std::size_t at = ptx.find('\n'); at != std::string_view::npos; at = ptx.find('\n', at + 1)) {
    std::string_view line = ptx.substr(at + 1, ptx.find('\n', at + 1) - at - 1);
    if (line.find(".managed") != std::string_view::npos) continue; // the host has a pointer to it
    const bool is_variable = line.starts_with(".") && (line.find(".global ") != std::string_view::npos ||
                                                       line.find(".const ") != std::string_view::npos);
    if (!is_variable) continue;
    std::size_t end = line.find_first_of("[;=");
    if (end == std::string_view::npos) continue;
    const bool is_sized = line[end] != '[' || line.substr(end).starts_with(brackets) || line.find(".b8 ") == std::string_view::npos;
    while (end > 0 && line[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && is_identifier(line[begin - 1])) --begin;
    if (is_sized && is_same_name(name, demangle(line.substr(begin, end - begin)))) return true;
  }
  return false;
}

bool is_in_cubin(std::span<const char> image, const DataSymbol& host) {
  const std::optional<Cubin> cubin = Cubin::open(image);
  if (!cubin) return false;
  const std::string name = demangle(host.name);
  for (const auto& [symbol, bytes] : cubin->variables()) {
    if (bytes == host.bytes && is_same_name(name, demangle(symbol))) return true;
  }
  return false;
}

// Unknown if there was no time for all of the device code.
StaticVariable::Kind kind_of(const ElfFile& file, const DataSymbol& host) {
  const Deadline deadline = std::chrono::steady_clock::now() + kSearch;
  bool found = false;
  std::vector<char> buffer;
  visit_entries(nv_fatbin_of(file), deadline, [&](const FatbinEntry& entry) {
    const std::span<const char> code = unpack(entry, buffer);
    if (entry.kind == FatbinEntry::Kind::kCubin) found = is_in_cubin(code, host);
    if (entry.kind == FatbinEntry::Kind::kPtx) found = declares({code.data(), code.size()}, host);
    return !found;
  });
  if (found) return StaticVariable::Kind::kShadow;
  return std::chrono::steady_clock::now() > deadline ? StaticVariable::Kind::kUnknown : StaticVariable::Kind::kHost;
}

StaticVariable look_up(const Module& module, std::uint64_t address) {
  const std::optional<ElfFile> file = ElfFile::open(module.path);
  if (!file || file->build_id() != module.build_id) return {};
  const std::optional<DataSymbol> symbol = file->variable_at(address - module.bias);
  if (!symbol) return {};
  return {.kind = kind_of(*file, *symbol), .name = demangle(symbol->name)};
}

} // namespace

StaticVariable StaticVariables::find(const Module& module, std::uint64_t address) {
  const auto [at, is_new] = known_.try_emplace({module.path, address - module.bias});
  if (is_new) at->second = look_up(module, address);
  return at->second;
}

} // namespace gmt
