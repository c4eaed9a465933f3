// SPDX-License-Identifier: Apache-2.0
// Constant expressions: C's operators on 64-bit integers; floats only by themselves.
#pragma once

#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {

// A whole expression with ?:, at most some dozens of parentheses deep.
Literal parse_expression(Lexer& lexer);

// An expression whose value is an integer.
std::uint64_t parse_integer_expression(Lexer& lexer);

// Whether a constant can start here.
bool at_expression(Lexer& lexer);

} // namespace gmt::ptx
