// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/dump/columns.h"

#include <algorithm>

#include "analyzer/base/text_format.h"

namespace gmt {

std::string in_quotes(std::string_view text) {
  std::string line = cat({"\"", text, "\""});
  std::ranges::replace_if(line, [](char c) { return c >= 0 && c < ' '; }, '?');
  return line;
}

std::string column(std::string_view name, std::string_view value) {
  return cat({" ", name, "=", value});
}
std::string column(std::string_view name, std::uint64_t value) {
  return column(name, std::to_string(value));
}

} // namespace gmt
