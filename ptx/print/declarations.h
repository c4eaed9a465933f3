// SPDX-License-Identifier: Apache-2.0
// Declarations inside functions as text, without the ";".
#pragma once

#include <cstdint>
#include <string>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

void print_unsigned(std::uint64_t value, std::string& out);
void print_registers(const RegisterDeclaration& registers, std::string& out);
// Dimensions are one, and initial values are none: the syntax of a body has no more.
void print_variable(const Variable& variable, std::string& out);
void print_prototype(const Prototype& prototype, std::string& out);

} // namespace gmt::ptx
