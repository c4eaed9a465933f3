// SPDX-License-Identifier: Apache-2.0
// Where the code of measured functions comes from, see trace_code.h.
#include "analyzer/device_code/trace_code.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/device_code/kernel_code_search.h"
#include "analyzer/trace_reader/access_log.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kSearch{30}; // libraries of gigabytes take some

// Functions with what was measured in them, once each: contexts measure the same.
std::vector<WantedFunction> measured_functions(const TraceDir& trace) {
  std::vector<WantedFunction> wanted;
  for (const fs::path& path : trace.access_logs) {
    for (const AccessFunction& function : read_access_log(path).functions) {
      WantedFunction& added = wanted.emplace_back(WantedFunction{function.name, {}});
      for (const AccessFunction::Instruction& i : function.instructions) {
        if (i.counts.accessed_memory()) added.offsets.push_back(i.offset);
      }
      std::ranges::sort(added.offsets);
      if (added.name.empty() || added.offsets.empty()) wanted.pop_back();
    }
  }
  const auto key = [](const WantedFunction& f) { return std::tie(f.name, f.offsets); };
  std::ranges::sort(wanted, {}, key);
  wanted.erase(std::unique(wanted.begin(), wanted.end(),
                           [key](const auto& a, const auto& b) { return key(a) == key(b); }),
               wanted.end());
  return wanted;
}

} // namespace

const FunctionCode* TraceCode::find(std::string_view name, std::span<const std::uint32_t> offsets,
                                    std::span<const unsigned> architectures) {
  if (!std::exchange(asked_, true)) read_or_search(architectures);
  return file_.find(name, offsets);
}

// What wrote the file searched as well as this would; only a damaged one is worth another
// search.
void TraceCode::read_or_search(std::span<const unsigned> architectures) {
  std::error_code error;
  if (fs::exists(trace_.path / "code", error)) {
    file_ = CodeFile::read(trace_.path);
    if (file_.damaged_lines() == 0) return;
    not_checked_.push_back({"lines of kernels", "'code' in " + trace_.path.string() +
                                                  " is damaged: kernels may be without lines"});
  }
  search(architectures);
}

void TraceCode::search(std::span<const unsigned> architectures) {
  const std::vector<WantedFunction> wanted = measured_functions(trace_);
  if (wanted.empty()) return;
  KernelCodeSearch search(wanted, architectures, std::chrono::steady_clock::now() + kSearch);
  for (const fs::path& image : images_of(trace_.path)) search.look_in_image(image);
  std::set<std::string_view> seen; // loaded anew, or several times
  for (const Module& module : trace_.modules) {
    if (!seen.insert(module.path).second) continue;
    search.look_in_module(module);
  }
  if (search.timed_out()) {
    not_checked_.push_back(
      {"lines of kernels", "the search in the program's libraries was given up after " +
                             std::to_string(kSearch.count()) + " seconds"});
  }
  for (FunctionCode& code : search.take()) {
    // Contexts may have measured different parts
    const FunctionCode* same = file_.find(code.name, {});
    const bool known = same != nullptr && same->instructions == code.instructions;
    if (!code.instructions.empty() && !known) file_.add(std::move(code));
  }
  if (!write_) return;
  if (std::optional<std::string> failure = file_.write(trace_.path))
    remarks_.push_back(std::move(*failure));
}

} // namespace gmt
