// SPDX-License-Identifier: Apache-2.0
// One fuzz input is the text of one module of PTX.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::test {

// Puts checks into the module in each way. Returns for every input, or something is wrong: what was
// written must be PTX that has all functions of the text.
void rewrite_ptx_input(const std::uint8_t* data, std::size_t size);

} // namespace gmt::test
