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

constexpr u32 kRows = 16, kColumns = 8; // of a tile
constexpr u32 kMostElements = 64;       // of a row of A
// Bits below the largest exponent: of mma, and of wgmma with factors of 8 bits, whose sums keep no
// more of them as f32 either.
constexpr s32 kBelow = 25, kBelowOfBytes = 13;
// Of zero; of an element that a sparse matrix lacks; of infinity and NaN, which is the largest even
// with one of the others.
constexpr s32 kNoExponent = -2000, kAbsent = -3000, kNotFinite = 6000;

// The elements of A and B as floats, with the exponents that they count by. Rows of A lie side by
// side, as lanes of vectors.
struct TensorRows {
  alignas(64) f32 value[kMostElements][kRows];
  alignas(64) s16 exponent[kMostElements][kRows];
};
struct TensorColumns {
  alignas(64) f32 value[kColumns][kMostElements];
  alignas(64) s16 exponent[kColumns][kMostElements];
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

// All rows of a column at once: vectors stay in registers from one product to the next.
using Shorts [[gnu::vector_size(2 * kRows)]] = s16;
using Integers [[gnu::vector_size(2 * kRows)]] = s32; // of half of the rows
using Floats [[gnu::vector_size(2 * kRows)]] = f32;
template <class Vector, class T>
[[gnu::always_inline]] inline void load(Vector& v, const T* from) {
  std::memcpy(&v, from, sizeof v);
}
#if defined(__clang__)
#define GMT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GMT_UNROLL _Pragma("GCC unroll 16")
#endif

// Tiles of C and D, column by column.
constexpr u32 kTileElements = kRows * kColumns;
using Tile = f32[kTileElements];

// Sums in parts that are exact in 32 bits, and the exponents of the largest product of each.
struct TensorSums {
  alignas(64) s32 first[kTileElements], second[kTileElements];
  alignas(64) s32 most[kTileElements];
  alignas(64) s32 is_odd[kTileElements]; // the sum takes the long way
  bool has_odd;
};

// The largest exponents of the products of one step, of each element.
template <u32 kStep>
[[gnu::always_inline]] inline void take_largest(const TensorRows& a, const TensorColumns& b,
                                                u32 from, u32 count, s16* products) {
  for (u32 n = 0; n < kColumns; ++n) {
    const auto* of_a = a.exponent + from;
    const s16* of_b = b.exponent[n] + from;
    Shorts largest = Shorts{} + static_cast<s16>(2 * kAbsent);
    const auto take = [&](u32 k) {
      Shorts one;
      load(one, of_a[k]);
      one += of_b[k];
      largest = one > largest ? one : largest;
    };
    if (count == kStep) {
      GMT_UNROLL for (u32 k = 0; k < kStep; ++k) take(k);
    } else {
      for (u32 k = 0; k < count; ++k) take(k);
    }
    std::memcpy(products + n * kRows, &largest, sizeof largest);
  }
}

// One step, for all elements. Products of numbers whose exponents are far apart may have none in
// f32, but are cut off whole then.
template <u32 kStep, s32 kLeast, s32 kLowestBit>
void sum_plainly(const TensorRows& a, const TensorColumns& b, u32 from, u32 count, const Tile& c,
                 TensorSums& sums) {
  constexpr s32 kLowest = -100, kHighest = 120;
  constexpr u32 kHalf = kRows / 2;
  alignas(64) s16 products[kTileElements];
  take_largest<kStep>(a, b, from, count, products);
  alignas(64) f32 scales[kTileElements];
  s32 odd = 0;
  for (u32 i = 0; i < kTileElements; ++i) {
    const u32 magnitude = bits(c[i]) & 0x7fffffffu;
    const s32 exponent = static_cast<s32>(magnitude >> 23) - 127;
    const s32 counted = exponent < kLeast ? kLeast : exponent;
    const s32 of_c = magnitude == 0 ? kNoExponent : counted, of_products = products[i];
    const s32 e = of_c > of_products ? of_c : of_products;
    const s32 is_low = -static_cast<s32>((e < kLowest) & (e >= kNoExponent / 2)); // else all are 0
    const s32 is_high = -static_cast<s32>(e > kHighest);
    sums.is_odd[i] = is_low | is_high;
    odd |= is_low | is_high;
    const s32 not_low = e < kLowest ? kLowest : e;
    const s32 most = not_low > kHighest ? kHighest : not_low;
    sums.most[i] = most;
    scales[i] = as_f32(static_cast<u32>(127 + kLowestBit - most) << 23);
  }
  sums.has_odd = odd != 0;
  for (u32 i = 0; i < kTileElements; i += kRows) {
    const auto* of_a = a.value + from;
    const f32* of_b = b.value[i / kRows] + from;
    Floats scale0, scale1, c0, c1;
    load(scale0, scales + i);
    load(scale1, scales + i + kHalf);
    load(c0, c + i);
    load(c1, c + i + kHalf);
    Integers sum0 = __builtin_convertvector(c0 * scale0, Integers);
    Integers sum1 = __builtin_convertvector(c1 * scale1, Integers);
    const auto add = [&](u32 k) {
      Floats a0, a1;
      load(a0, of_a[k]);
      load(a1, of_a[k] + kHalf);
      sum0 += __builtin_convertvector(a0 * of_b[k] * scale0, Integers);
      sum1 += __builtin_convertvector(a1 * of_b[k] * scale1, Integers);
    };
    const auto give = [&](s32* sum) {
      std::memcpy(sum + i, &sum0, sizeof sum0);
      std::memcpy(sum + i + kHalf, &sum1, sizeof sum1);
      sum0 = sum1 = Integers{};
    };
    if (count == kStep) {
      GMT_UNROLL for (u32 k = 0; k < kStep / 2; ++k) add(k);
      give(sums.first);
      GMT_UNROLL for (u32 k = kStep / 2; k < kStep; ++k) add(k);
    } else {
      for (u32 k = 0; k < count / 2; ++k) add(k);
      give(sums.first);
      for (u32 k = count / 2; k < count; ++k) add(k);
    }
    give(sums.second);
  }
}

// The long way, of one element. kLeast: of C's format.
template <s32 kLeast, s32 kLowestBit>
f64 sum_of_all(const TensorRows& a, const TensorColumns& b, u32 m, u32 n, u32 from, u32 to, f32 c) {
  s32 most = exponent_of<kLeast>(c);
  bool is_finite = most != kNotFinite;
  for (u32 k = from; k < to; ++k) {
    const s32 of_a = a.exponent[k][m], of_b = b.exponent[n][k];
    if (of_a == kAbsent) continue;
    is_finite = is_finite && of_a != kNotFinite && of_b != kNotFinite;
    most = std::max(most, of_a + of_b);
  }
  const bool is_zero = most < kNoExponent / 2;
  const f64 scale = is_finite && !is_zero ? power_of_2(kLowestBit - most) : 1;
  f64 sum = f64{c} * scale;
  if (is_finite) sum = __builtin_trunc(sum);
  for (u32 k = from; k < to; ++k) {
    if (a.exponent[k][m] == kAbsent) continue;
    const f64 product = f64{a.value[k][m]} * f64{b.value[n][k]} * scale;
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

// c += one step of A * B.
template <u32 kStep, s32 kLowestBit>
void add_step(const TensorRows& a, const TensorColumns& b, u32 from, u32 count, Tile& c) {
  TensorSums sums;
  sum_plainly<kStep, -126, kLowestBit>(a, b, from, count, c, sums);
  alignas(64) Tile before;
  if (sums.has_odd) std::memcpy(before, c, sizeof before);
  for (u32 i = 0; i < kTileElements; ++i) {
    const f64 sum = static_cast<f64>(sums.first[i]) + static_cast<f64>(sums.second[i]);
    const f32 unit = as_f32(static_cast<u32>(127 - kLowestBit + sums.most[i]) << 23);
    c[i] = kept<kLowestBit>(cut_normal(sum)) * unit;
  }
  if (!sums.has_odd) return;
  for (u32 i = 0; i < kTileElements; ++i) {
    if (sums.is_odd[i] == 0) continue;
    c[i] = kept<kLowestBit>(
      cut(sum_of_all<-126, kLowestBit>(a, b, i % kRows, i / kRows, from, from + count, before[i])));
  }
}
// The same where C and D are of f16: `c` has their values.
template <u32 kStep, s32 kLowestBit>
void add_step_halves(const TensorRows& a, const TensorColumns& b, u32 from, u32 count, Tile& c) {
  TensorSums sums;
  sum_plainly<kStep, -14, kLowestBit>(a, b, from, count, c, sums);
  for (u32 i = 0; i < kTileElements; ++i) {
    const f64 parts = static_cast<f64>(sums.first[i]) + static_cast<f64>(sums.second[i]);
    const f64 sum = sums.is_odd[i] == 0 ? parts * power_of_2(sums.most[i] - kLowestBit)
                                        : sum_of_all<-14, kLowestBit>(a, b, i % kRows, i / kRows,
                                                                      from, from + count, c[i]);
    c[i] = F16::widen(F16::narrow(sum));
  }
}

} // namespace
} // namespace gmt::executor
