// SPDX-License-Identifier: Apache-2.0
// Calls get the names of functions that log, and the text is joined with these.
#include "interposer/kernel_checks/library/heap_calls.h"

#include <string_view>
#include <utility>
#include <vector>

#include "ptx/print/join.h"
#include "ptx/syntax/ptx.h"
#include "trace/device_ring.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::string_view kLoggedCalls =
#include <logged_calls.inc> // made by cmake
  ;
constexpr std::uint32_t kOldest = 70; // .version; of its functions some are not older

bool is_called(const ptx::Module& module, std::string_view name) {
  const ptx::Function* function = module.find_function(name);
  return function != nullptr && !function->has_body;
}

// The words behind a directive of the head, up to the line's end.
void set_line(std::string& text, std::string_view directive, const std::string& words) {
  const std::size_t at = text.find(directive);
  if (at == std::string::npos) return;
  const std::size_t begin = at + directive.size();
  text.replace(begin, text.find('\n', begin) - begin, " " + words);
}

} // namespace

std::string with_logged_heap(std::string text) {
  const ptx::Module module = ptx::parse_module(text);
  const bool is_used = is_called(module, "malloc") || is_called(module, "free");
  const bool is_logged = module.find_variable(trace::kControlSymbol) != nullptr;
  if (!is_used || is_logged || module.debug() || module.version() < kOldest || module.target() < 75)
    return text;
  std::string logged(kLoggedCalls);
  set_line(logged, "\n.version",
           std::to_string(module.version() / 10) + "." + std::to_string(module.version() % 10));
  set_line(logged, "\n.target", std::string(module.target_name()));
  std::vector<ptx::ModuleText> both(2);
  both[0].text = std::move(text);
  both[0].new_names = {{"malloc", "gpumemtrace_logged_malloc"},
                       {"free", "gpumemtrace_logged_free"}};
  both[1].text = std::move(logged);
  return ptx::join_modules(both);
}

} // namespace gmt::interposer::kernel_checks
