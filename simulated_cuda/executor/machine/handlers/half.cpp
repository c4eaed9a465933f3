// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f16, bf16 and of pairs of them.
#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <string>

namespace gmt::executor {
namespace {

template <class H>
u16 flushed(u16 h) {
  return (h & H::kExponent) == 0 ? static_cast<u16>(h & 0x8000) : h;
}
template <class H>
bool is_nan(u16 h) {
  return (h & 0x7fff) > H::kExponent;
}

// The NaN that copies of tensors put where there is no element.
constexpr u16 kOutOfBounds = 0x7ff7;

// What becomes of a result: flushed, saturated to [0, 1], or no less than 0.
template <class H, bool kFlush, bool kSaturate, bool kRelu>
u16 finish(u16 h) {
  if (kFlush) h = flushed<H>(h);
  if (is_nan<H>(h)) return kSaturate ? u16{0} : H::kNan;
  const bool negative = (h & 0x8000) != 0;
  if (kRelu && negative) return 0;
  if (kSaturate) {
    if (negative) return 0;
    return h > H::kOne ? H::kOne : h;
  }
  return h;
}

enum Op {
  kAdd,
  kSub,
  kMul,
  kFma,
  kMin,
  kMax,
  kMinNan,
  kMaxNan,
  kMinSign,
  kMaxSign,
  kMinNanSign,
  kMaxNanSign,
  kNeg,
  kAbs
};

template <class H>
u16 minimum(u16 a, u16 b, bool greatest, bool keep_nan) {
  const bool nan_a = is_nan<H>(a), nan_b = is_nan<H>(b);
  if (nan_a || nan_b) {
    if (keep_nan || (nan_a && nan_b)) return H::kNan;
    return nan_a ? b : a;
  }
  const f32 x = H::widen(a), y = H::widen(b);
  if (x == y) return static_cast<u16>(greatest ? a & b : a | b);
  return (x < y) != greatest ? a : b;
}

// .xorsign.abs: of the absolute values, with the product's sign.
template <class H>
u16 signed_minimum(u16 a, u16 b, bool greatest, bool keep_nan) {
  const u16 value = minimum<H>(a & 0x7fff, b & 0x7fff, greatest, keep_nan);
  return static_cast<u16>((value & 0x7fff) | ((a ^ b) & 0x8000));
}

// A result that rounds up to the smallest normal number is flushed if it is tiny without a limit to
// its exponent: see kScale in floats.h.
template <class H, bool kFlush>
u16 rounded(f64 exact) {
  const u16 h = H::narrow(exact);
  if constexpr (kFlush) {
    constexpr u16 kSmallest = (H::kExponent & -H::kExponent); // the lowest bit of the exponent
    const f64 least = H::widen(kSmallest);
    const bool tiny = __builtin_fabs(exact) < least * (1 - H::kHalfUnit);
    if ((h & 0x7fff) == kSmallest && tiny) return static_cast<u16>(h & 0x8000);
  }
  return h;
}

template <class H, Op kOp, bool kFlush>
u16 compute(u16 a, u16 b, u16 c) {
  switch (kOp) {
  case kAdd: return H::narrow(fma_to_odd(H::widen(a), 1.0f, H::widen(b)));
  case kSub: return H::narrow(fma_to_odd(H::widen(a), 1.0f, -H::widen(b)));
  case kMul: return rounded<H, kFlush>(f64{H::widen(a)} * f64{H::widen(b)});
  case kFma: return rounded<H, kFlush>(fma_to_odd(H::widen(a), H::widen(b), H::widen(c)));
  case kMin: return minimum<H>(a, b, false, false);
  case kMax: return minimum<H>(a, b, true, false);
  case kMinNan: return minimum<H>(a, b, false, true);
  case kMaxNan: return minimum<H>(a, b, true, true);
  case kMinSign: return signed_minimum<H>(a, b, false, false);
  case kMaxSign: return signed_minimum<H>(a, b, true, false);
  case kMinNanSign: return signed_minimum<H>(a, b, false, true);
  case kMaxNanSign: return signed_minimum<H>(a, b, true, true);
  case kNeg: return is_nan<H>(a) ? H::kNan : static_cast<u16>(a ^ 0x8000);
  case kAbs: return is_nan<H>(a) ? H::kNan : static_cast<u16>(a & 0x7fff);
  }
  return 0;
}

template <class H, Op kOp, bool kFlush, bool kSaturate, bool kRelu, bool kPair>
Next arithmetic(Warp& w, Next in) {
  using T = std::conditional_t<kPair, u32, u16>;
  const T* a = at<const T>(w, in->r[1]);
  const T* b = kOp < kNeg ? at<const T>(w, in->r[2]) : a;
  const T* c = kOp == kFma ? at<const T>(w, in->r[3]) : a;
  T* d = at<T>(w, in->r[0]);
  const auto one = [](u32 x, u32 y, u32 z) {
    u16 p = static_cast<u16>(x), q = static_cast<u16>(y), r = static_cast<u16>(z);
    if (kFlush) {
      p = flushed<H>(p);
      q = flushed<H>(q);
      r = flushed<H>(r);
    }
    return finish<H, kFlush, kSaturate, kRelu>(compute<H, kOp, kFlush>(p, q, r));
  };
  for_lanes(w.mask, [&](u32 l) {
    if constexpr (kPair)
      d[l] = u32{one(a[l], b[l], c[l])} | u32{one(a[l] >> 16, b[l] >> 16, c[l] >> 16)} << 16;
    else d[l] = one(a[l], b[l], c[l]);
  });
  return in + 1;
}

template <class H, Op kOp, bool kFlush, bool kSaturate, bool kRelu>
void add_form(FormTable& table, const std::string& start, const char* type) {
  const std::string name = start + "." + type;
  table.add(name.c_str(), arithmetic<H, kOp, kFlush, kSaturate, kRelu, false>);
  table.add((name + "x2").c_str(), arithmetic<H, kOp, kFlush, kSaturate, kRelu, true>);
}

// fma.oob: 0 if a factor is the NaN of elements that are not there.
template <class H, bool kRelu>
struct OutOfBounds : Same<u16> {
  static constexpr bool kScalar = true;
  static u16 f(u16 a, u16 b, u16 c) {
    if (a == kOutOfBounds || b == kOutOfBounds) return 0;
    return finish<H, false, false, kRelu>(compute<H, kFma, false>(a, b, c));
  }
};
template <class One>
struct BothHalves : Same<u32> {
  static constexpr bool kScalar = true;
  static u32 f(u32 a, u32 b, u32 c) {
    const auto half = [&](u32 shift) {
      return u32{One::f(static_cast<u16>(a >> shift), static_cast<u16>(b >> shift),
                        static_cast<u16>(c >> shift))};
    };
    return half(0) | half(16) << 16;
  }
};

template <class H>
void add_out_of_bounds(FormTable& table, const std::string& type) {
  table.add("fma.oob", type.c_str(), map3<OutOfBounds<H, false>>);
  table.add("fma.oob.relu", type.c_str(), map3<OutOfBounds<H, true>>);
  table.add("fma.oob", (type + "x2").c_str(), map3<BothHalves<OutOfBounds<H, false>>>);
  table.add("fma.oob.relu", (type + "x2").c_str(), map3<BothHalves<OutOfBounds<H, true>>>);
}

template <class H, Op kOp>
void add_arithmetic(FormTable& table, const std::string& name, const char* type) {
  add_form<H, kOp, false, false, false>(table, name, type);
  add_form<H, kOp, true, false, false>(table, name + ".ftz", type);
  if constexpr (kOp <= kFma) {
    add_form<H, kOp, false, true, false>(table, name + ".sat", type);
    add_form<H, kOp, true, true, false>(table, name + ".ftz.sat", type);
  }
  if constexpr (kOp == kFma) {
    add_form<H, kOp, false, false, true>(table, name + ".relu", type);
    add_form<H, kOp, true, false, true>(table, name + ".ftz.relu", type);
  }
}

template <class H, Op kOp>
void add_extreme(FormTable& table, const std::string& opcode, const char* words, const char* type) {
  add_form<H, kOp, false, false, false>(table, opcode + words, type);
  add_form<H, kOp, true, false, false>(table, opcode + ".ftz" + words, type);
}

template <class H>
void add_type(FormTable& table, const char* type) {
  add_arithmetic<H, kAdd>(table, "add", type);
  add_arithmetic<H, kSub>(table, "sub", type);
  add_arithmetic<H, kMul>(table, "mul", type);
  add_arithmetic<H, kFma>(table, "fma", type);
  add_out_of_bounds<H>(table, type);
  add_arithmetic<H, kNeg>(table, "neg", type);
  add_arithmetic<H, kAbs>(table, "abs", type);
  add_extreme<H, kMin>(table, "min", "", type);
  add_extreme<H, kMax>(table, "max", "", type);
  add_extreme<H, kMinNan>(table, "min", ".NaN", type);
  add_extreme<H, kMaxNan>(table, "max", ".NaN", type);
  add_extreme<H, kMinSign>(table, "min", ".xorsign.abs", type);
  add_extreme<H, kMaxSign>(table, "max", ".xorsign.abs", type);
  add_extreme<H, kMinNanSign>(table, "min", ".NaN.xorsign.abs", type);
  add_extreme<H, kMaxNanSign>(table, "max", ".NaN.xorsign.abs", type);
}

} // namespace

void GMT_GROUP(half)(FormTable& table) {
  add_type<F16>(table, "f16");
  add_type<Bf16>(table, "bf16");
}

} // namespace gmt::executor
