// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/texels.h"

#include "simulated_cuda/executor/machine/textures/srgb.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace gmt::executor {
namespace {

std::int32_t extended(std::uint32_t bits, std::uint32_t bytes) {
  const std::uint32_t shift = 32 - 8 * bytes;
  return static_cast<std::int32_t>(bits << shift) >> shift;
}

// The smallest integer counts as the next one, so that -1 is there once.
float fraction_of(const Texture& t, std::uint32_t bits) {
  const std::uint32_t wide = 8u * t.channel_bytes;
  if (t.kind == TexelKind::kUnsigned)
    return static_cast<float>(bits) / static_cast<float>((1u << wide) - 1);
  const float most = static_cast<float>((1u << (wide - 1)) - 1);
  return std::max(static_cast<float>(static_cast<std::int32_t>(bits)) / most, -1.0f);
}

// The border's colour in the texture's format. Halves of an integer go toward 0.
std::uint32_t border_fraction(const Texture& t, float color) {
  const std::uint32_t wide = 8u * t.channel_bytes;
  const bool is_signed = t.kind == TexelKind::kSigned;
  const double most = is_signed ? (1u << (wide - 1)) - 1 : (1u << wide) - 1;
  const double value = std::clamp<double>(color, is_signed ? -1 : 0, 1) * most;
  const double away = std::ceil(std::fabs(value) - 0.5);
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(value < 0 ? -away : away));
}

} // namespace

float float_of_half(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f,
                      fraction = bits & 0x3ff;
  if (exponent == 0x1f) return as_float(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return as_float(sign | (exponent + 112) << 23 | fraction << 13);
  const float value = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -value : value;
}

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

bool is_srgb_channel(const Texture& t, std::uint32_t channel) {
  return t.is_srgb && channel < 3 && t.reads_fractions && t.channel_bytes == 1 &&
         t.kind == TexelKind::kUnsigned;
}

Texel texel_bits(const Texture& t, const std::byte* bytes) {
  Texel texel;
  if (t.packing == TexelPacking::k1010102) {
    std::uint32_t word;
    std::memcpy(&word, bytes, sizeof word);
    texel.word[0] = word & 0x3ff;
    texel.word[1] = word >> 10 & 0x3ff;
    texel.word[2] = word >> 20 & 0x3ff;
    texel.word[3] = word >> 30;
    return texel;
  }
  for (std::uint32_t c = 0; c < t.channels; ++c) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes + std::size_t{c} * t.channel_bytes, t.channel_bytes);
    if (t.kind == TexelKind::kFloat && t.channel_bytes == 2) bits = as_bits(float_of_half(bits));
    if (t.kind == TexelKind::kSigned)
      bits = static_cast<std::uint32_t>(extended(bits, t.channel_bytes));
    texel.word[c] = bits;
  }
  return texel;
}

Texel border_bits(const Texture& t) {
  Texel texel;
  for (std::uint32_t c = 0; c < t.channels; ++c) {
    const std::uint32_t bits = as_bits(t.border[c]);
    const std::uint32_t kept = t.channel_bytes == 4 ? ~0u : (1u << (8 * t.channel_bytes)) - 1;
    texel.word[c] = bits;
    if (t.reads_fractions) texel.word[c] = border_fraction(t, t.border[c]);
    else if (t.kind != TexelKind::kFloat) texel.word[c] = bits & kept;
  }
  return texel;
}

Texel texel_value(const Texture& t, Texel bits) {
  if (!t.reads_fractions) return bits;
  for (std::uint32_t c = 0; c < t.channels; ++c) {
    const bool is_packed = t.packing == TexelPacking::k1010102;
    const float value = is_packed ? static_cast<float>(bits.word[c]) / (c < 3 ? 1023.0f : 3.0f)
                                  : fraction_of(t, bits.word[c]);
    bits.word[c] = as_bits(is_srgb_channel(t, c) ? linear_of_srgb(bits.word[c]) : value);
  }
  return bits;
}

} // namespace gmt::executor
