// SPDX-License-Identifier: Apache-2.0
// How a handler works on the 32 lanes of a warp: loops that the compiler vectorises, and writes
// that leave lanes outside the mask as they are. Everything here has internal linkage, since the
// same code is compiled for several levels of x86-64.
#pragma once

#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "simulated_cuda/executor/machine/warp.h"

#include <cstdint>
#include <cstring>

#ifndef GMT_LEVEL
#define GMT_LEVEL v2
#endif
#define GMT_JOIN2(a, b) a##b
#define GMT_JOIN(a, b) GMT_JOIN2(a, b)
// The function by which a group of handlers enters the table of its level.
#define GMT_GROUP(name) GMT_JOIN(add_##name##_, GMT_LEVEL)
#define GMT_IS_LOWEST_v2 true
#define GMT_IS_LOWEST_v3 false

#if defined(__clang__)
#define GMT_LANES                                                                                  \
  _Pragma("clang loop vectorize(assume_safety)") for (std::uint32_t l = 0; l < kLanes; ++l)
#else
#define GMT_LANES _Pragma("GCC ivdep") for (std::uint32_t l = 0; l < kLanes; ++l)
#endif

namespace gmt::executor {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;
struct b128 {
  u64 low, high;
};

using Next = const Instruction*;
// Level 3's table begins as level 2's: what has no vector code is compiled for level 2 alone.
constexpr bool kLowestLevel = GMT_JOIN(GMT_IS_LOWEST_, GMT_LEVEL);
constexpr u32 kAll = 0xffffffffu;

struct LaneBits {
  alignas(64) u32 bit[kLanes];
  constexpr LaneBits() : bit() {
    for (u32 l = 0; l < kLanes; ++l) bit[l] = 1u << l;
  }
};
constexpr LaneBits kLaneBits;

template <class T>
[[gnu::always_inline]] inline T* at(Warp& w, u32 operand) {
  std::byte* p = w.base[operand >> 31] + (operand & 0x7fffffffu);
  return static_cast<T*>(__builtin_assume_aligned(static_cast<void*>(p), 64));
}

[[gnu::always_inline]] inline u32& predicate_at(Warp& w, u32 operand) {
  return *reinterpret_cast<u32*>(w.base[operand >> 31] + (operand & 0x7fffffffu));
}

[[gnu::always_inline]] inline void set_predicate(Warp& w, u32 operand, u32 value) {
  u32& p = predicate_at(w, operand);
  p = (p & ~w.mask) | (value & w.mask);
}

// Lanes of the mask get t, others keep d.
template <class T>
[[gnu::always_inline]] inline void blend(T* __restrict d, const T* __restrict t, u32 mask) {
  GMT_LANES d[l] = (mask & kLaneBits.bit[l]) != 0 ? t[l] : d[l];
}

template <>
[[gnu::always_inline]] inline void blend(b128* __restrict d, const b128* __restrict t, u32 mask) {
  for (u32 l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) != 0) d[l] = t[l];
  }
}

template <class Function>
[[gnu::always_inline]] inline void for_lanes(u32 mask, Function function) {
  for (u32 m = mask; m != 0; m &= m - 1) function(static_cast<u32>(__builtin_ctz(m)));
}

// The types of an operation whose operands are all alike.
template <class T>
struct Same {
  using D = T;
  using A = T;
  using B = T;
  using C = T;
};

// Op has D, A, B, C, a static f, and kScalar if computing lanes outside the mask costs too much.
template <class Op, class = void>
struct IsScalar {
  static constexpr bool value = false;
};
template <class Op>
struct IsScalar<Op, decltype(static_cast<void>(Op::kScalar))> {
  static constexpr bool value = Op::kScalar;
};

template <class Op>
Next run1(Warp& w, Next in) {
  const auto* a = at<const typename Op::A>(w, in->r[1]);
  auto* d = at<typename Op::D>(w, in->r[0]);
  if constexpr (IsScalar<Op>::value) {
    for_lanes(w.mask, [&](u32 l) { d[l] = Op::f(a[l]); });
  } else if (w.mask == kAll) {
    GMT_LANES d[l] = Op::f(a[l]);
  } else {
    alignas(64) typename Op::D t[kLanes];
    GMT_LANES t[l] = Op::f(a[l]);
    blend(d, t, w.mask);
  }
  return in + 1;
}

template <class Op>
Next run2(Warp& w, Next in) {
  const auto* a = at<const typename Op::A>(w, in->r[1]);
  const auto* b = at<const typename Op::B>(w, in->r[2]);
  auto* d = at<typename Op::D>(w, in->r[0]);
  if constexpr (IsScalar<Op>::value) {
    for_lanes(w.mask, [&](u32 l) { d[l] = Op::f(a[l], b[l]); });
  } else if (w.mask == kAll) {
    GMT_LANES d[l] = Op::f(a[l], b[l]);
  } else {
    alignas(64) typename Op::D t[kLanes];
    GMT_LANES t[l] = Op::f(a[l], b[l]);
    blend(d, t, w.mask);
  }
  return in + 1;
}

template <class Op>
Next run3(Warp& w, Next in) {
  const auto* a = at<const typename Op::A>(w, in->r[1]);
  const auto* b = at<const typename Op::B>(w, in->r[2]);
  const auto* c = at<const typename Op::C>(w, in->r[3]);
  auto* d = at<typename Op::D>(w, in->r[0]);
  if constexpr (IsScalar<Op>::value) {
    for_lanes(w.mask, [&](u32 l) { d[l] = Op::f(a[l], b[l], c[l]); });
  } else if (w.mask == kAll) {
    GMT_LANES d[l] = Op::f(a[l], b[l], c[l]);
  } else {
    alignas(64) typename Op::D t[kLanes];
    GMT_LANES t[l] = Op::f(a[l], b[l], c[l]);
    blend(d, t, w.mask);
  }
  return in + 1;
}

// The handlers; null where level 2's serves.
template <class Op>
constexpr bool kHasHandler = kLowestLevel || !IsScalar<Op>::value;
#define GMT_HANDLER(name, function)                                                                \
  template <class Op>                                                                              \
  constexpr Handler name = [] {                                                                    \
    if constexpr (kHasHandler<Op>) return Handler{function<Op>};                                   \
    else return Handler{nullptr};                                                                  \
  }();
GMT_HANDLER(map1, run1)
GMT_HANDLER(map2, run2)
GMT_HANDLER(map3, run3)
#undef GMT_HANDLER

template <class T>
struct TypeName;
#define GMT_TYPE_NAME(type)                                                                        \
  template <>                                                                                      \
  struct TypeName<type> {                                                                          \
    static constexpr const char* value = #type;                                                    \
  };
GMT_TYPE_NAME(u8)
GMT_TYPE_NAME(u16)
GMT_TYPE_NAME(u32)
GMT_TYPE_NAME(u64)
GMT_TYPE_NAME(s8)
GMT_TYPE_NAME(s16)
GMT_TYPE_NAME(s32)
GMT_TYPE_NAME(s64)
GMT_TYPE_NAME(f32)
GMT_TYPE_NAME(f64)
#undef GMT_TYPE_NAME

// Enter Op<T> for each of the types as "name.type".
template <template <class> class Op, class... Types>
void add1(FormTable& table, const char* name) {
  (table.add(name, TypeName<Types>::value, map1<Op<Types>>), ...);
}
template <template <class> class Op, class... Types>
void add2(FormTable& table, const char* name) {
  (table.add(name, TypeName<Types>::value, map2<Op<Types>>), ...);
}
template <template <class> class Op, class... Types>
void add3(FormTable& table, const char* name) {
  (table.add(name, TypeName<Types>::value, map3<Op<Types>>), ...);
}

} // namespace
} // namespace gmt::executor
