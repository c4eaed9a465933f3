// SPDX-License-Identifier: Apache-2.0
// What cuLinkComplete hands out: the PTX of all that was added, to be linked when it is loaded. It
// is one block of memory that any loading function takes, as it takes a real linker's cubin.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gmt::sim {

bool is_linked_code(const void* code);
std::vector<std::string> linked_texts(const void* code);
std::vector<std::byte> make_linked_code(const std::vector<std::string>& texts);

} // namespace gmt::sim
