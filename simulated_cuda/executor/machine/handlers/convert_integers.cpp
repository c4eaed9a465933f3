// SPDX-License-Identifier: Apache-2.0
// Conversions between integers, and from floating-point to integers. The latter clamp to the range
// of the result; NaN gives 0, or the highest bit alone where 64 bits are involved.
#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <limits>
#include <string>
#include <type_traits>

namespace gmt::executor {
namespace {

template <class To, class From>
struct Cast {
  using D = To;
  using A = From;
  static constexpr bool kScalar = false;
  static To f(From v) { return static_cast<To>(v); }
};

template <class To, class From>
struct Saturate {
  using D = To;
  using A = From;
  static constexpr bool kScalar = true;
  static To f(From v) {
    constexpr To kLeast = std::numeric_limits<To>::min(), kMost = std::numeric_limits<To>::max();
    if constexpr (std::is_signed_v<From>) {
      if (v < 0 && (std::is_unsigned_v<To> || s64{v} < static_cast<s64>(kLeast))) return kLeast;
      if (v >= 0 && static_cast<u64>(v) > static_cast<u64>(kMost)) return kMost;
    } else {
      if (u64{v} > static_cast<u64>(kMost)) return kMost;
    }
    return static_cast<To>(v);
  }
};

enum Mode { kNearestInteger, kZeroInteger, kDownInteger, kUpInteger };

template <Mode kMode>
[[gnu::always_inline]] inline f64 to_integral(f64 v) {
  switch (kMode) {
  case kNearestInteger: return __builtin_rint(v);
  case kZeroInteger: return __builtin_trunc(v);
  case kDownInteger: return __builtin_floor(v);
  case kUpInteger: return __builtin_ceil(v);
  }
  return v;
}

struct FromF32 {
  using A = f32;
  static constexpr bool kWide = false;
  template <bool kFlush>
  static f64 value(f32 v) {
    return in_f32<kFlush>(v);
  }
};
struct FromF64 {
  using A = f64;
  static constexpr bool kWide = true;
  template <bool kFlush>
  static f64 value(f64 v) {
    return v;
  }
};
template <class H>
struct FromHalf {
  using A = u16;
  static constexpr bool kWide = false;
  template <bool kFlush>
  static f64 value(u16 v) {
    return H::widen(v);
  }
};

template <class To, class From, Mode kMode, bool kFlush>
struct ToInteger {
  using D = To;
  using A = typename From::A;
  // What programs hardly use needs no vector code, which takes long to compile
  static constexpr bool kScalar = sizeof(To) != 4 || sizeof(A) == 2 || kMode != kZeroInteger;
  static To f(A a) {
    const f64 v = to_integral<kMode>(From::template value<kFlush>(a));
    constexpr To kLeast = std::numeric_limits<To>::min(), kMost = std::numeric_limits<To>::max();
    constexpr bool kHighest = From::kWide || sizeof(To) == 8;
    constexpr To kOfNan = kHighest ? static_cast<To>(u64{1} << (8 * sizeof(To) - 1)) : To{0};
    if constexpr (sizeof(To) < 8) {
      const f64 low = v > static_cast<f64>(kLeast) ? v : static_cast<f64>(kLeast);
      const f64 inside = low < static_cast<f64>(kMost) ? low : static_cast<f64>(kMost);
      const auto wide = static_cast<s64>(inside);
      return v != v ? kOfNan : static_cast<To>(wide);
    } else {
      if (v != v) return kOfNan;
      if (v >= (std::is_signed_v<To> ? 0x1p63 : 0x1p64)) return kMost;
      if (v < static_cast<f64>(kLeast)) return kLeast;
      return static_cast<To>(v);
    }
  }
};

template <class To, class From>
void add_pair(FormTable& table) {
  const std::string end = std::string(TypeName<To>::value) + "." + TypeName<From>::value;
  table.add(("cvt." + end).c_str(), map1<Cast<To, From>>);
  table.add(("cvt.sat." + end).c_str(), map1<Saturate<To, From>>);
}

template <class To>
void add_from_integers(FormTable& table) {
  add_pair<To, u8>(table);
  add_pair<To, s8>(table);
  add_pair<To, u16>(table);
  add_pair<To, s16>(table);
  add_pair<To, u32>(table);
  add_pair<To, s32>(table);
  add_pair<To, u64>(table);
  add_pair<To, s64>(table);
}

template <class To, class From, Mode kMode>
void add_mode(FormTable& table, const char* mode, const char* from) {
  const std::string start = std::string("cvt.") + mode;
  const std::string end = std::string(".") + TypeName<To>::value + "." + from;
  for (const char* saturate : {"", ".sat"}) {
    table.add((start + saturate + end).c_str(), map1<ToInteger<To, From, kMode, false>>);
    table.add((start + ".ftz" + saturate + end).c_str(), map1<ToInteger<To, From, kMode, true>>);
  }
}

template <class To, class From>
void add_modes(FormTable& table, const char* from) {
  add_mode<To, From, kNearestInteger>(table, "rni", from);
  add_mode<To, From, kZeroInteger>(table, "rzi", from);
  add_mode<To, From, kDownInteger>(table, "rmi", from);
  add_mode<To, From, kUpInteger>(table, "rpi", from);
}

template <class To>
void add_to_integer(FormTable& table) {
  add_modes<To, FromF32>(table, "f32");
  add_modes<To, FromF64>(table, "f64");
  add_modes<To, FromHalf<F16>>(table, "f16");
  add_modes<To, FromHalf<Bf16>>(table, "bf16");
}

} // namespace

void GMT_GROUP(convert)(FormTable& table) {
  add_from_integers<u8>(table);
  add_from_integers<s8>(table);
  add_from_integers<u16>(table);
  add_from_integers<s16>(table);
  add_from_integers<u32>(table);
  add_from_integers<s32>(table);
  add_from_integers<u64>(table);
  add_from_integers<s64>(table);
  add_to_integer<u8>(table);
  add_to_integer<s8>(table);
  add_to_integer<u16>(table);
  add_to_integer<s16>(table);
  add_to_integer<u32>(table);
  add_to_integer<s32>(table);
  add_to_integer<u64>(table);
  add_to_integer<s64>(table);
}

} // namespace gmt::executor
