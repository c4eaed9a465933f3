// SPDX-License-Identifier: Apache-2.0
// How a tensor core of an H100 sums products of floats. All products of a step and the accumulator
// are cut, toward zero, at one place: 25 or 13 bits below the exponent of the largest of them. A
// product has the sum of its factors' exponents there, even if it is 2 or more times as large; a
// zero has none. The sum of what is left is exact. As f32 it is cut toward zero, as f16 it is
// rounded to nearest even. tests/executor/matrices holds this against a recording.
#pragma once

#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <algorithm>

namespace gmt::executor {
namespace {

constexpr u32 kColumns = 8, kMostElements = 64; // of a tile, and of a row of 8-bit elements
// Bits below the largest exponent: of mma, and of wgmma with factors of 8 bits, whose sums keep no
// more of them as f32 either.
constexpr s32 kBelow = 25, kBelowOfBytes = 13;
// Of zero; of an element that a sparse matrix lacks; of infinity and NaN
constexpr s32 kNoExponent = -2000, kAbsent = -3000, kNotFinite = 1000;

// One factor's elements as floats, with the exponents that they count by.
struct TensorColumns {
  alignas(64) f32 value[kMostElements][kColumns];
  alignas(64) s32 exponent[kMostElements][kColumns];
  bool is_finite = true;
};
struct TensorRow {
  alignas(64) f32 value[kMostElements];
  alignas(64) s32 exponent[kMostElements];
  bool is_finite = true;
};

// Subnormal numbers count by the least exponent of their format.
template <s32 kLeast>
[[gnu::always_inline]] inline s32 exponent_of(f32 v) {
  const u32 magnitude = bits(v) & 0x7fffffffu;
  const s32 e = static_cast<s32>(magnitude >> 23) - 127;
  const s32 counted = e < kLeast ? kLeast : e;
  const s32 of_number = e == 128 ? kNotFinite : counted;
  return magnitude == 0 ? kNoExponent : of_number;
}

[[gnu::always_inline]] inline f64 power_of_2(s32 exponent) {
  return as_f64(static_cast<u64>(exponent + 1023) << 52);
}

// Toward zero, of a number that is in the range of normal ones or 0.
[[gnu::always_inline]] inline f32 cut_normal(f64 v) {
  return static_cast<f32>(as_f64(bits(v) & ~u64{0x1fffffff}));
}
inline f32 cut(f64 v) {
  if (v != v) return as_f32(kNan32);
  if (__builtin_fabs(v) >= 0x1p-126) return cut_normal(v);
  return static_cast<f32>(__builtin_trunc(v * 0x1p149) * 0x1p-149);
}

// All columns of a row at once: vectors stay in registers from one product to the next.
using Integers [[gnu::vector_size(4 * kColumns)]] = s32;
using Floats [[gnu::vector_size(4 * kColumns)]] = f32;

// A sum in parts that are exact in 32 bits, and the position of their lowest bit.
struct TensorSums {
  alignas(64) s32 first[kColumns], second[kColumns];
  alignas(64) s32 most[kColumns];
};

// One step of a row, for all columns at once. False: it takes the long way. Products of numbers
// whose exponents are far apart may have none in f32, but are cut off whole then.
template <s32 kLowestBit>
[[gnu::always_inline]] inline bool sum_plainly(const TensorRow& a, const TensorColumns& b, u32 from,
                                               u32 to, const f32* c, TensorSums& sums) {
  constexpr s32 kLowest = -100, kHighest = 120;
  alignas(64) s32 exponents[kColumns];
  for (u32 n = 0; n < kColumns; ++n) exponents[n] = exponent_of<-126>(c[n]);
  Integers most, one;
  std::memcpy(&most, exponents, sizeof most);
  for (u32 k = from; k < to; ++k) {
    std::memcpy(&one, b.exponent[k], sizeof one);
    one += a.exponent[k];
    most = one > most ? one : most;
  }
  std::memcpy(sums.most, &most, sizeof most);
  u32 odd = 0;
  alignas(64) f32 scales[kColumns];
  for (u32 n = 0; n < kColumns; ++n) {
    const s32 e = sums.most[n];
    const bool is_low = (e < kLowest) & (e >= kNoExponent / 2); // else all are zero
    odd |= static_cast<u32>(e > kHighest) | static_cast<u32>(is_low);
    sums.most[n] = e < kLowest ? kLowest : e;
    scales[n] = as_f32(static_cast<u32>(127 + kLowestBit - sums.most[n]) << 23);
  }
  if (odd != 0) return false;
  Floats scale, value;
  std::memcpy(&scale, scales, sizeof scale);
  std::memcpy(&value, c, sizeof value);
  Integers first = __builtin_convertvector(value * scale, Integers), second = {};
  const u32 middle = from + (to - from) / 2;
  for (u32 k = from; k < middle; ++k) {
    std::memcpy(&value, b.value[k], sizeof value);
    first += __builtin_convertvector(value * a.value[k] * scale, Integers);
  }
  for (u32 k = middle; k < to; ++k) {
    std::memcpy(&value, b.value[k], sizeof value);
    second += __builtin_convertvector(value * a.value[k] * scale, Integers);
  }
  std::memcpy(sums.first, &first, sizeof first);
  std::memcpy(sums.second, &second, sizeof second);
  return true;
}
template <s32 kLowestBit>
[[gnu::always_inline]] inline f64 exact(const TensorSums& sums, u32 n) {
  return (static_cast<f64>(sums.first[n]) + static_cast<f64>(sums.second[n])) *
         power_of_2(sums.most[n] - kLowestBit);
}

// The long way, of one column. kLeast: of C's format.
template <s32 kLeast, s32 kLowestBit>
f64 sum_of_all(const TensorRow& a, const TensorColumns& b, u32 from, u32 to, u32 n, f32 c) {
  s32 most = exponent_of<kLeast>(c);
  bool is_finite = most != kNotFinite;
  for (u32 k = from; k < to; ++k) {
    if (a.exponent[k] == kAbsent) continue;
    is_finite = is_finite && a.exponent[k] != kNotFinite && b.exponent[k][n] != kNotFinite;
    most = std::max(most, a.exponent[k] + b.exponent[k][n]);
  }
  const bool is_zero = most < kNoExponent / 2;
  const f64 scale = is_finite && !is_zero ? power_of_2(kLowestBit - most) : 1;
  f64 sum = f64{c} * scale;
  if (is_finite) sum = __builtin_trunc(sum);
  for (u32 k = from; k < to; ++k) {
    if (a.exponent[k] == kAbsent) continue;
    const f64 product = f64{a.value[k]} * f64{b.value[k][n]} * scale;
    sum += is_finite ? __builtin_trunc(product) : product;
  }
  return is_finite && !is_zero ? sum * power_of_2(most - kLowestBit) : sum;
}

// What f32 keeps of a sum.
template <s32 kLowestBit>
[[gnu::always_inline]] inline f32 kept(f32 sum) {
  if constexpr (kLowestBit == kBelow) return sum;
  return sum != sum ? sum : as_f32(bits(sum) & ~u32{0x3ff});
}

// c += one step of a row of A * B.
template <s32 kLowestBit>
[[gnu::always_inline]] inline void add_step(const TensorRow& a, const TensorColumns& b, u32 from,
                                            u32 to, f32* c) {
  TensorSums sums;
  if (a.is_finite && b.is_finite && sum_plainly<kLowestBit>(a, b, from, to, c, sums)) {
    for (u32 n = 0; n < kColumns; ++n)
      c[n] = kept<kLowestBit>(cut_normal(exact<kLowestBit>(sums, n)));
    return;
  }
  for (u32 n = 0; n < kColumns; ++n)
    c[n] = kept<kLowestBit>(cut(sum_of_all<-126, kLowestBit>(a, b, from, to, n, c[n])));
}
// The same where C and D are of f16: `c` has their values.
template <s32 kLowestBit>
void add_step_halves(const TensorRow& a, const TensorColumns& b, u32 from, u32 to, f32* c) {
  for (u32 n = 0; n < kColumns; ++n)
    c[n] = F16::widen(F16::narrow(sum_of_all<-14, kLowestBit>(a, b, from, to, n, c[n])));
}

} // namespace
} // namespace gmt::executor
