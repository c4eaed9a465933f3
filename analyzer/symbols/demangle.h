// SPDX-License-Identifier: Apache-2.0
// Demangled C++ function names, cut to what is needed: the bare name for suppressions, a short form
// for text. Works on strings only and never fails: a name that it does not understand comes back
// whole.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gmt {

// The name as a person reads it; the mangled name itself if it is none, or not mangled.
// Versions ("@@GLIBC_2.34") and compilers' clone marks are dropped.
std::string demangle(std::string_view symbol);

// "void ns::step<int>(int*) const" -> "ns::step<int>".
std::string_view bare_function(std::string_view name);

// Without namespace, class and template arguments too: "step".
std::string_view unscoped_function(std::string_view name);

// Of a function in a sentence: template arguments may fill pages
inline constexpr std::size_t kLongestName = 120;

// At most `width` characters: parameters are dropped first, then template arguments, the return
// type, the end.
std::string shorten_function(std::string_view name, std::size_t width);

// Names for a column, by whole name: "negate<float, Stride<32u> >". Parameters stand only where
// names differ in nothing else. What is wider than `width` loses its namespace and then its end; of
// names that are alike up to there, what they share is left out: "negate<...Stride<32u> >".
std::map<std::string, std::string> distinct_names(const std::vector<std::string>& names,
                                                  std::size_t width);

} // namespace gmt
