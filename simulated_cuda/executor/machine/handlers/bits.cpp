// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, fields of bits and choices.
#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <algorithm>
#include <type_traits>

namespace gmt::executor {
namespace {

template <class T>
struct And : Same<T> {
  static T f(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or : Same<T> {
  static T f(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor : Same<T> {
  static T f(T a, T b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Not : Same<T> {
  static T f(T a) { return static_cast<T>(~a); }
};
template <class T>
struct Cnot : Same<T> {
  static T f(T a) { return a == 0 ? 1 : 0; }
};
template <class T>
struct ShiftLeft : Same<T> {
  using B = u32;
  static T f(T a, u32 b) {
    constexpr u32 kBits = 8 * sizeof(T);
    using U = std::conditional_t<sizeof(T) == 8, u64, u32>;
    const T shifted = static_cast<T>(U{a} << (b & (kBits == 64 ? 63u : 31u)));
    return b >= kBits ? T{0} : shifted;
  }
};
template <class T>
struct ShiftRight : Same<T> {
  using B = u32;
  static T f(T a, u32 b) {
    constexpr u32 kBits = 8 * sizeof(T);
    const u32 most = kBits - 1;
    const u32 count = b > most ? most : b;
    const T shifted = static_cast<T>(a >> count);
    if constexpr (std::is_signed_v<T>) return shifted;
    return b > most ? T{0} : shifted;
  }
};
template <class T>
struct Popc : Same<T> {
  using D = u32;
  static u32 f(T a) { return static_cast<u32>(__builtin_popcountll(a)); }
};
template <class T>
struct Clz : Same<T> {
  using D = u32;
  static u32 f(T a) {
    if (a == 0) return 8 * sizeof(T);
    return static_cast<u32>(__builtin_clzll(a)) - (64 - 8 * u32{sizeof(T)});
  }
};
template <class T>
struct Brev : Same<T> {
  static T f(T a) {
    u64 v = a;
    v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
    v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
    v = __builtin_bswap64(v);
    return static_cast<T>(v >> (64 - 8 * sizeof(T)));
  }
};
template <class T, bool kShiftAmount>
struct Bfind : Same<T> {
  using D = u32;
  static u32 f(T a) {
    using U = std::make_unsigned_t<T>;
    U v = static_cast<U>(a);
    if constexpr (std::is_signed_v<T>) v = static_cast<U>(a < 0 ? ~v : v);
    if (v == 0) return ~0u;
    const u32 position = 63 - static_cast<u32>(__builtin_clzll(v));
    return kShiftAmount ? 8 * u32{sizeof(T)} - 1 - position : position;
  }
};
// What a position or a length of a field counts. An H200 masks it to 8 bits for words alone.
template <class T>
[[gnu::always_inline]] inline u32 field_count(u32 v) {
  return sizeof(T) == 4 ? v & 0xff : std::min(v, 0xffu);
}

template <class T>
struct Bfe : Same<T> {
  using B = u32;
  using C = u32;
  static T f(T a, u32 b, u32 c) {
    constexpr u32 kBits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    const u32 from = field_count<T>(b), count = field_count<T>(c);
    const U v = static_cast<U>(a);
    const U mask = count >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << count) - 1);
    U part = from >= kBits ? U{0} : static_cast<U>(v >> from);
    part &= mask;
    if constexpr (std::is_signed_v<T>) {
      if (count == 0) return 0;
      const u32 last = from + count - 1 < kBits - 1 ? from + count - 1 : kBits - 1;
      const bool sign = (v >> last & 1) != 0;
      // Bits of the field from the sign on are copies of it.
      const u32 known = last >= from ? last - from + 1 : 0;
      const U high = known >= kBits ? U{0} : static_cast<U>(~U{0} << known);
      part = sign ? static_cast<U>(part | high) : static_cast<U>(part & ~high);
    }
    return static_cast<T>(part);
  }
};

// bfi d, a, b, c, e: the lowest e bits of a replace those of b from bit c on.
template <class T>
Next insert_field(Warp& w, Next in) {
  const T* a = at<const T>(w, in->r[1]);
  const T* b = at<const T>(w, in->r[2]);
  const u32* c = at<const u32>(w, in->r[3]);
  const u32* e = at<const u32>(w, in->r[4]);
  T* d = at<T>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) {
    constexpr u32 kBits = 8 * sizeof(T);
    const u32 from = field_count<T>(c[l]), count = field_count<T>(e[l]);
    T mask = count >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
    mask = from >= kBits ? T{0} : static_cast<T>(mask << from);
    const T moved = from >= kBits ? T{0} : static_cast<T>(a[l] << from);
    d[l] = static_cast<T>((b[l] & ~mask) | (moved & mask));
  });
  return in + 1;
}

template <bool kWrap>
struct Bmsk : Same<u32> {
  static u32 f(u32 a, u32 b) {
    if (kWrap) {
      a &= 31;
      b &= 31;
    }
    if (a >= 32) return 0;
    const u32 ones = b >= 32 ? ~0u : (1u << b) - 1;
    return ones << a;
  }
};

// szext: the lowest b bits of a, extended.
template <class T, bool kWrap>
struct Szext : Same<T> {
  using B = u32;
  static T f(T a, u32 b) {
    if (kWrap) b &= 31;
    if (b >= 32) return a;
    if (b == 0) return 0;
    const u32 v = static_cast<u32>(a) << (32 - b);
    if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<s32>(v) >> (32 - b));
    return static_cast<T>(v >> (32 - b));
  }
};

template <bool kLeft, bool kWrap>
struct Funnel : Same<u32> {
  static u32 f(u32 a, u32 b, u32 c) {
    u32 n = c & 31;
    if (!kWrap && c >= 32) n = 32;
    const u64 both = u64{b} << 32 | a;
    return kLeft ? static_cast<u32>((both << n) >> 32) : static_cast<u32>(both >> n);
  }
};

Next logic3(Warp& w, Next in) {
  const u32* a = at<const u32>(w, in->r[1]);
  const u32* b = at<const u32>(w, in->r[2]);
  const u32* c = at<const u32>(w, in->r[3]);
  u32* d = at<u32>(w, in->r[0]);
  u32 choose[8];
  for (u32 i = 0; i < 8; ++i) choose[i] = (in->immediate >> i & 1) != 0 ? ~0u : 0;
  alignas(64) u32 t[kLanes];
  GMT_LANES {
    const u32 x = a[l], y = b[l], z = c[l];
    t[l] = (~x & ~y & ~z & choose[0]) | (~x & ~y & z & choose[1]) | (~x & y & ~z & choose[2]) |
           (~x & y & z & choose[3]) | (x & ~y & ~z & choose[4]) | (x & ~y & z & choose[5]) |
           (x & y & ~z & choose[6]) | (x & y & z & choose[7]);
  }
  blend(d, t, w.mask);
  return in + 1;
}

// lop3.and and lop3.or: whether the result is not 0, joined with a predicate.
template <bool kAnd>
Next logic3_predicate(Warp& w, Next in) {
  logic3(w, in);
  const u32* d = at<const u32>(w, in->r[0]);
  u32 any = 0;
  GMT_LANES any |= d[l] != 0 ? kLaneBits.bit[l] : 0u;
  const u32 c = predicate_at(w, in->r[5]);
  set_predicate(w, in->r[4], kAnd ? any & c : any | c);
  return in + 1;
}

template <class T>
Next select(Warp& w, Next in) {
  const T* a = at<const T>(w, in->r[1]);
  const T* b = at<const T>(w, in->r[2]);
  const u32 p = predicate_at(w, in->r[3]);
  T* d = at<T>(w, in->r[0]);
  alignas(64) T t[kLanes];
  GMT_LANES t[l] = (p & kLaneBits.bit[l]) != 0 ? a[l] : b[l];
  blend(d, t, w.mask);
  return in + 1;
}

// slct d, a, b, c: a if c >= 0. A NaN chooses b.
template <class T, class S>
struct Slct : Same<T> {
  using C = S;
  static T f(T a, T b, S c) { return c >= 0 ? a : b; }
};

// slct.ftz: a negative subnormal number is -0, which is not less than 0.
template <class T>
struct SlctFlushed {
  using D = T;
  using A = T;
  using B = T;
  using C = f32;
  static T f(T a, T b, f32 c) { return c > -0x1p-126f ? a : b; }
};

// fns: the number of the n-th set bit from a base on.
struct Fns : Same<u32> {
  static constexpr bool kScalar = true;
  static u32 f(u32 mask, u32 base, u32 offset) {
    const auto n = static_cast<s32>(offset);
    if (offset == 0x80000000u) return 0; // an H200 cannot negate it
    if (base > 31) return ~0u;
    if (n == 0) return (mask >> base & 1) != 0 ? base : ~0u;
    s32 left = n > 0 ? n : -n;
    for (s32 at_bit = static_cast<s32>(base); at_bit >= 0 && at_bit < 32;
         at_bit += n > 0 ? 1 : -1) {
      if ((mask >> at_bit & 1) != 0 && --left == 0) return static_cast<u32>(at_bit);
    }
    return ~0u;
  }
};

template <int kKind>
Next predicate_logic(Warp& w, Next in) {
  const u32 a = predicate_at(w, in->r[1]);
  u32 value = a;
  if constexpr (kKind == 1) value = a & predicate_at(w, in->r[2]);
  if constexpr (kKind == 2) value = a | predicate_at(w, in->r[2]);
  if constexpr (kKind == 3) value = a ^ predicate_at(w, in->r[2]);
  if constexpr (kKind == 4) value = ~a;
  set_predicate(w, in->r[0], value);
  return in + 1;
}

template <template <class> class Op>
void add_logic(FormTable& table, const char* name) {
  table.add(name, "b16", map2<Op<u16>>);
  table.add(name, "b32", map2<Op<u32>>);
  table.add(name, "b64", map2<Op<u64>>);
}

template <class T>
void add_fields(FormTable& table, const char* type) {
  table.add("bfind", type, map1<Bfind<T, false>>);
  table.add("bfind.shiftamt", type, map1<Bfind<T, true>>);
  table.add("bfe", type, map3<Bfe<T>>);
}

template <class T>
void add_choices(FormTable& table, const char* type) {
  table.add("selp", type, select<T>);
  const std::string name = type;
  table.add(("slct." + name + ".s32").c_str(), map3<Slct<T, s32>>);
  table.add(("slct." + name + ".f32").c_str(), map3<Slct<T, f32>>);
  table.add(("slct.ftz." + name + ".f32").c_str(), map3<SlctFlushed<T>>);
}

} // namespace

void GMT_GROUP(bits)(FormTable& table) {
  add_logic<And>(table, "and");
  add_logic<Or>(table, "or");
  add_logic<Xor>(table, "xor");
  add_logic<ShiftLeft>(table, "shl");
  add_logic<ShiftRight>(table, "shr");
  add2<ShiftRight, u16, u32, u64, s16, s32, s64>(table, "shr");
  table.add("not.b16", map1<Not<u16>>);
  table.add("not.b32", map1<Not<u32>>);
  table.add("not.b64", map1<Not<u64>>);
  table.add("cnot.b16", map1<Cnot<u16>>);
  table.add("cnot.b32", map1<Cnot<u32>>);
  table.add("cnot.b64", map1<Cnot<u64>>);
  table.add("mov.pred", predicate_logic<0>);
  table.add("and.pred", predicate_logic<1>);
  table.add("or.pred", predicate_logic<2>);
  table.add("xor.pred", predicate_logic<3>);
  table.add("not.pred", predicate_logic<4>);
  table.add("popc.b32", map1<Popc<u32>>);
  table.add("popc.b64", map1<Popc<u64>>);
  table.add("clz.b32", map1<Clz<u32>>);
  table.add("clz.b64", map1<Clz<u64>>);
  table.add("brev.b32", map1<Brev<u32>>);
  table.add("brev.b64", map1<Brev<u64>>);
  add_fields<u32>(table, "u32");
  add_fields<s32>(table, "s32");
  add_fields<u64>(table, "u64");
  add_fields<s64>(table, "s64");
  table.add("bfi.b32", insert_field<u32>);
  table.add("bfi.b64", insert_field<u64>);
  table.add("bmsk.clamp.b32", map2<Bmsk<false>>);
  table.add("bmsk.wrap.b32", map2<Bmsk<true>>);
  table.add("szext.clamp.u32", map2<Szext<u32, false>>);
  table.add("szext.clamp.s32", map2<Szext<s32, false>>);
  table.add("szext.wrap.u32", map2<Szext<u32, true>>);
  table.add("szext.wrap.s32", map2<Szext<s32, true>>);
  table.add("shf.l.clamp.b32", map3<Funnel<true, false>>);
  table.add("shf.l.wrap.b32", map3<Funnel<true, true>>);
  table.add("shf.r.clamp.b32", map3<Funnel<false, false>>);
  table.add("shf.r.wrap.b32", map3<Funnel<false, true>>);
  table.add("lop3.b32", logic3);
  table.add("lop3.and.b32", logic3_predicate<true>);
  table.add("lop3.or.b32", logic3_predicate<false>);
  table.add("fns.b32", map3<Fns>);
  for (const char* type : {"b16", "u16", "s16"}) add_choices<u16>(table, type);
  for (const char* type : {"b32", "u32", "s32", "f32"}) add_choices<u32>(table, type);
  for (const char* type : {"b64", "u64", "s64", "f64"}) add_choices<u64>(table, type);
}

} // namespace gmt::executor
