// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f32 that rounds to nearest, with and without flushing and saturation.
#include "simulated_cuda/executor/machine/handlers/floats.h"

#include <string>

namespace gmt::executor {
namespace {

using F32 = Same<f32>;

// Of operations that have is_tiny: whether a flushed result is 0 though it rounds to a normal one.
template <class Op>
constexpr bool kRoundsTiny = requires { Op::is_tiny(1.0f, 1.0f); };

template <class Op, bool kFlush, bool kSaturate>
struct Binary : F32 {
  static f32 f(f32 a, f32 b) {
    const f32 x = in_f32<kFlush>(a), y = in_f32<kFlush>(b);
    const f32 v = Op::f(x, y);
    if constexpr (kFlush && kRoundsTiny<Op>)
      return out_f32<false, kSaturate>(flushed_if(Op::is_tiny(x, y), v));
    return out_f32<kFlush, kSaturate>(v);
  }
};
template <class Op, bool kFlush, bool kSaturate>
struct Unary : F32 {
  static f32 f(f32 a) { return out_f32<kFlush, kSaturate>(Op::f(in_f32<kFlush>(a))); }
};
template <class Op, bool kFlush, bool kSaturate>
struct Ternary : F32 {
  static f32 f(f32 a, f32 b, f32 c) {
    const f32 x = in_f32<kFlush>(a), y = in_f32<kFlush>(b), z = in_f32<kFlush>(c);
    const f32 v = Op::f(x, y, z);
    if constexpr (kFlush) return out_f32<false, kSaturate>(flushed_if(Op::is_tiny(x, y, z, v), v));
    return out_f32<false, kSaturate>(v);
  }
};

struct Add {
  static f32 f(f32 a, f32 b) { return a + b; }
};
struct Sub {
  static f32 f(f32 a, f32 b) { return a - b; }
};
struct Mul {
  static f32 f(f32 a, f32 b) { return a * b; }
  static bool is_tiny(f32 a, f32 b) { return __builtin_fabsf(a * kScale * b) < kScaledTiny; }
};
struct Div {
  static f32 f(f32 a, f32 b) { return a / b; }
  // The quotient of two numbers of 24 bits is below 1 exactly if its rounded value is.
  static bool is_tiny(f32 a, f32 b) {
    return __builtin_fabsf(a) * 0x1p100f < __builtin_fabsf(b) * 0x1p-26f;
  }
};
// A divisor above 2^126 has no reciprocal among normal numbers: of it an H200 gives 0, or NaN.
struct DivApprox : Div {
  static f32 f(f32 a, f32 b) {
    const f32 larger = b * 0x1.fffffep1f; // infinite exactly then
    return a / (__builtin_fabsf(larger) == __builtin_inff() ? larger : b);
  }
};
struct Fma {
  static f32 f(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
  static bool is_tiny(f32 a, f32 b, f32 c, [[maybe_unused]] f32 v) {
#ifndef __FMA__ // slow then, and seldom needed
    if (__builtin_fabsf(v) > kTiny) return false;
#endif
    return __builtin_fabsf(__builtin_fmaf(a * kScale, b, c * kScale)) < kScaledTiny;
  }
};
struct Sqrt {
  static f32 f(f32 a) { return __builtin_sqrtf(a); }
};
struct Rcp {
  static f32 f(f32 a) { return 1.0f / a; }
};

// A NaN gives the other operand; -0 is less than +0.
[[gnu::always_inline]] inline f32 least(f32 a, f32 b) {
  const f32 m = a < b ? a : b;
  const f32 zeros = as_f32(bits(a) | bits(b));
  const f32 number = a == b ? zeros : m;
  const f32 right = a != a ? b : number;
  return b != b ? a : right;
}
[[gnu::always_inline]] inline f32 greatest(f32 a, f32 b) {
  const f32 m = a > b ? a : b;
  const f32 zeros = as_f32(bits(a) & bits(b));
  const f32 number = a == b ? zeros : m;
  const f32 right = a != a ? b : number;
  return b != b ? a : right;
}
struct Min {
  static f32 f(f32 a, f32 b) { return least(a, b); }
};
struct Max {
  static f32 f(f32 a, f32 b) { return greatest(a, b); }
};
struct MinNan {
  static f32 f(f32 a, f32 b) { return ((a != a) | (b != b)) ? as_f32(kNan32) : least(a, b); }
};
struct MaxNan {
  static f32 f(f32 a, f32 b) { return ((a != a) | (b != b)) ? as_f32(kNan32) : greatest(a, b); }
};
// .xorsign.abs: of the absolute values, with the product's sign.
template <class Op>
struct XorSign {
  static f32 f(f32 a, f32 b) {
    const u32 sign = (bits(a) ^ bits(b)) & 0x80000000u;
    const f32 value = Op::f(as_f32(bits(a) & 0x7fffffffu), as_f32(bits(b) & 0x7fffffffu));
    return as_f32((bits(value) & 0x7fffffffu) | sign);
  }
};

// Of a NaN abs and neg give the one NaN of results.
template <bool kFlush>
struct Abs : F32 {
  static f32 f(f32 a) { return out_f32<kFlush, false>(as_f32(bits(a) & 0x7fffffffu)); }
};
template <bool kFlush>
struct Neg : F32 {
  static f32 f(f32 a) { return out_f32<kFlush, false>(as_f32(bits(a) ^ 0x80000000u)); }
};
struct CopySign : F32 { // the sign of a, the value of b
  static f32 f(f32 a, f32 b) { return as_f32((bits(a) & 0x80000000u) | (bits(b) & 0x7fffffffu)); }
};

template <class Op>
void add_binary(FormTable& table, const char* name, const char* suffix = "f32") {
  const std::string start = name;
  const std::string end = std::string(".") + suffix;
  table.add((start + end).c_str(), map2<Binary<Op, false, false>>);
  table.add((start + ".ftz" + end).c_str(), map2<Binary<Op, true, false>>);
  table.add((start + ".sat" + end).c_str(), map2<Binary<Op, false, true>>);
  table.add((start + ".ftz.sat" + end).c_str(), map2<Binary<Op, true, true>>);
}

template <class Op>
void add_minimum(FormTable& table, const char* name, const char* suffix) {
  const std::string start = name;
  table.add((start + suffix + ".f32").c_str(), map2<Binary<Op, false, false>>);
  table.add((start + ".ftz" + suffix + ".f32").c_str(), map2<Binary<Op, true, false>>);
}

template <class Op>
void add_ternary(FormTable& table, const char* name) {
  const std::string start = name;
  table.add((start + ".f32").c_str(), map3<Ternary<Op, false, false>>);
  table.add((start + ".ftz.f32").c_str(), map3<Ternary<Op, true, false>>);
  table.add((start + ".sat.f32").c_str(), map3<Ternary<Op, false, true>>);
  table.add((start + ".ftz.sat.f32").c_str(), map3<Ternary<Op, true, true>>);
}

template <class Op>
void add_unary(FormTable& table, const char* name) {
  const std::string start = name;
  table.add((start + ".f32").c_str(), map1<Unary<Op, false, false>>);
  table.add((start + ".ftz.f32").c_str(), map1<Unary<Op, true, false>>);
}

} // namespace

void GMT_GROUP(single)(FormTable& table) {
  add_binary<Add>(table, "add");
  add_binary<Sub>(table, "sub");
  add_binary<Mul>(table, "mul");
  add_ternary<Fma>(table, "fma");
  add_ternary<Fma>(table, "mad");
  for (const char* name : {"div.rn", "div.full"}) add_binary<Div>(table, name);
  add_binary<DivApprox>(table, "div.approx");
  for (const char* name : {"sqrt.rn", "sqrt.approx"}) add_unary<Sqrt>(table, name);
  for (const char* name : {"rcp.rn", "rcp.approx"}) add_unary<Rcp>(table, name);
  add_minimum<Min>(table, "min", "");
  add_minimum<Max>(table, "max", "");
  add_minimum<MinNan>(table, "min", ".NaN");
  add_minimum<MaxNan>(table, "max", ".NaN");
  add_minimum<XorSign<Min>>(table, "min", ".xorsign.abs");
  add_minimum<XorSign<Max>>(table, "max", ".xorsign.abs");
  add_minimum<XorSign<MinNan>>(table, "min", ".NaN.xorsign.abs");
  add_minimum<XorSign<MaxNan>>(table, "max", ".NaN.xorsign.abs");
  table.add("abs.f32", map1<Abs<false>>);
  table.add("abs.ftz.f32", map1<Abs<true>>);
  table.add("neg.f32", map1<Neg<false>>);
  table.add("neg.ftz.f32", map1<Neg<true>>);
  table.add("copysign.f32", map2<CopySign>);
}

} // namespace gmt::executor
