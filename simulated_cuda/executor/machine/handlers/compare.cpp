// SPDX-License-Identifier: Apache-2.0
// setp and set for integers, f32 and f64, and testp.
#include "simulated_cuda/executor/machine/handlers/floats.h"

#include <string>

namespace gmt::executor {
namespace {

template <bool kFlush, class T>
[[gnu::always_inline]] inline T taken(T v) {
  if constexpr (kFlush) return flush(v);
  return v;
}

template <class T, Comparison kC, bool kFlush>
[[gnu::always_inline]] inline u32 lanes_that(const T* a, const T* b) {
  u32 result = 0;
  GMT_LANES {
    const bool is = compare(kC, taken<kFlush>(a[l]), taken<kFlush>(b[l]));
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
    result |= compare(kC, taken<kFlush>(a[l]), taken<kFlush>(b[l])) ? 1u << l : 0;
  });
  return result;
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
  if constexpr (kLowestLevel) {
    table.add(("set." + middle + "u32." + type).c_str(), set_values<T, kC, kFlush, false>);
    table.add(("set." + middle + "s32." + type).c_str(), set_values<T, kC, kFlush, false>);
    table.add(("set." + middle + "f32." + type).c_str(), set_values<T, kC, kFlush, true>);
  }
}

template <class T>
void add_ordered(FormTable& table) {
  for_ordered([&]<Comparison kC>(const char* name) {
    add_one<T, kC, false>(table, name, TypeName<T>::value);
  });
}
template <class T>
void add_unsigned(FormTable& table) {
  add_ordered<T>(table);
  add_one<T, kLt, false>(table, "lo", TypeName<T>::value);
  add_one<T, kLe, false>(table, "ls", TypeName<T>::value);
  add_one<T, kGt, false>(table, "hi", TypeName<T>::value);
  add_one<T, kGe, false>(table, "hs", TypeName<T>::value);
}
template <class T>
void add_bits(FormTable& table, const char* type) {
  add_one<T, kEq, false>(table, "eq", type);
  add_one<T, kNe, false>(table, "ne", type);
}
template <class T, bool kFlush>
void add_floats(FormTable& table) {
  for_all_comparisons([&]<Comparison kC>(const char* name) {
    add_one<T, kC, kFlush>(table, name, TypeName<T>::value);
  });
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
    case kNormal:
      is = magnitude < kExponent && ((magnitude & kExponent) != 0 || magnitude == 0);
      break;
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
  add_unsigned<u16>(table);
  add_unsigned<u32>(table);
  add_unsigned<u64>(table);
  add_ordered<s16>(table);
  add_ordered<s32>(table);
  add_ordered<s64>(table);
  add_bits<u16>(table, "b16");
  add_bits<u32>(table, "b32");
  add_bits<u64>(table, "b64");
  add_floats<f32, false>(table);
  add_floats<f32, true>(table);
  add_floats<f64, false>(table);
  add_tests<f32, u32, 0x7f800000u, 0x80000000u>(table, "f32");
  add_tests<f64, u64, 0x7ff0000000000000ull, 0x8000000000000000ull>(table, "f64");
}

} // namespace gmt::executor
