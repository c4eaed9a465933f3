// SPDX-License-Identifier: Apache-2.0
// Declarations of variables and lists of parameters, with types, alignments and initializers.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {

// How many bytes of initializers may be stored still: a short text must not ask for all memory.
struct InitializerBudget {
  std::uint64_t bytes = 0;
};

// The part of a declaration that several names share: behind the state space, up to the name.
struct TypeOfVariable {
  Variable variable; // without name, size and initializer
};

// The state space that a directive opens a declaration with; kNone if it is none of them.
Space declared_space(std::string_view directive);

// Behind the directive of the state space.
TypeOfVariable parse_type_of_variable(Lexer& lexer, Space space);

// A name with its dimensions, and with "= value" if `budget` is not null.
Variable parse_variable(Lexer& lexer, const TypeOfVariable& type, InitializerBudget* budget);

// Behind "(": parameters up to the ")".
std::vector<Variable> parse_parameters(Lexer& lexer);

} // namespace gmt::ptx
