// SPDX-License-Identifier: Apache-2.0
// What differs between two syntaxes, but for offsets in their texts; empty if nothing does.
#pragma once

#include <string>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx::test {

// What modules declare, without the code of their functions.
std::string difference(const Module& left, const Module& right);

std::string difference(const Body& left, const Body& right);

// Prints a module with the code of all functions that can be read, reads it again, and compares.
// Throws ParseError if what was printed is no PTX.
std::string difference_when_printed(const Module& module);

} // namespace gmt::ptx::test
