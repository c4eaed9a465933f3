// SPDX-License-Identifier: Apache-2.0
// One fuzz input is the text of one module of PTX.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::test {

// Reads, links and analyses the module. Returns for every input, or something is wrong. What was
// read without an error is checked: each number in it leads to something that is there.
void parse_ptx_input(const std::uint8_t* data, std::size_t size);

} // namespace gmt::test
