// SPDX-License-Identifier: Apache-2.0
// One fuzz input is a GPU's core dump, or the file that the command makes of one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::test {

// Reads the dump, then what would be stored of it. Returns for every input, or something is wrong.
void read_dump_input(const std::uint8_t* data, std::size_t size);

} // namespace gmt::test
