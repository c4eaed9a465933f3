// SPDX-License-Identifier: Apache-2.0
// The mark that some editors put before a text of UTF-8.
#pragma once

#include <string_view>

namespace gmt {

constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

} // namespace gmt
