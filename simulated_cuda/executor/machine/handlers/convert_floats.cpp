// SPDX-License-Identifier: Apache-2.0
// Conversions to floating-point: from integers and between its formats, in all rounding modes. What
// is rounded to nearest is corrected by a step where a directed mode wants the other neighbour.
#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

enum Mode { kRn, kRz, kRm, kRp };

// The magnitude of the pattern by one up or down, so that the value is on the side that the mode
// wants. `compared`: the sign of (pattern's value - true value); `negative`: of the true value.
template <class U>
[[gnu::always_inline]] inline U stepped(U pattern, Mode mode, int compared, bool negative) {
  if (compared == 0 || mode == kRn) return pattern;
  const bool down = mode == kRm || (mode == kRz && !negative);
  if (down == (compared < 0)) return pattern; // already there
  const bool pattern_negative = (pattern >> (8 * sizeof(U) - 1)) != 0;
  // Down: a positive pattern shrinks, a negative one grows
  return static_cast<U>(down != pattern_negative ? pattern - 1 : pattern + 1);
}

template <class T>
int sign_of_difference(T a, T b) {
  return static_cast<int>(a > b) - static_cast<int>(a < b);
}

// Formats of the result: from a double, and from an integer of 64 bits.
struct ToF32 {
  using T = f32;
  static f32 from(f64 v, Mode mode) {
    const f32 near = static_cast<f32>(v);
    if (mode == kRn || near != near) return near;
    return as_f32(stepped(bits(near), mode, sign_of_difference(f64{near}, v), v < 0));
  }
  static s128 whole(f32 v) { return static_cast<s128>(v); }
  static f32 nearest(s128 v) { return static_cast<f32>(v); }
  static f32 with_step(f32 near, Mode mode, int compared, bool negative) {
    return as_f32(stepped(bits(near), mode, compared, negative));
  }
};
struct ToF64 {
  using T = f64;
  static f64 from(f64 v, Mode) { return v; }
  static s128 whole(f64 v) { return static_cast<s128>(v); }
  static f64 nearest(s128 v) { return static_cast<f64>(v); }
  static f64 with_step(f64 near, Mode mode, int compared, bool negative) {
    return as_f64(stepped(bits(near), mode, compared, negative));
  }
};
template <class H>
struct ToHalf {
  using T = u16;
  static u16 from(f64 v, Mode mode) {
    const u16 near = H::narrow(v);
    if (mode == kRn || v != v) return near;
    return stepped(near, mode, sign_of_difference(f64{H::widen(near)}, v), v < 0);
  }
};

// A double that rounds to fewer bits as the integer does: its last bit is set if bits were lost.
template <class From>
[[gnu::always_inline]] inline f64 to_odd(From v) {
  const f64 near = static_cast<f64>(v);
  if constexpr (sizeof(From) < 8) return near;
  const s128 lost = static_cast<s128>(v) - static_cast<s128>(near);
  if (lost == 0) return near;
  const u64 pattern = bits(near);
  return as_f64(((lost < 0) == (near > 0) ? pattern - 1 : pattern) | 1);
}

template <class To, class From, Mode kMode>
struct FromInteger {
  using D = typename To::T;
  using A = From;
  static constexpr bool kScalar = kMode != kRn || sizeof(D) == 2 || sizeof(From) < 4;
  static D f(From v) {
    if constexpr (std::is_same_v<D, u16>) {
      return To::from(to_odd(v), kMode);
    } else if constexpr (kMode == kRn || (sizeof(From) <= 4 && sizeof(D) == 8)) {
      return static_cast<D>(v);
    } else {
      const D near = static_cast<D>(v);
      return To::with_step(near, kMode, sign_of_difference(To::whole(near), s128{v}), v < 0);
    }
  }
};

// .sat of an integer: 1 of all that are positive, else 0.
template <class To, class From>
struct SaturatedInteger {
  using D = typename To::T;
  using A = From;
  static constexpr bool kScalar = true;
  static D f(From v) { return To::from(v > 0 ? 1.0 : 0.0, kRn); }
};

template <class To, Mode kMode, class From>
void add_integer(FormTable& table, const char* mode, const char* to) {
  const std::string start = std::string("cvt.") + mode;
  const std::string end = std::string(".") + to + "." + TypeName<From>::value;
  table.add((start + end).c_str(), map1<FromInteger<To, From, kMode>>);
  table.add((start + ".sat" + end).c_str(), map1<SaturatedInteger<To, From>>);
}

template <class To, Mode kMode>
void add_integers(FormTable& table, const char* mode, const char* to) {
  add_integer<To, kMode, u8>(table, mode, to);
  add_integer<To, kMode, s8>(table, mode, to);
  add_integer<To, kMode, u16>(table, mode, to);
  add_integer<To, kMode, s16>(table, mode, to);
  add_integer<To, kMode, u32>(table, mode, to);
  add_integer<To, kMode, s32>(table, mode, to);
  add_integer<To, kMode, u64>(table, mode, to);
  add_integer<To, kMode, s64>(table, mode, to);
}

template <class To>
void add_modes(FormTable& table, const char* to) {
  add_integers<To, kRn>(table, "rn", to);
  add_integers<To, kRz>(table, "rz", to);
  add_integers<To, kRm>(table, "rm", to);
  add_integers<To, kRp>(table, "rp", to);
}

// Between formats.
struct SourceF32 {
  using A = f32;
  static f64 wide(f32 v) { return v; }
};
struct SourceF64 {
  using A = f64;
  static f64 wide(f64 v) { return v; }
};
template <class H>
struct SourceHalf {
  using A = u16;
  static f64 wide(u16 v) { return H::widen(v); }
};

enum Integral { kNoIntegral, kRni, kRzi, kRmi, kRpi };

// A source that is flushed also has one NaN. To a half nothing is flushed on an H200.
template <bool kFlushIn, class D, class S>
[[gnu::always_inline]] inline f64 flushed_in(f64 v) {
  constexpr bool kSingle = std::is_same_v<S, SourceF32> && sizeof(D) != 2;
  if constexpr (kFlushIn && kSingle) return f64{out_f32<true, false>(static_cast<f32>(v))};
  return v;
}

// A double's NaN as a half: its sign, and as much of its fraction as there is room for.
template <class H>
u16 half_nan(f64 nan) {
  constexpr u32 kFraction = H::kExponent == 0x7c00 ? 10 : 7;
  const u64 b = bits(nan);
  const u16 fraction = static_cast<u16>((b & 0xfffffffffffffull) >> (52 - kFraction));
  return static_cast<u16>((b >> 48 & 0x8000) | H::kExponent | 1u << (kFraction - 1) | fraction);
}
template <class To>
struct IsHalf : std::false_type {};
template <class H>
struct IsHalf<ToHalf<H>> : std::true_type {
  static u16 nan(f64 v) { return half_nan<H>(v); }
};

template <class To, class S, Mode kMode, Integral kIntegral, bool kFlush, bool kSat>
struct Between {
  using D = typename To::T;
  using A = typename S::A;
  // What programs hardly use needs no vector code, which takes long to compile
  static constexpr bool kScalar = kMode != kRn || sizeof(D) == 2 || kSat || kIntegral == kRpi;
  static constexpr bool kPlain = kIntegral == kNoIntegral && !kFlush && !kSat;
  static D f(A a) {
    // These move bits alone, also those of a signalling NaN
    if constexpr (kPlain && std::is_same_v<D, f32> && std::is_same_v<A, f32>) return a;
    if constexpr (kPlain && std::is_same_v<D, f32> && std::is_same_v<S, SourceHalf<Bf16>>)
      return Bf16::widen(a);
    f64 v = flushed_in<kFlush, D, S>(S::wide(a));
    if constexpr (kIntegral == kRni) v = __builtin_rint(v);
    if constexpr (kIntegral == kRzi) v = __builtin_trunc(v);
    if constexpr (kIntegral == kRmi) v = __builtin_floor(v);
    if constexpr (kIntegral == kRpi) v = __builtin_ceil(v);
    if constexpr (kSat) {
      v = v > 0.0 ? v : 0.0;
      v = v < 1.0 ? v : 1.0;
    }
    if constexpr (std::is_same_v<D, f32> && std::is_same_v<A, f64>)
      return in_f32<kFlush>(To::from(v, kMode)); // a NaN keeps its sign and upper bits
    if constexpr (IsHalf<To>::value && std::is_same_v<A, f64>) {
      if (v != v) return IsHalf<To>::nan(v);
    }
    if constexpr (std::is_same_v<D, f32>) return out_f32<kFlush, false>(To::from(v, kMode));
    return To::from(v, kMode);
  }
};

template <class To, class S, Mode kMode, Integral kIntegral = kNoIntegral>
void add_between(FormTable& table, const std::string& mode, const char* to, const char* from) {
  const std::string end = std::string(".") + to + "." + from;
  const auto add = [&](const char* words, Handler handler) {
    table.add(("cvt" + mode + words + end).c_str(), handler);
  };
  add("", map1<Between<To, S, kMode, kIntegral, false, false>>);
  add(".ftz", map1<Between<To, S, kMode, kIntegral, true, false>>);
  add(".sat", map1<Between<To, S, kMode, kIntegral, false, true>>);
  add(".ftz.sat", map1<Between<To, S, kMode, kIntegral, true, true>>);
}

template <class To, class S>
void add_narrowing(FormTable& table, const char* to, const char* from) {
  add_between<To, S, kRn>(table, ".rn", to, from);
  add_between<To, S, kRz>(table, ".rz", to, from);
  add_between<To, S, kRm>(table, ".rm", to, from);
  add_between<To, S, kRp>(table, ".rp", to, from);
}

template <class To, class S>
void add_integral(FormTable& table, const char* type) {
  add_between<To, S, kRn>(table, "", type, type);
  add_between<To, S, kRn, kRni>(table, ".rni", type, type);
  add_between<To, S, kRn, kRzi>(table, ".rzi", type, type);
  add_between<To, S, kRn, kRmi>(table, ".rmi", type, type);
  add_between<To, S, kRn, kRpi>(table, ".rpi", type, type);
}

// Two f32 become a pair of halves, the first of them the upper one. .relu makes negative ones 0.
template <class H, Mode kMode, bool kRelu>
Next to_pair(Warp& w, Next in) {
  const f32* a = at<const f32>(w, in->r[1]);
  const f32* b = at<const f32>(w, in->r[2]);
  u32* d = at<u32>(w, in->r[0]);
  const auto one = [](f32 v) {
    const u16 h = ToHalf<H>::from(v, kMode);
    return kRelu && (h & 0x8000) != 0 ? u16{0} : h;
  };
  for_lanes(w.mask, [&](u32 l) { d[l] = u32{one(a[l])} << 16 | one(b[l]); });
  return in + 1;
}
template <class H, Mode kMode>
struct Relu {
  using D = u16;
  using A = f32;
  static u16 f(f32 v) {
    const u16 h = ToHalf<H>::from(v, kMode);
    return (h & 0x8000) != 0 ? u16{0} : h;
  }
};

template <class H>
void add_half(FormTable& table, const std::string& type) {
  add_modes<ToHalf<H>>(table, type.c_str());
  add_between<ToF32, SourceHalf<H>, kRn>(table, "", "f32", type.c_str());
  add_between<ToF64, SourceHalf<H>, kRn>(table, "", "f64", type.c_str());
  add_narrowing<ToHalf<H>, SourceF32>(table, type.c_str(), "f32");
  add_narrowing<ToHalf<H>, SourceF64>(table, type.c_str(), "f64");
  add_integral<ToHalf<H>, SourceHalf<H>>(table, type.c_str());
  table.add(("cvt.rn.relu." + type + ".f32").c_str(), map1<Relu<H, kRn>>);
  table.add(("cvt.rz.relu." + type + ".f32").c_str(), map1<Relu<H, kRz>>);
  table.add(("cvt.rn." + type + "x2.f32").c_str(), to_pair<H, kRn, false>);
  table.add(("cvt.rz." + type + "x2.f32").c_str(), to_pair<H, kRz, false>);
  table.add(("cvt.rn.relu." + type + "x2.f32").c_str(), to_pair<H, kRn, true>);
  table.add(("cvt.rz.relu." + type + "x2.f32").c_str(), to_pair<H, kRz, true>);
}

} // namespace

void GMT_GROUP(convert_float)(FormTable& table) {
  add_modes<ToF32>(table, "f32");
  add_modes<ToF64>(table, "f64");
  add_half<F16>(table, "f16");
  add_half<Bf16>(table, "bf16");
  add_narrowing<ToHalf<Bf16>, SourceHalf<F16>>(table, "bf16", "f16");
  add_narrowing<ToHalf<F16>, SourceHalf<Bf16>>(table, "f16", "bf16");
  add_between<ToF64, SourceF32, kRn>(table, "", "f64", "f32");
  add_narrowing<ToF32, SourceF64>(table, "f32", "f64");
  add_integral<ToF32, SourceF32>(table, "f32");
  add_integral<ToF64, SourceF64>(table, "f64");
}

} // namespace gmt::executor
