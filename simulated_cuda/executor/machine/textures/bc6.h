// SPDX-License-Identifier: Apache-2.0
// Texels of BC6H: 4 x 4 colours of 16-bit floats in a block of 16 bytes, of one of 14 modes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::executor {

// Red, green and blue, as bits of f16, of texel `index` of the block, row by row.
void bc6_texel(const std::byte* block, bool is_signed, std::uint32_t index, std::uint32_t* words);

} // namespace gmt::executor
