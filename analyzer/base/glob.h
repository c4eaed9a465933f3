// SPDX-License-Identifier: Apache-2.0
// Patterns with wildcards, in time that does not explode with the number of stars.
#pragma once

#include <string_view>

namespace gmt {

// `*` is any run of characters, `?` any one; everything else stands for itself, brackets of C++
// names included. The whole text must match.
bool glob_match(std::string_view pattern, std::string_view text);

} // namespace gmt
