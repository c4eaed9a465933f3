// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/code_line.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "analyzer/report/fingerprint.h"
#include "analyzer/report/source_text.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the name stands as a word of its own.
std::size_t find_word(std::string_view text, std::string_view name) {
  if (name.empty() || !is_word(name.back())) return std::string_view::npos;
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && (end == text.size() || !is_word(text[end]))) return at;
  }
  return std::string_view::npos;
}

// The kernel that a line with one launch names, before "<<<". Empty if it is no such line.
std::string_view launched_name(std::string_view text) {
  constexpr std::string_view kLaunch = "<<<";
  std::size_t end = text.find(kLaunch);
  if (end == std::string_view::npos ||
      text.find(kLaunch, end + kLaunch.size()) != std::string_view::npos)
    return {};
  unsigned depth = 0; // in a template's arguments
  for (; end != 0; --end) {
    const char c = text[end - 1];
    if (c == '>') ++depth;
    else if (c == '<' && depth != 0) --depth;
    else if (depth == 0 && c != ' ') break;
  }
  std::size_t begin = end;
  while (begin != 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

} // namespace

std::optional<std::size_t> own_frame(const CallStack& stack) {
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    const Frame& frame = stack.frames[i];
    if (frame.line != 0 && !frame.file.empty() && is_users_frame(frame)) return i;
  }
  return std::nullopt;
}

CodeLine code_line(const CallStack& stack, std::size_t frame, std::string text,
                   std::string_view kernel) {
  const std::size_t code_size = without_comment(text).size();
  CodeLine code{frame, std::move(text), code_size};
  const auto mark = [&code](std::string_view name) {
    const std::size_t at = find_word(std::string_view(code.text).substr(0, code.code_size), name);
    if (at == std::string_view::npos) return false;
    code.caret = at;
    code.length = name.size();
    return true;
  };
  // What the frame called, from the outside in: a wrapper of a header may stand between
  for (std::size_t i = frame; i-- > 0;) {
    if (mark(unscoped_function(stack.frames[i].function))) return code;
  }
  if (!mark(stack.api) && !mark(unscoped_function(kernel)) &&
      stack.api.find("Launch") != std::string::npos)
    mark(launched_name(std::string_view(code.text).substr(0, code.code_size)));
  return code;
}

} // namespace gmt
