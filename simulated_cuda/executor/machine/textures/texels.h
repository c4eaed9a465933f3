// SPDX-License-Identifier: Apache-2.0
// A texel as a kernel gets it: what its bytes mean in the formats of textures.
#pragma once

#include "simulated_cuda/executor/machine/textures/texture.h"

#include <cstddef>
#include <cstdint>

namespace gmt::executor {

// Four words: integers, or the bits of floats. Channels that the format lacks are 0.
struct Texel {
  std::uint32_t word[4] = {};
};

// Of the colours of bytes; the fourth channel is as it is.
bool is_srgb_channel(const Texture& t, std::uint32_t channel);

float as_float(std::uint32_t bits);
std::uint32_t as_bits(float value);
float float_of_half(std::uint32_t bits);

// Integers as they lie there, wider; halves as floats. `bytes` are texel_bytes() long.
Texel texel_bits(const Texture& t, const std::byte* bytes);
// What lies outside, with the border's mode, in the same form.
Texel border_bits(const Texture& t);
// One texel alone becomes what the kernel gets: integers may become fractions.
Texel texel_value(const Texture& t, Texel bits);

} // namespace gmt::executor
