// SPDX-License-Identifier: Apache-2.0
// Measured on an H100 (docs/simulated-device.md): each of the models below gives the bits of all of
// its results.
#include "simulated_cuda/executor/machine/textures/filter.h"

#include "simulated_cuda/executor/machine/textures/srgb.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace gmt::executor {
namespace {

__extension__ using Wide = __int128;

// Mantissa and exponent of a float: value = mantissa * 2^exponent.
struct Parts {
  std::int64_t mantissa = 0;
  int exponent = 0; // of its lowest bit
  int top = 0;      // of its highest bit
};

Parts parts_of(float value) {
  const std::uint32_t bits = as_bits(value), fraction = bits & 0x7fffffu;
  const int biased = static_cast<int>(bits >> 23 & 0xff);
  Parts parts;
  parts.mantissa = biased == 0 ? fraction : fraction | 0x800000u;
  parts.exponent = std::max(biased, 1) - 150;
  if (parts.mantissa == 0) return {};
  const auto width = std::bit_width(static_cast<std::uint64_t>(parts.mantissa));
  parts.top = parts.exponent + static_cast<int>(width) - 1;
  if ((bits >> 31) != 0) parts.mantissa = -parts.mantissa;
  return parts;
}

// To so many bits, but none below `least`; halves go away from 0.
float rounded(Wide value, int exponent, int bits, int least) {
  const bool is_negative = value < 0;
  if (is_negative) value = -value;
  int width = 0;
  for (Wide rest = value; rest != 0; rest >>= 1) ++width;
  const int cut = std::max(width - bits, least - exponent);
  if (cut > 126) return is_negative ? -0.0f : 0.0f;
  if (cut > 0) value = (value + (Wide{1} << (cut - 1))) >> cut;
  const double magnitude = std::ldexp(static_cast<double>(value), exponent + std::max(cut, 0));
  return static_cast<float>(is_negative ? -magnitude : magnitude);
}

// Times a power of 2; what is cut off is cut toward 0.
Wide scaled(Wide value, int shift) {
  if (shift >= 0) return value << shift;
  return shift < -100 ? 0 : value / (Wide{1} << -shift);
}

// 10 bits, or the 2 of the last channel, as 16.
std::uint32_t word_of_packed(std::uint32_t bits, std::size_t channel) {
  constexpr std::uint32_t kEachTwoBits = 0x5555;
  return channel < 3 ? bits << 6 | bits >> 4 : bits * kEachTwoBits;
}

std::int64_t clamped(std::int64_t value, std::int64_t most) {
  return std::clamp(value, -most, most);
}

} // namespace

std::array<std::uint32_t, 4> weights_of_slice(std::uint32_t whole, std::uint32_t x,
                                              std::uint32_t y) {
  const std::uint32_t x1 = (whole * x + 128) >> 8, x0 = whole - x1;
  const std::uint32_t x1y1 = (x1 * y + 128) >> 8, x0y1 = (x0 * y + 127) >> 8;
  return {x0 - x0y1, x1 - x1y1, x0y1, x1y1};
}

void Sum::add(std::size_t slice, const Texel& bits, std::uint32_t weight) {
  if (weight != 0) parts_[slice][counts_[slice]++] = {bits, weight};
}

// Products of a slice are cut at the same bit below the highest one of their texels: of halves at
// the 14th, of floats at the 27th, of colours in sRGB at the 7th. Of those, eight bytes that differ
// in their last three bits alone have the highest bit of the last of them.
float Sum::of_floats(std::size_t channel) const {
  const bool is_srgb = t_.kind != TexelKind::kFloat;
  const bool is_half = t_.channel_bytes == 2 || is_srgb;
  int kept = is_half ? 14 : 27;
  if (is_srgb) kept = 7;
  const auto value_of = [&](const Part& part) {
    const std::uint32_t bits = part.bits.word[channel];
    return is_srgb ? linear_of_srgb(bits) : as_float(bits);
  };
  const auto top_of = [&](const Part& part) {
    constexpr std::uint32_t kLastOfEight = 7;
    const std::uint32_t bits = part.bits.word[channel];
    return parts_of(is_srgb ? linear_of_srgb(bits | kLastOfEight) : as_float(bits)).top;
  };
  struct Slice {
    Wide sum = 0;
    int lowest = 0; // the exponent of its lowest bit
  };
  std::array<Slice, kSlices> slices;
  std::size_t used = 0;
  float plain = 0;
  bool is_finite = true;
  int highest = 0;
  for (std::size_t at = 0; at < kSlices; ++at) {
    const std::span parts(parts_[at].data(), counts_[at]);
    bool any = false;
    int top = 0;
    for (const Part& part : parts) {
      const float value = value_of(part);
      is_finite = is_finite && std::isfinite(value);
      plain += value * static_cast<float>(part.weight) / 256;
      const Parts of = parts_of(value);
      if (of.mantissa == 0) continue;
      top = any ? std::max(top, top_of(part)) : top_of(part);
      any = true;
    }
    if (!any) continue;
    Slice& slice = slices[used++];
    slice.lowest = top - kept;
    highest = used == 1 ? slice.lowest : std::max(highest, slice.lowest);
    for (const Part& part : parts) {
      const Parts of = parts_of(value_of(part));
      slice.sum += scaled(of.mantissa, of.exponent - slice.lowest) * part.weight;
    }
  }
  if (!is_finite) return plain;
  if (used == 0) return 0;
  constexpr int kMostApart = 30; // what lies lower in another slice does not matter
  Wide sum = 0;
  const int exponent = highest - (used > 1 ? kMostApart : 0);
  for (std::size_t at = 0; at < used; ++at)
    sum += scaled(slices[at].sum, slices[at].lowest - exponent);
  constexpr int kWeightBits = 8, kLeastOfFloats = -149, kLeastOfHalves = -24;
  return is_half ? rounded(sum, exponent - kWeightBits, 11, kLeastOfHalves)
                 : rounded(sum, exponent - kWeightBits, 24, kLeastOfFloats);
}

// Integers become 16 bits wide, those of 8 bits with a sign only when they are summed.
float Sum::of_fractions(std::size_t channel) const {
  const bool is_signed = t_.kind == TexelKind::kSigned, is_byte = t_.channel_bytes == 1;
  std::int64_t sum = 0;
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    for (std::size_t i = 0; i < counts_[slice]; ++i) {
      const Part& part = parts_[slice][i];
      const std::uint32_t bits = t_.packing == TexelPacking::k1010102
                                   ? word_of_packed(part.bits.word[channel], channel)
                                   : part.bits.word[channel];
      const std::int64_t value = is_signed ? static_cast<std::int32_t>(bits) : std::int64_t{bits};
      sum += value * part.weight * (is_byte && !is_signed ? 257 : 1);
    }
  }
  if (!is_signed) return static_cast<float>((sum + 128) >> 8) / 65535.0f;
  if (!is_byte) return static_cast<float>(clamped((sum + 128) >> 8, 32767)) / 32767.0f;
  sum = clamped(sum, 127 * 256);
  return static_cast<float>(((sum << 3) + (sum >> 4) + (sum >> 12) + 4) >> 3) / 32767.0f;
}

Texel Sum::result() const {
  Texel texel;
  for (std::size_t c = 0; c < t_.channels; ++c)
    texel.word[c] =
      as_bits(t_.kind == TexelKind::kFloat || is_srgb_channel(t_, static_cast<std::uint32_t>(c))
                ? of_floats(c)
                : of_fractions(c));
  return texel;
}

} // namespace gmt::executor
