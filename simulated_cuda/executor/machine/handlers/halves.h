// SPDX-License-Identifier: Apache-2.0
// Half precision (f16) and bfloat16 as patterns of 16 bits: widening is exact, narrowing rounds to
// nearest even. Their one NaN is 0x7fff.
#pragma once

#include "simulated_cuda/executor/machine/handlers/floats.h"

namespace gmt::executor {
namespace {

struct F16 {
  static constexpr u16 kNan = 0x7fff, kOne = 0x3c00, kExponent = 0x7c00;
  static constexpr f64 kHalfUnit = 0x1p-12; // half of the last place of numbers just below 1
  static f32 widen(u16 h) {
    const u32 sign = u32{h} << 16 & 0x80000000u;
    const u32 exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return as_f32(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return as_f32(sign | (exponent + 112) << 23 | fraction << 13);
    const f32 small = static_cast<f32>(fraction) * 5.9604644775390625e-8f; // 2^-24
    return as_f32(sign | bits(small));
  }
  // Correct for any double that is a sum or product rounded to odd, or exact.
  static u16 narrow(f64 v) {
    const u64 b = bits(v);
    const u16 sign = static_cast<u16>(b >> 48 & 0x8000);
    const u64 magnitude = b & 0x7fffffffffffffffull;
    if (magnitude > 0x7ff0000000000000ull) return kNan;
    if (magnitude >= 0x40effe0000000000ull) return static_cast<u16>(sign | 0x7c00); // 65520
    const s32 exponent = static_cast<s32>(magnitude >> 52) - 1023;
    if (exponent < -25) return sign;
    const u64 fraction = (magnitude & 0xfffffffffffffull) | 0x10000000000000ull;
    // Bits that stay behind: 42 of a normal number, more of a subnormal one
    const u32 drop = exponent >= -14 ? 42 : static_cast<u32>(42 + (-14 - exponent));
    u64 kept = fraction >> drop;
    const u64 rest = fraction & ((u64{1} << drop) - 1);
    const u64 middle = u64{1} << (drop - 1);
    if (rest > middle || (rest == middle && (kept & 1) != 0)) ++kept;
    if (exponent >= -14) kept += static_cast<u64>(exponent + 14) << 10;
    return static_cast<u16>(sign | kept);
  }
  static u16 narrow(f32 v) { return narrow(f64{v}); }
};

struct Bf16 {
  static constexpr u16 kNan = 0x7fff, kOne = 0x3f80, kExponent = 0x7f80;
  static constexpr f64 kHalfUnit = 0x1p-9;
  static f32 widen(u16 h) { return as_f32(u32{h} << 16); }
  static u16 narrow(f32 v) {
    const u32 b = bits(v);
    if ((b & 0x7fffffffu) > 0x7f800000u) return kNan;
    return static_cast<u16>((b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
  // By way of a float that is rounded to odd, which loses nothing.
  static u16 narrow(f64 v) {
    f32 near = static_cast<f32>(v);
    if (f64{near} != v && near == near) {
      u32 b = bits(near);
      const bool larger = __builtin_fabs(f64{near}) > __builtin_fabs(v);
      if (larger) --b; // toward zero
      near = as_f32(b | 1);
    }
    return narrow(near);
  }
};

// a*b+c in double, rounded to odd: rounding that to a half is as if it had been exact.
[[gnu::always_inline]] inline f64 fma_to_odd(f32 a, f32 b, f32 c) {
  const f64 product = f64{a} * f64{b}; // exact
  const f64 sum = product + f64{c};
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (f64{c} - part);
  u64 s = bits(sum);
  const bool inexact =
    error != 0 && error == error && (s & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
  if (inexact && (s & 1) == 0) {
    const bool away = (error > 0) == (sum > 0);
    s = away ? s + 1 : s - 1;
  }
  return as_f64(s);
}

} // namespace
} // namespace gmt::executor
