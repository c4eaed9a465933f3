// SPDX-License-Identifier: Apache-2.0
// What a GPU's driver refuses when it translates a text: syntax, names that nothing declares,
// instructions that there are not. What only an assembler can judge, such as types that do not fit,
// passes.
#pragma once

#include <optional>
#include <string>

#include "ptx/syntax/types.h"

namespace gmt::ptx {

// Null if nothing is wrong with it. Reads the code of all functions.
std::optional<ParseError> why_invalid(std::string text);

} // namespace gmt::ptx
