// SPDX-License-Identifier: Apache-2.0
// One text of several modules, for what takes one alone: as linking them would give it. Names that
// several modules have for themselves get new ones. Debug information (-G) is not joined; lines
// are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gmt::ptx {

struct ModuleText {
  std::string text;
  std::map<std::string, std::string, std::less<>> new_names; // for names of the text
};

// Throws LinkError, with half a sentence, if they cannot be joined, and ParseError.
std::string join_modules(const std::vector<ModuleText>& texts);
std::string join_modules(const std::vector<std::string>& texts);

} // namespace gmt::ptx
