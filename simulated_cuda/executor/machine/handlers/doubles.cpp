// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f64 that rounds to nearest.
#include "simulated_cuda/executor/machine/handlers/floats.h"

namespace gmt::executor {
namespace {

using F64 = Same<f64>;
struct Add : F64 {
  static f64 f(f64 a, f64 b) { return out_f64(a + b, a, b); }
};
struct Sub : F64 {
  static f64 f(f64 a, f64 b) { return out_f64(a - b, a, b); }
};
struct Mul : F64 {
  static f64 f(f64 a, f64 b) { return out_f64(a * b, a, b); }
};
struct Div : F64 {
  static f64 f(f64 a, f64 b) { return out_f64(a / b, b, a); } // the dividend's NaN comes first
};
struct Fma : F64 {
  static f64 f(f64 a, f64 b, f64 c) { return out_f64(__builtin_fma(a, b, c), a, b, c); }
};
struct Sqrt : F64 {
  static f64 f(f64 a) { return __builtin_sqrt(a); }
};
struct Rcp : F64 {
  static f64 f(f64 a) { return 1.0 / a; }
};
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 look at the upper 32 bits alone, and so does their
// result.
f64 upper(f64 v) { return as_f64(bits(v) & 0xffffffff00000000ull); }
f64 flush_upper(f64 v) {
  if (upper(v) != upper(v)) return as_f64(0x7fffffff00000000ull);
  const u64 b = bits(v);
  return (b & 0x7ff0000000000000ull) == 0 ? as_f64(b & 0x8000000000000000ull) : upper(v);
}
struct RcpApprox : F64 {
  static f64 f(f64 a) { return flush_upper(1.0 / flush_upper(a)); }
};
struct RsqrtApprox : F64 {
  static f64 f(f64 a) { return flush_upper(1.0 / __builtin_sqrt(flush_upper(a))); }
};
struct Rsqrt : F64 {
  static f64 f(f64 a) { return 1.0 / __builtin_sqrt(a); }
};
// NaN stays what it is, made quiet: also its sign.
[[gnu::always_inline]] inline f64 quiet(f64 nan) {
  return as_f64(bits(nan) | 0x0008000000000000ull);
}
// A NaN gives the other operand, or of two the second one; -0 is less than +0.
[[gnu::always_inline]] inline f64 chosen(f64 a, f64 b, f64 number) {
  const f64 right = a != a ? b : number, of_nan = a != a ? quiet(b) : a;
  return b == b ? right : of_nan;
}
struct Min : F64 {
  static f64 f(f64 a, f64 b) {
    const f64 zeros = as_f64(bits(a) | bits(b)), least = a < b ? a : b;
    return chosen(a, b, a == b ? zeros : least);
  }
};
struct Max : F64 {
  static f64 f(f64 a, f64 b) {
    const f64 zeros = as_f64(bits(a) & bits(b)), greatest = a > b ? a : b;
    return chosen(a, b, a == b ? zeros : greatest);
  }
};
struct Abs : F64 {
  static f64 f(f64 a) { return a != a ? quiet(a) : as_f64(bits(a) & 0x7fffffffffffffffull); }
};
struct Neg : F64 {
  static f64 f(f64 a) { return a != a ? quiet(a) : as_f64(bits(a) ^ 0x8000000000000000ull); }
};
struct CopySign : F64 { // the sign of a, the value of b
  static f64 f(f64 a, f64 b) {
    return as_f64((bits(a) & 0x8000000000000000ull) | (bits(b) & 0x7fffffffffffffffull));
  }
};

} // namespace

void GMT_GROUP(doubles)(FormTable& table) {
  table.add("add.f64", map2<Add>);
  table.add("sub.f64", map2<Sub>);
  table.add("mul.f64", map2<Mul>);
  table.add("div.rn.f64", map2<Div>);
  table.add("fma.f64", map3<Fma>);
  table.add("mad.f64", map3<Fma>);
  table.add("sqrt.rn.f64", map1<Sqrt>);
  table.add("rcp.rn.f64", map1<Rcp>);
  table.add("rcp.approx.ftz.f64", map1<RcpApprox>);
  table.add("rsqrt.f64", map1<Rsqrt>);
  table.add("rsqrt.ftz.f64", map1<RsqrtApprox>);
  table.add("min.f64", map2<Min>);
  table.add("max.f64", map2<Max>);
  table.add("abs.f64", map1<Abs>);
  table.add("neg.f64", map1<Neg>);
  table.add("copysign.f64", map2<CopySign>);
}

} // namespace gmt::executor
