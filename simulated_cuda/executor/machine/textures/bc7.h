// SPDX-License-Identifier: Apache-2.0
// Texels of BC7: 4 x 4 of them in a block of 16 bytes, of one of eight modes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::executor {

// Red, green, blue and alpha, as bytes, of texel `index` of the block, row by row.
void bc7_texel(const std::byte* block, std::uint32_t index, std::uint32_t* words);

} // namespace gmt::executor
