// SPDX-License-Identifier: Apache-2.0
// Conversions to formats with few bits: of 8 bits (e4m3, e5m2), tf32, and those with .satfinite,
// which give the largest number where others give infinity.
#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <algorithm>
#include <string>

namespace gmt::executor {
namespace {

struct Format {
  u32 exponent_bits, fraction_bits;
  u32 largest, nan; // patterns
};
constexpr Format kE4m3{4, 3, 0x7e, 0x7f}, kE5m2{5, 2, 0x7b, 0x7f}, kF16{5, 10, 0x7bff, 0x7fff},
  kBf16{8, 7, 0x7f7f, 0x7fff}, kTf32{8, 10, 0x3fbff, 0x3ffff};

enum Mode { kRn, kRna, kRz };

// The pattern of a value. What is beyond the largest number becomes it, or infinity.
u32 narrowed(f64 v, const Format& format, Mode mode, bool finite, bool relu) {
  const u32 sign = static_cast<u32>(bits(v) >> 63) << (format.exponent_bits + format.fraction_bits);
  if (v != v) return format.nan;
  if (relu && sign != 0) return 0;
  const f64 magnitude = __builtin_fabs(v);
  const s32 bias = (1 << (format.exponent_bits - 1)) - 1;
  s32 exponent = magnitude == 0 ? 1 - bias : static_cast<s32>(bits(magnitude) >> 52) - 1023;
  if (exponent < 1 - bias) exponent = 1 - bias; // subnormal
  if (exponent > bias + 1) exponent = bias + 1;
  // In units of the last place: exact, since only the exponent changes
  const s32 last = exponent - static_cast<s32>(format.fraction_bits);
  const f64 units = magnitude * as_f64(static_cast<u64>(1023 - last) << 52);
  f64 whole = __builtin_trunc(units);
  const f64 rest = units - whole;
  if (mode == kRna && rest >= 0.5) whole += 1;
  if (mode == kRn && (rest > 0.5 || (rest == 0.5 && (static_cast<u64>(whole) & 1) != 0)))
    whole += 1;
  // A carry out of the fraction raises the exponent, also from subnormal to normal.
  const u64 hidden = u64{1} << format.fraction_bits;
  u64 pattern = format.largest + 1;
  if (whole < static_cast<f64>(4 * hidden))
    pattern =
      static_cast<u64>(whole) + (static_cast<u64>(exponent + bias - 1) << format.fraction_bits);
  if (pattern > format.largest) {
    const bool toward_zero = mode == kRz && magnitude <= 0x1.fffffffffffffp1023;
    pattern = finite || toward_zero ? format.largest : format.largest + 1;
  }
  return sign | static_cast<u32>(pattern);
}

template <const Format& kFormat, Mode kMode, bool kFinite, bool kRelu>
struct Single {
  using D = u16;
  using A = f32;
  static constexpr bool kScalar = true;
  static u16 f(f32 v) { return static_cast<u16>(narrowed(f64{v}, kFormat, kMode, kFinite, kRelu)); }
};

// tf32 is a pattern of 32 bits whose lowest 13 are 0. Of NaN, .rna cuts off bits, and .satfinite
// takes one unit off the rest as it does off infinity. Other modes give one NaN.
template <Mode kMode, bool kFinite, bool kRelu>
struct ToTf32 {
  using D = u32;
  using A = f32;
  static constexpr bool kScalar = true;
  static u32 f(f32 v) {
    constexpr u32 kUnit = 1u << 13;
    if (v != v) {
      const u32 kept = kMode == kRna ? bits(v) : kNan32;
      return (kept & ~(kUnit - 1)) - (kFinite ? kUnit : 0);
    }
    return narrowed(f64{v}, kTf32, kMode, kFinite, kRelu) << 13;
  }
};

// Two values become one word of twice the width, the first of them the upper part.
template <class D, const Format& kFormat, Mode kMode, bool kFinite, bool kRelu>
Next pair_of_singles(Warp& w, Next in) {
  const f32* a = at<const f32>(w, in->r[1]);
  const f32* b = at<const f32>(w, in->r[2]);
  D* d = at<D>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) {
    const u32 high = narrowed(f64{a[l]}, kFormat, kMode, kFinite, kRelu);
    const u32 low = narrowed(f64{b[l]}, kFormat, kMode, kFinite, kRelu);
    d[l] = static_cast<D>(high << (4 * sizeof(D)) | low);
  });
  return in + 1;
}

template <const Format& kFormat, bool kRelu>
struct PairOfHalves {
  using D = u16;
  using A = u32;
  static constexpr bool kScalar = true;
  static u16 f(u32 v) {
    const f64 high = f64{F16::widen(static_cast<u16>(v >> 16))};
    const f64 low = f64{F16::widen(static_cast<u16>(v))};
    return static_cast<u16>(narrowed(high, kFormat, kRn, true, kRelu) << 8 |
                            narrowed(low, kFormat, kRn, true, kRelu));
  }
};

// e5m2 is the upper byte of an f16. Of e4m3 every number is one of f16.
template <bool kE5m2, bool kRelu>
u32 widened(u32 byte) {
  const u32 sign = byte >> 7 << 15;
  u32 half = 0;
  if (kE5m2) {
    half = (byte & 0x7f) << 8;
    if (half > 0x7c00) return 0x7fff;
  } else {
    const u32 exponent = byte >> 3 & 15, fraction = byte & 7;
    if ((byte & 0x7f) == 0x7f) return 0x7fff;
    if (exponent != 0) half = (exponent + 8) << 10 | fraction << 7;
    else half = F16::narrow(static_cast<f32>(fraction) * 0x1p-9f);
  }
  return kRelu && sign != 0 ? 0 : sign | half;
}
template <bool kE5m2, bool kRelu>
struct ToHalves {
  using D = u32;
  using A = u16;
  static constexpr bool kScalar = true;
  static u32 f(u16 v) {
    return widened<kE5m2, kRelu>(u32{v} >> 8) << 16 | widened<kE5m2, kRelu>(v & 0xffu);
  }
};

// Two integers become one word of `kBits` each; with c, its lowest bits come before them.
template <u32 kBits, bool kSigned, bool kThree>
Next pack(Warp& w, Next in) {
  const s32* a = at<const s32>(w, in->r[1]);
  const s32* b = at<const s32>(w, in->r[2]);
  const u32* c = kThree ? at<const u32>(w, in->r[3]) : nullptr;
  u32* d = at<u32>(w, in->r[0]);
  static constexpr s32 kLeast = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr s32 kMost = (1 << (kSigned ? kBits - 1 : kBits)) - 1;
  const auto inside = [](s32 v) {
    return static_cast<u32>(std::clamp(v, kLeast, kMost)) & ((1u << kBits) - 1);
  };
  for_lanes(w.mask, [&](u32 l) {
    u32 result = inside(a[l]) << kBits | inside(b[l]);
    if constexpr (kThree) result |= c[l] << (2 * kBits);
    d[l] = result;
  });
  return in + 1;
}

template <const Format& kFormat, Mode kMode, bool kRelu>
void add_finite(FormTable& table, const std::string& mode, const std::string& type) {
  const std::string start = "cvt." + mode + (kRelu ? ".relu" : "") + ".satfinite." + type;
  table.add((start + ".f32").c_str(), map1<Single<kFormat, kMode, true, kRelu>>);
  table.add((start + "x2.f32").c_str(), pair_of_singles<u32, kFormat, kMode, true, kRelu>);
}

template <const Format& kFormat, bool kRelu>
void add_bytes(FormTable& table, const std::string& type) {
  const std::string relu = kRelu ? ".relu" : "";
  table.add(("cvt.rn.satfinite" + relu + "." + type + ".f32").c_str(),
            pair_of_singles<u16, kFormat, kRn, true, kRelu>);
  table.add(("cvt.rn.satfinite" + relu + "." + type + ".f16x2").c_str(),
            map1<PairOfHalves<kFormat, kRelu>>);
  table.add(("cvt.rn" + relu + ".f16x2." + type).c_str(),
            map1<ToHalves<&kFormat == &kE5m2, kRelu>>);
}

template <u32 kBits>
void add_pack(FormTable& table) {
  const std::string bits = std::to_string(kBits);
  table.add(("cvt.pack.sat.u" + bits + ".s32.b32").c_str(), pack<kBits, false, true>);
  table.add(("cvt.pack.sat.s" + bits + ".s32.b32").c_str(), pack<kBits, true, true>);
}

} // namespace

void GMT_GROUP(narrow)(FormTable& table) {
  add_finite<kF16, kRn, false>(table, "rn", "f16");
  add_finite<kF16, kRn, true>(table, "rn", "f16");
  add_finite<kF16, kRz, false>(table, "rz", "f16");
  add_finite<kF16, kRz, true>(table, "rz", "f16");
  add_finite<kBf16, kRn, false>(table, "rn", "bf16");
  add_finite<kBf16, kRn, true>(table, "rn", "bf16");
  add_finite<kBf16, kRz, false>(table, "rz", "bf16");
  add_finite<kBf16, kRz, true>(table, "rz", "bf16");
  add_bytes<kE4m3, false>(table, "e4m3x2");
  add_bytes<kE4m3, true>(table, "e4m3x2");
  add_bytes<kE5m2, false>(table, "e5m2x2");
  add_bytes<kE5m2, true>(table, "e5m2x2");
  table.add("cvt.rna.tf32.f32", map1<ToTf32<kRna, false, false>>);
  table.add("cvt.rna.satfinite.tf32.f32", map1<ToTf32<kRna, true, false>>);
  table.add("cvt.rn.tf32.f32", map1<ToTf32<kRn, false, false>>);
  table.add("cvt.rz.tf32.f32", map1<ToTf32<kRz, false, false>>);
  table.add("cvt.rn.relu.tf32.f32", map1<ToTf32<kRn, false, true>>);
  table.add("cvt.rz.relu.tf32.f32", map1<ToTf32<kRz, false, true>>);
  table.add("cvt.pack.sat.u16.s32", pack<16, false, false>);
  table.add("cvt.pack.sat.s16.s32", pack<16, true, false>);
  add_pack<2>(table);
  add_pack<4>(table);
  add_pack<8>(table);
}

} // namespace gmt::executor
