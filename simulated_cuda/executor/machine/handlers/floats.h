// SPDX-License-Identifier: Apache-2.0
// What handlers of floating-point share: flushing of subnormal values, the NaN that a GPU gives,
// saturation, rounding modes of the processor for one loop, and comparisons.
#pragma once

#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <immintrin.h>

namespace gmt::executor {
namespace {

[[gnu::always_inline]] inline u32 bits(f32 v) { return __builtin_bit_cast(u32, v); }
[[gnu::always_inline]] inline u64 bits(f64 v) { return __builtin_bit_cast(u64, v); }
[[gnu::always_inline]] inline f32 as_f32(u32 v) { return __builtin_bit_cast(f32, v); }
[[gnu::always_inline]] inline f64 as_f64(u64 v) { return __builtin_bit_cast(f64, v); }

constexpr u32 kNan32 = 0x7fffffffu;

[[gnu::always_inline]] inline f32 flush(f32 v) {
  const u32 b = bits(v);
  return as_f32((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
template <bool kFlush>
[[gnu::always_inline]] inline f32 in_f32(f32 v) {
  if constexpr (kFlush) return flush(v);
  return v;
}

// What flushing leaves of a result, if it is tiny. Its sign stays.
[[gnu::always_inline]] inline f32 flushed_if(bool tiny, f32 v) {
  return as_f32(tiny ? bits(v) & 0x80000000u : bits(v));
}

// A result that rounds up to the smallest normal number counts as tiny if its exponent would be
// lower without a limit. So it is computed again 2^32 times as large, where the limit is far away.
// Operands too large for that have no tiny result.
constexpr f32 kScale = 0x1p32f, kTiny = 0x1p-126f, kScaledTiny = kTiny * kScale;

// The result of an instruction: one NaN alone, flushed, and in [0, 1] with +0 for NaN.
template <bool kFlush, bool kSaturate>
[[gnu::always_inline]] inline f32 out_f32(f32 v) {
  if constexpr (kFlush) v = flush(v);
  if constexpr (kSaturate) {
    const f32 low = v > 0.0f ? v : 0.0f; // NaN gives 0
    return low < 1.0f ? low : 1.0f;
  }
  const u32 b = bits(v);
  return as_f32((b & 0x7fffffffu) > 0x7f800000u ? kNan32 : b);
}

// A result of f64. Of NaN it is the second operand, or else the first one, made quiet. An H200
// takes them so; a processor's choice depends on the instruction that a compiler chose.
[[gnu::always_inline]] inline f64 out_f64(f64 v, f64 a, f64 b) {
  const u64 of_operand = bits(b != b ? b : a) | 0x0008000000000000ull;
  const f64 nan = as_f64(((a != a) | (b != b)) ? of_operand : 0xfff8000000000000ull);
  return v != v ? nan : v;
}
[[gnu::always_inline]] inline f64 out_f64(f64 v, f64 a, f64 b, f64 c) {
  return out_f64(v, a, b != b ? b : c); // the order of an H200: b, c, a
}

// The rounding mode of SSE for the life of the object. The values must come from memory and go to
// it, so that the compiler moves no arithmetic over the barriers.
class Rounding {
public:
  explicit Rounding(unsigned mode) : saved_(_mm_getcsr()) {
    _mm_setcsr((saved_ & ~0x6000u) | mode);
    __asm__ volatile("" ::: "memory");
  }
  ~Rounding() {
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(saved_);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

private:
  unsigned saved_;
};

constexpr unsigned kNearest = 0x0000, kDown = 0x2000, kUp = 0x4000, kToZero = 0x6000;

// Handlers for the names rn, rz, rm and rp.
struct RoundingName {
  const char* name;
  unsigned mode;
};
constexpr RoundingName kDirected[] = {{"rz", kToZero}, {"rm", kDown}, {"rp", kUp}};

// Comparisons of setp and set: fourteen of floating-point, of which integers use six. An unordered
// one is true if a value is NaN.
enum Comparison { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

template <class T>
[[gnu::always_inline]] inline bool compare(Comparison c, T a, T b) {
  const bool unordered = (a != a) | (b != b);
  switch (c) {
  case kEq: return a == b;
  case kNe: return (a != b) & !unordered;
  case kLt: return a < b;
  case kLe: return a <= b;
  case kGt: return a > b;
  case kGe: return a >= b;
  case kEqu: return (a == b) | unordered;
  case kNeu: return a != b;
  case kLtu: return (a < b) | unordered;
  case kLeu: return (a <= b) | unordered;
  case kGtu: return (a > b) | unordered;
  case kGeu: return (a >= b) | unordered;
  case kNum: return !unordered;
  case kNan: return unordered;
  }
  return false;
}

// How a result joins the predicate c: Instruction::extra, 0 not at all, 1 and, 2 or, 3 xor.
[[gnu::always_inline]] inline u32 joined(u32 how, u32 value, u32 c) {
  switch (how) {
  case 1: return value & c;
  case 2: return value | c;
  case 3: return value ^ c;
  default: return value;
  }
}

// Calls add with the number and the name of each comparison of ordered values, or of all.
template <class Add>
void for_ordered(Add add) {
  add.template operator()<kEq>("eq");
  add.template operator()<kNe>("ne");
  add.template operator()<kLt>("lt");
  add.template operator()<kLe>("le");
  add.template operator()<kGt>("gt");
  add.template operator()<kGe>("ge");
}
template <class Add>
void for_all_comparisons(Add add) {
  for_ordered(add);
  add.template operator()<kEqu>("equ");
  add.template operator()<kNeu>("neu");
  add.template operator()<kLtu>("ltu");
  add.template operator()<kLeu>("leu");
  add.template operator()<kGtu>("gtu");
  add.template operator()<kGeu>("geu");
  add.template operator()<kNum>("num");
  add.template operator()<kNan>("nan");
}

} // namespace
} // namespace gmt::executor
