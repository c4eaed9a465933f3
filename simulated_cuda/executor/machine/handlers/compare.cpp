// SPDX-License-Identifier: Apache-2.0
// setp and set for integers, f32 and f64. An unordered comparison is true if a value is NaN.
// `extra` says how the result joins the predicate c: 0 not at all, 1 and, 2 or, 3 xor.
#include "simulated_cuda/executor/machine/handlers/floats.h"

#include <string>

namespace gmt::executor {
namespace {

enum Comparison { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

template <class T, Comparison kC>
[[gnu::always_inline]] inline bool compare(T a, T b) {
  const bool unordered = (a != a) | (b != b);
  switch (kC) {
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

template <bool kFlush, class T>
[[gnu::always_inline]] inline T taken(T v) {
  if constexpr (kFlush) return flush(v);
  return v;
}

template <class T, Comparison kC, bool kFlush>
[[gnu::always_inline]] inline u32 lanes_that(const T* a, const T* b) {
  u32 result = 0;
  GMT_LANES {
    const bool is = compare<T, kC>(taken<kFlush>(a[l]), taken<kFlush>(b[l]));
    result |= is ? kLaneBits.bit[l] : 0u;
  }
  return result;
}

// For set, which is rare: one copy for all types of its result.
template <class T, Comparison kC, bool kFlush>
[[gnu::noinline]] u32 lanes_out_of_line(Warp& w, Next in) {
  u32 result = 0;
  const T* a = at<const T>(w, in->r[2]);
  const T* b = at<const T>(w, in->r[3]);
  for_lanes(w.mask, [&](u32 l) {
    result |= compare<T, kC>(taken<kFlush>(a[l]), taken<kFlush>(b[l])) ? 1u << l : 0;
  });
  return result;
}

[[gnu::always_inline]] inline u32 joined(u32 how, u32 value, u32 c) {
  switch (how) {
  case 1: return value & c;
  case 2: return value | c;
  case 3: return value ^ c;
  default: return value;
  }
}

template <class T, Comparison kC, bool kFlush>
Next set_predicates(Warp& w, Next in) {
  const T* a = at<const T>(w, in->r[2]);
  const T* b = at<const T>(w, in->r[3]);
  const u32 value = lanes_that<T, kC, kFlush>(a, b);
  if (in->r[4] == kNoOperand) {
    if (in->r[0] != kNoOperand) set_predicate(w, in->r[0], value);
    if (in->r[1] != kNoOperand) set_predicate(w, in->r[1], ~value);
    return in + 1;
  }
  const u32 c = predicate_at(w, in->r[4]);
  if (in->r[0] != kNoOperand) set_predicate(w, in->r[0], joined(in->extra, value, c));
  if (in->r[1] != kNoOperand) set_predicate(w, in->r[1], joined(in->extra, ~value, c));
  return in + 1;
}

template <class T, Comparison kC, bool kFlush, bool kToFloat>
Next set_values(Warp& w, Next in) {
  u32 value = lanes_out_of_line<T, kC, kFlush>(w, in);
  if (in->r[4] != kNoOperand) value = joined(in->extra, value, predicate_at(w, in->r[4]));
  alignas(64) u32 t[kLanes];
  constexpr u32 kTrue = kToFloat ? 0x3f800000u : ~0u;
  GMT_LANES t[l] = (value & kLaneBits.bit[l]) != 0 ? kTrue : 0u;
  blend(at<u32>(w, in->r[0]), t, w.mask);
  return in + 1;
}

template <class T, Comparison kC, bool kFlush>
void add_one(FormTable& table, const char* comparison, const char* type) {
  const std::string middle = std::string(comparison) + (kFlush ? ".ftz." : ".");
  table.add(("setp." + middle + type).c_str(), set_predicates<T, kC, kFlush>);
  table.add(("set." + middle + "u32." + type).c_str(), set_values<T, kC, kFlush, false>);
  table.add(("set." + middle + "s32." + type).c_str(), set_values<T, kC, kFlush, false>);
  table.add(("set." + middle + "f32." + type).c_str(), set_values<T, kC, kFlush, true>);
}

template <class T, bool kFlush = false>
void add_ordered(FormTable& table, const char* type) {
  add_one<T, kEq, kFlush>(table, "eq", type);
  add_one<T, kNe, kFlush>(table, "ne", type);
  add_one<T, kLt, kFlush>(table, "lt", type);
  add_one<T, kLe, kFlush>(table, "le", type);
  add_one<T, kGt, kFlush>(table, "gt", type);
  add_one<T, kGe, kFlush>(table, "ge", type);
}
template <class T>
void add_unsigned(FormTable& table, const char* type) {
  add_ordered<T>(table, type);
  add_one<T, kLt, false>(table, "lo", type);
  add_one<T, kLe, false>(table, "ls", type);
  add_one<T, kGt, false>(table, "hi", type);
  add_one<T, kGe, false>(table, "hs", type);
}
template <class T>
void add_bits(FormTable& table, const char* type) {
  add_one<T, kEq, false>(table, "eq", type);
  add_one<T, kNe, false>(table, "ne", type);
}
template <class T, bool kFlush>
void add_floats(FormTable& table, const char* type) {
  add_ordered<T, kFlush>(table, type);
  add_one<T, kEqu, kFlush>(table, "equ", type);
  add_one<T, kNeu, kFlush>(table, "neu", type);
  add_one<T, kLtu, kFlush>(table, "ltu", type);
  add_one<T, kLeu, kFlush>(table, "leu", type);
  add_one<T, kGtu, kFlush>(table, "gtu", type);
  add_one<T, kGeu, kFlush>(table, "geu", type);
  add_one<T, kNum, kFlush>(table, "num", type);
  add_one<T, kNan, kFlush>(table, "nan", type);
}

// testp: what kind of number it is.
enum Kind { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };
template <class T, class U, U kExponent, U kSign, Kind kK>
Next test(Warp& w, Next in) {
  const U* a = at<const U>(w, in->r[1]);
  u32 value = 0;
  for (u32 l = 0; l < kLanes; ++l) {
    const U magnitude = a[l] & ~kSign;
    bool is = false;
    switch (kK) {
    case kFinite: is = magnitude < kExponent; break;
    case kInfinite: is = magnitude == kExponent; break;
    case kNumber: is = magnitude <= kExponent; break;
    case kNotANumber: is = magnitude > kExponent; break;
    case kNormal: is = magnitude < kExponent && (magnitude & kExponent) != 0; break;
    case kSubnormal: is = (magnitude & kExponent) == 0 && magnitude != 0; break;
    }
    value |= is ? 1u << l : 0;
  }
  set_predicate(w, in->r[0], value);
  return in + 1;
}
template <class T, class U, U kExponent, U kSign>
void add_tests(FormTable& table, const char* type) {
  table.add("testp.finite", type, test<T, U, kExponent, kSign, kFinite>);
  table.add("testp.infinite", type, test<T, U, kExponent, kSign, kInfinite>);
  table.add("testp.number", type, test<T, U, kExponent, kSign, kNumber>);
  table.add("testp.notanumber", type, test<T, U, kExponent, kSign, kNotANumber>);
  table.add("testp.normal", type, test<T, U, kExponent, kSign, kNormal>);
  table.add("testp.subnormal", type, test<T, U, kExponent, kSign, kSubnormal>);
}

} // namespace

void GMT_GROUP(compare)(FormTable& table) {
  add_unsigned<u16>(table, "u16");
  add_unsigned<u32>(table, "u32");
  add_unsigned<u64>(table, "u64");
  add_ordered<s16>(table, "s16");
  add_ordered<s32>(table, "s32");
  add_ordered<s64>(table, "s64");
  add_bits<u16>(table, "b16");
  add_bits<u32>(table, "b32");
  add_bits<u64>(table, "b64");
  add_floats<f32, false>(table, "f32");
  add_floats<f32, true>(table, "f32");
  add_floats<f64, false>(table, "f64");
  add_tests<f32, u32, 0x7f800000u, 0x80000000u>(table, "f32");
  add_tests<f64, u64, 0x7ff0000000000000ull, 0x8000000000000000ull>(table, "f64");
}

} // namespace gmt::executor
