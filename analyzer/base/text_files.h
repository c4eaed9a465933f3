// SPDX-License-Identifier: Apache-2.0
// What the text files of a trace have in common (trace/FORMAT.md): escapes and hexadecimal numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gmt {

std::string escape(std::string_view text);   // \\ \n \r \t
std::string unescape(std::string_view text); // a stray backslash stands for itself
std::string hex(std::uint64_t value);        // without 0x

} // namespace gmt
