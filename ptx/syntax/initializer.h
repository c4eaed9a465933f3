// SPDX-License-Identifier: Apache-2.0
// Initial values of a variable: numbers, addresses of symbols, and lists of them.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/declarations.h"

namespace gmt::ptx {

// Behind "=". Fills `initial` and `addresses` of the variable. `dimensions` are its own, with the
// vector as the last; a first dimension of 0 takes its size from the values.
void parse_initializer(Lexer& lexer, Variable& variable, std::vector<std::uint64_t>& dimensions,
                       InitializerBudget& budget);

} // namespace gmt::ptx
