// SPDX-License-Identifier: Apache-2.0
// Whether a text begins with one of several words.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace gmt {

inline bool starts_with_any(std::string_view text,
                            std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view p) { return text.starts_with(p); });
}

} // namespace gmt
