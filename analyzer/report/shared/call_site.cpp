// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/shared/call_site.h"

#include <algorithm>
#include <string_view>

#include "analyzer/report/fingerprint.h"

namespace gmt {

std::size_t shown_frame(const CallStack& stack) {
  const auto has_line = [](const Frame& frame) { return !frame.file.empty(); };
  const auto is_users = [&](const Frame& frame) {
    return has_line(frame) && is_users_frame(frame);
  };
  auto at = std::ranges::find_if(stack.frames, is_users);
  if (at == stack.frames.end()) at = std::ranges::find_if(stack.frames, has_line);
  return at != stack.frames.end() ? static_cast<std::size_t>(at - stack.frames.begin()) : 0;
}

std::string backward_pass_of(const CallStack& stack) {
  constexpr std::string_view kNodes = "torch::autograd::generated::", kApply = "::apply";
  std::string node;
  bool is_engine = false;
  for (const Frame& frame : stack.frames) {
    if (is_users_frame(frame) && !frame.file.empty()) return {};
    const std::string name = function_identity(frame.function);
    is_engine = is_engine || name.starts_with("torch::autograd::Engine::");
    if (node.empty() && name.starts_with(kNodes) && name.ends_with(kApply))
      node = name.substr(kNodes.size(), name.size() - kNodes.size() - kApply.size());
  }
  if (!is_engine) return {};
  return "PyTorch's autograd engine" + (node.empty() ? "" : ", " + node);
}

} // namespace gmt
