// SPDX-License-Identifier: Apache-2.0
// Texels of compressed formats: 4 x 4 of them in a block of 8 or 16 bytes (BC1 to BC7).
#pragma once

#include "simulated_cuda/executor/machine/textures/texels.h"

#include <cstddef>
#include <cstdint>

namespace gmt::executor {

// Number `index` of a block, row by row, as texel_bits() gives texels.
Texel texel_of_block(const Texture& t, const std::byte* block, std::uint32_t index);

} // namespace gmt::executor
