// SPDX-License-Identifier: Apache-2.0
// The columns of a dumped line: " name=value". Nothing in one breaks the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gmt {

// One line whatever the program wrote: control characters are shown as '?'.
std::string in_quotes(std::string_view text);

// " id=7": one column.
std::string column(std::string_view name, std::string_view value);
std::string column(std::string_view name, std::uint64_t value);

} // namespace gmt
