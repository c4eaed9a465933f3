// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers: add to rem, with saturation. A quotient and a remainder by zero are all
// ones, as on an H200, and never stop the process.
#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <type_traits>

namespace gmt::executor {
namespace {

template <class T>
struct Unsigned {
  using type = std::make_unsigned_t<T>;
};
template <class T>
struct WideType;
template <>
struct WideType<u16> {
  using type = u32;
};
template <>
struct WideType<s16> {
  using type = s32;
};
template <>
struct WideType<u32> {
  using type = u64;
};
template <>
struct WideType<s32> {
  using type = s64;
};
template <>
struct WideType<u64> {
  using type = u128;
};
template <>
struct WideType<s64> {
  using type = s128;
};
template <class T>
using Wide = typename WideType<T>::type;

// Without undefined overflow: small types are promoted to unsigned int.
template <class T>
[[gnu::always_inline]] inline u64 w64(T v) {
  return static_cast<u64>(v);
}
template <class T>
using Compute = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
struct Add : Same<T> {
  static T f(T a, T b) { return static_cast<T>(Compute<T>(a) + Compute<T>(b)); }
};
template <class T>
struct Sub : Same<T> {
  static T f(T a, T b) { return static_cast<T>(Compute<T>(a) - Compute<T>(b)); }
};
template <class T>
struct MulLo : Same<T> {
  static T f(T a, T b) { return static_cast<T>(Compute<T>(a) * Compute<T>(b)); }
};
template <class T>
struct MulHi : Same<T> {
  static T f(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
};
template <class T>
struct MulWide : Same<T> {
  using D = Wide<T>;
  static D f(T a, T b) { return static_cast<D>(static_cast<D>(a) * static_cast<D>(b)); }
};
template <class T>
struct MadLo : Same<T> {
  static T f(T a, T b, T c) {
    return static_cast<T>(Compute<T>(a) * Compute<T>(b) + Compute<T>(c));
  }
};
template <class T>
struct MadHi : Same<T> {
  static T f(T a, T b, T c) { return Add<T>::f(MulHi<T>::f(a, b), c); }
};
template <class T>
struct MadWide : Same<T> {
  using D = Wide<T>;
  using C = Wide<T>;
  static D f(T a, T b, C c) { return Add<D>::f(MulWide<T>::f(a, b), c); }
};

s32 clamp_s32(s64 v) {
  if (v > 0x7fffffff) return 0x7fffffff;
  if (v < -s64{0x80000000}) return static_cast<s32>(0x80000000u);
  return static_cast<s32>(v);
}
struct AddSat : Same<s32> {
  static s32 f(s32 a, s32 b) { return clamp_s32(s64{a} + b); }
};
struct SubSat : Same<s32> {
  static s32 f(s32 a, s32 b) { return clamp_s32(s64{a} - b); }
};
struct MadHiSat : Same<s32> {
  static s32 f(s32 a, s32 b, s32 c) { return clamp_s32(s64{MulHi<s32>::f(a, b)} + c); }
};

template <class T>
struct Div : Same<T> {
  static constexpr bool kScalar = true;
  static T f(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return Sub<T>::f(0, a);
    }
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Rem : Same<T> {
  static constexpr bool kScalar = true;
  static T f(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return 0;
    }
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Abs : Same<T> {
  static T f(T a) { return a < 0 ? Sub<T>::f(0, a) : a; }
};
template <class T>
struct Neg : Same<T> {
  static T f(T a) { return Sub<T>::f(0, a); }
};
template <class T>
struct Min : Same<T> {
  static T f(T a, T b) { return b < a ? b : a; }
};
template <class T>
struct Max : Same<T> {
  static T f(T a, T b) { return a < b ? b : a; }
};
template <class T>
struct Relu : Same<T> {
  static T f(T a, T b) { return Max<T>::f(Min<T>::f(a, b), 0); }
};
template <class T>
struct MaxRelu : Same<T> {
  static T f(T a, T b) { return Max<T>::f(Max<T>::f(a, b), 0); }
};
template <class T>
struct Sad : Same<T> {
  static T f(T a, T b, T c) {
    const T difference = a < b ? Sub<T>::f(b, a) : Sub<T>::f(a, b);
    return Add<T>::f(c, difference);
  }
};

template <class T>
struct Mul24Lo : Same<T> {
  static T f(T a, T b) {
    constexpr unsigned kShift = 8;
    const s64 x = std::is_signed_v<T> ? (s64{static_cast<s32>(u32(a) << kShift)} >> kShift)
                                      : static_cast<s64>(u32(a) & 0xffffff);
    const s64 y = std::is_signed_v<T> ? (s64{static_cast<s32>(u32(b) << kShift)} >> kShift)
                                      : static_cast<s64>(u32(b) & 0xffffff);
    return static_cast<T>(x * y);
  }
};
template <class T>
struct Mul24Hi : Same<T> {
  static T f(T a, T b) {
    const s64 x = std::is_signed_v<T> ? (s64{static_cast<s32>(u32(a) << 8)} >> 8)
                                      : static_cast<s64>(u32(a) & 0xffffff);
    const s64 y = std::is_signed_v<T> ? (s64{static_cast<s32>(u32(b) << 8)} >> 8)
                                      : static_cast<s64>(u32(b) & 0xffffff);
    return static_cast<T>((x * y) >> 16);
  }
};
template <class T>
struct Mad24Lo : Same<T> {
  static T f(T a, T b, T c) { return Add<T>::f(Mul24Lo<T>::f(a, b), c); }
};
template <class T>
struct Mad24Hi : Same<T> {
  static T f(T a, T b, T c) { return Add<T>::f(Mul24Hi<T>::f(a, b), c); }
};
struct Mad24HiSat : Same<s32> {
  static s32 f(s32 a, s32 b, s32 c) { return clamp_s32(s64{Mul24Hi<s32>::f(a, b)} + c); }
};

// Halves of a register.
template <class T, template <class> class Op>
struct Pair : Same<u32> {
  static u32 f(u32 a, u32 b) {
    const auto low = static_cast<u16>(Op<T>::f(static_cast<T>(a), static_cast<T>(b)));
    const auto high = static_cast<u16>(Op<T>::f(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return u32{low} | u32{high} << 16;
  }
};

// Sums of products of bytes (dp4a) or of a half and a byte (dp2a).
template <class TA, class TB>
struct Dp4a : Same<u32> {
  static u32 f(u32 a, u32 b, u32 c) {
    for (unsigned i = 0; i < 4; ++i)
      c +=
        static_cast<u32>(s32{static_cast<TA>(a >> (8 * i))} * s32{static_cast<TB>(b >> (8 * i))});
    return c;
  }
};
template <class TA, class TB, unsigned kHigh>
struct Dp2a : Same<u32> {
  static u32 f(u32 a, u32 b, u32 c) {
    for (unsigned i = 0; i < 2; ++i)
      c += static_cast<u32>(s32{static_cast<TA>(a >> (16 * i))} *
                            s32{static_cast<TB>(b >> (16 * kHigh + 8 * i))});
    return c;
  }
};

} // namespace

void GMT_GROUP(integer)(FormTable& table) {
  add2<Add, u16, s16, u32, s32, u64, s64>(table, "add");
  add2<Sub, u16, s16, u32, s32, u64, s64>(table, "sub");
  add2<MulLo, u16, s16, u32, s32, u64, s64>(table, "mul.lo");
  add2<MulHi, u16, s16, u32, s32, u64, s64>(table, "mul.hi");
  add2<MulWide, u16, s16, u32, s32>(table, "mul.wide");
  add3<MadLo, u16, s16, u32, s32, u64, s64>(table, "mad.lo");
  add3<MadHi, u16, s16, u32, s32, u64, s64>(table, "mad.hi");
  add3<MadWide, u16, s16, u32, s32>(table, "mad.wide");
  add2<Div, u16, s16, u32, s32, u64, s64>(table, "div");
  add2<Rem, u16, s16, u32, s32, u64, s64>(table, "rem");
  add1<Abs, s16, s32, s64>(table, "abs");
  add1<Neg, s16, s32, s64>(table, "neg");
  add2<Min, u16, s16, u32, s32, u64, s64>(table, "min");
  add2<Max, u16, s16, u32, s32, u64, s64>(table, "max");
  add2<Relu, s32>(table, "min.relu");
  add2<MaxRelu, s32>(table, "max.relu");
  add3<Sad, u16, s16, u32, s32, u64, s64>(table, "sad");
  add2<Mul24Lo, u32, s32>(table, "mul24.lo");
  add2<Mul24Hi, u32, s32>(table, "mul24.hi");
  add3<Mad24Lo, u32, s32>(table, "mad24.lo");
  add3<Mad24Hi, u32, s32>(table, "mad24.hi");
  table.add("mad24.hi.sat.s32", map3<Mad24HiSat>);
  table.add("add.sat.s32", map2<AddSat>);
  table.add("sub.sat.s32", map2<SubSat>);
  table.add("mad.hi.sat.s32", map3<MadHiSat>);
  table.add("add.u16x2", map2<Pair<u16, Add>>);
  table.add("add.s16x2", map2<Pair<s16, Add>>);
  table.add("min.u16x2", map2<Pair<u16, Min>>);
  table.add("min.s16x2", map2<Pair<s16, Min>>);
  table.add("max.u16x2", map2<Pair<u16, Max>>);
  table.add("max.s16x2", map2<Pair<s16, Max>>);
  table.add("min.relu.s16x2", map2<Pair<s16, Relu>>);
  table.add("max.relu.s16x2", map2<Pair<s16, MaxRelu>>);
  // CUDA's functions for dynamic programming have .relu behind the type
  table.add("min.s32.relu", map2<Relu<s32>>);
  table.add("max.s32.relu", map2<MaxRelu<s32>>);
  table.add("min.s16x2.relu", map2<Pair<s16, Relu>>);
  table.add("max.s16x2.relu", map2<Pair<s16, MaxRelu>>);
  table.add("dp4a.u32.u32", map3<Dp4a<u8, u8>>);
  table.add("dp4a.u32.s32", map3<Dp4a<u8, s8>>);
  table.add("dp4a.s32.u32", map3<Dp4a<s8, u8>>);
  table.add("dp4a.s32.s32", map3<Dp4a<s8, s8>>);
  table.add("dp2a.lo.u32.u32", map3<Dp2a<u16, u8, 0>>);
  table.add("dp2a.lo.u32.s32", map3<Dp2a<u16, s8, 0>>);
  table.add("dp2a.lo.s32.u32", map3<Dp2a<s16, u8, 0>>);
  table.add("dp2a.lo.s32.s32", map3<Dp2a<s16, s8, 0>>);
  table.add("dp2a.hi.u32.u32", map3<Dp2a<u16, u8, 1>>);
  table.add("dp2a.hi.u32.s32", map3<Dp2a<u16, s8, 1>>);
  table.add("dp2a.hi.s32.u32", map3<Dp2a<s16, u8, 1>>);
  table.add("dp2a.hi.s32.s32", map3<Dp2a<s16, s8, 1>>);
}

} // namespace gmt::executor
