// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/shared/call_site.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
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

namespace {

using SourcePoint = std::tuple<std::string, std::string, std::uint32_t>;

SourcePoint point_of(const Frame& frame) { return {frame.function, frame.file, frame.line}; }

// The user's frames outward from the shown one, which is the first.
std::vector<std::size_t> user_path(const CallStack& stack) {
  std::vector<std::size_t> path;
  if (stack.frames.empty()) return path;
  const std::size_t shown = shown_frame(stack);
  path.push_back(shown);
  for (std::size_t i = shown + 1; i < stack.frames.size(); ++i)
    if (is_users_frame(stack.frames[i])) path.push_back(i);
  return path;
}

} // namespace

std::vector<std::optional<std::size_t>> differing_frames(std::span<const CallStack* const> stacks) {
  std::vector<std::vector<std::size_t>> paths;
  std::vector<std::vector<SourcePoint>> points;
  for (const CallStack* stack : stacks) {
    paths.push_back(user_path(*stack));
    std::vector<SourcePoint>& names = points.emplace_back();
    for (const std::size_t at : paths.back()) names.push_back(point_of(stack->frames[at]));
  }
  std::vector<std::optional<std::size_t>> found(stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    std::size_t depth = 0;
    for (std::size_t k = 0; k < stacks.size(); ++k) {
      const std::size_t common = static_cast<std::size_t>(
        std::ranges::mismatch(points[i], points[k]).in1 - points[i].begin());
      if (common != 0 && common < points[i].size()) depth = std::max(depth, common);
    }
    if (depth != 0) found[i] = paths[i][depth];
  }
  return found;
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

std::string_view keeper_of_tensor(const CallStack& stack) {
  const bool is_workspace = std::ranges::any_of(stack.frames, [](const Frame& frame) {
    const std::string_view function = frame.function;
    return base_name(frame.module).starts_with("libtorch_cuda") &&
           function.find("Workspace") != std::string_view::npos;
  });
  return is_workspace ? "PyTorch's cuBLAS workspace" : std::string_view();
}

std::string tensor_site(const CallStack& stack) {
  if (const std::string engine = backward_pass_of(stack); !engine.empty()) return "by " + engine;
  if (stack.frames.empty()) return {};
  const Frame& frame = stack.frames[shown_frame(stack)];
  if (frame.file.empty()) return {};
  return cat({"at ", base_name(frame.file), ":", std::to_string(frame.line)});
}

} // namespace gmt
