// SPDX-License-Identifier: Apache-2.0
// The message of a wrong value: what it was for, and what is right.
#pragma once

#include <string>
#include <vector>

namespace gmt {

// Throws a UserError of status 2. `name` is an option's, or a variable's of the environment.
[[noreturn]] void wrong_value(const std::string& name, const std::string& value,
                              const std::string& allowed);

std::string any_of(const std::vector<std::string>& words); // "text, json or dump"

} // namespace gmt
