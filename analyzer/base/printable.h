// SPDX-License-Identifier: Apache-2.0
// Text of programs on its way to a terminal: names of kernels, files and ranges are anybody's, and
// must neither steer the terminal nor show words in another order than they stand in.
#pragma once

#include <string>
#include <string_view>

namespace gmt {

// Control characters (C0, DEL, C1, also as single bytes), those that change the direction of text,
// separators of lines, and bytes that are no UTF-8 each become '?'.
std::string printable(std::string_view text);
// The same, and ends of lines and tabs stay.
std::string printable_lines(std::string_view text);

} // namespace gmt
