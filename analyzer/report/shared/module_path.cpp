// SPDX-License-Identifier: Apache-2.0
// Source: torch/nn/modules/module.py and container.py of PyTorch 2.4 to 2.15.

#include "analyzer/report/shared/module_path.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

namespace gmt {
namespace {

bool is_caller_of_modules(const Frame& frame) {
  return frame.language == "python" && frame.file.ends_with("/torch/nn/modules/module.py");
}

bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The only "self.NAME(" or "self.NAME[...](" of a line; empty if there is none, or several.
std::string called_member(std::string_view line) {
  constexpr std::string_view kSelf = "self.";
  std::string found;
  for (std::size_t at = line.find(kSelf); at != std::string_view::npos;
       at = line.find(kSelf, at + 1)) {
    if (at > 0 && (continues_name(line[at - 1]) || line[at - 1] == '.')) continue;
    const std::size_t begin = at + kSelf.size();
    std::size_t end = begin;
    while (end < line.size() && (continues_name(line[end]) || line[end] == '.')) ++end;
    std::string name(line.substr(begin, end - begin));
    if (end < line.size() && line[end] == '[') {
      end = std::min(line.find(']', end), line.size() - 1) + 1;
      name += ".*";
    }
    if (end >= line.size() || line[end] != '(' || name.empty()) continue;
    if (!found.empty()) return {};
    found = std::move(name);
  }
  return found;
}

// Of "Bottleneck.forward" the class; "*" of hooks.
std::string class_of(const std::string& function) {
  if (!function.ends_with(".forward")) return "*";
  const std::size_t method = function.rfind('.');
  const std::size_t scope = function.rfind('.', method - 1);
  const std::size_t begin = scope == std::string::npos ? 0 : scope + 1;
  return function.substr(begin, method - begin);
}

std::string name_of_part(const Frame& caller, const Frame& part, SourceFiles& sources) {
  if (caller.file.ends_with("/torch/nn/modules/container.py")) return "*";
  const std::optional<std::string> line = sources.statement(caller.file, caller.line);
  std::string member = line ? called_member(*line) : std::string();
  return !member.empty() ? member : class_of(part.function);
}

} // namespace

std::string module_path(const CallStack& stack, SourceFiles& sources) {
  std::string path;
  const Frame* outer = nullptr; // the frame of Python around the one looked at, module.py's apart
  bool enters = false, is_inside = false;
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    if (frame->language != "python") continue;
    if (is_caller_of_modules(*frame)) {
      enters = true;
      continue;
    }
    if (enters && is_inside && outer != nullptr)
      path += (path.empty() ? "" : ".") + name_of_part(*outer, *frame, sources);
    is_inside |= enters;
    enters = false;
    outer = &*frame;
  }
  return path;
}

} // namespace gmt
