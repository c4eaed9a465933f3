// SPDX-License-Identifier: Apache-2.0
// Syntax back to text. What is printed and read again is the same syntax, but for offsets in the
// text, and an assembler makes the same code of it. The code of a function is printed from its Body
// alone, so it may have been changed. All else of a module stands in its text and is copied.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// The code of a function, or null if it shall stay as it is in the text. Names in it must live
// until the module is printed.
using CodeOf = std::function<std::optional<Body>(const Function&)>;

// Throws what `code_of` throws. A variable or function that new code needs is declared in the text
// before that is parsed.
std::string print_module(const Module& module, const CodeOf& code_of);

// Appends what stands between the braces of a function.
void print_body(const Module& module, const Function& function, const Body& body, std::string& out);

} // namespace gmt::ptx
