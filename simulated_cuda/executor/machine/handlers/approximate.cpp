// SPDX-License-Identifier: Apache-2.0
// Functions that PTX defines with an error: computed in double and rounded once, which is closer to
// the true value than a GPU's table is.
#include "simulated_cuda/executor/machine/handlers/floats.h"
#include "simulated_cuda/executor/machine/handlers/halves.h"

#include <cmath>
#include <string>

namespace gmt::executor {
namespace {

f32 ex2(f32 a) { return static_cast<f32>(std::exp2(f64{a})); }
f32 lg2(f32 a) { return static_cast<f32>(std::log2(f64{a})); }

// An H200 makes turns of an angle first: a product by 1/(2 pi) of 24 bits that rounds toward zero,
// then a fraction of 25 bits. So small angles are coarse, and above 2^24 few values are left.
struct Turn {
  f64 part; // of a turn, below a half
  bool is_upper_half;
};
constexpr f64 kTurn = 0x1.921fb54442d18p2; // 2 pi
Turn turn_of(f32 a) {
  const f64 product = f64{__builtin_fabsf(a)} * f64{as_f32(0x3e22f983u)}; // exact
  const f64 cut = as_f64(bits(product) & ~0x1fffffffull);                 // 24 bits
  const f64 part = std::floor((cut - std::floor(cut)) * 0x1p25) * 0x1p-25;
  return {part >= 0.5 ? part - 0.5 : part, part >= 0.5};
}
f32 sine(f32 a) {
  const Turn turn = turn_of(a);
  const f32 value = static_cast<f32>(std::sin(turn.part * kTurn));
  return turn.is_upper_half != (bits(a) >> 31 != 0) ? -value : value;
}
f32 cosine(f32 a) {
  const Turn turn = turn_of(a);
  const f32 value = static_cast<f32>(std::sin((turn.part - 0.25) * kTurn)); // so -0 at a quarter
  return turn.is_upper_half ? value : -value;
}
f32 hyperbolic(f32 a) { return static_cast<f32>(std::tanh(f64{a})); }
f32 inverse_root(f32 a) { return static_cast<f32>(1.0 / std::sqrt(f64{a})); }

template <f32 (*kFunction)(f32), bool kFlush>
struct Single : Same<f32> {
  static constexpr bool kScalar = true;
  static f32 f(f32 a) { return out_f32<kFlush, false>(kFunction(in_f32<kFlush>(a))); }
};

template <class H, bool kFlush>
u16 flushed(u16 h) {
  return kFlush && (h & H::kExponent) == 0 ? static_cast<u16>(h & 0x8000) : h;
}
template <f32 (*kFunction)(f32), class H, bool kFlush>
struct Half : Same<u16> {
  static constexpr bool kScalar = true;
  static u16 f(u16 a) {
    return flushed<H, kFlush>(H::narrow(kFunction(H::widen(flushed<H, kFlush>(a)))));
  }
};
template <f32 (*kFunction)(f32), class H, bool kFlush>
struct Halves : Same<u32> {
  static constexpr bool kScalar = true;
  static u32 f(u32 a) {
    using One = Half<kFunction, H, kFlush>;
    const u32 low = One::f(static_cast<u16>(a));
    return low | u32{One::f(static_cast<u16>(a >> 16))} << 16;
  }
};

template <f32 (*kFunction)(f32)>
void add_function(FormTable& table, const char* name) {
  const std::string start = name;
  table.add((start + ".f32").c_str(), map1<Single<kFunction, false>>);
  table.add((start + ".ftz.f32").c_str(), map1<Single<kFunction, true>>);
}

template <f32 (*kFunction)(f32), bool kFlush>
void add_halves(FormTable& table, const std::string& start) {
  table.add((start + ".f16").c_str(), map1<Half<kFunction, F16, kFlush>>);
  table.add((start + ".f16x2").c_str(), map1<Halves<kFunction, F16, kFlush>>);
  table.add((start + ".bf16").c_str(), map1<Half<kFunction, Bf16, kFlush>>);
  table.add((start + ".bf16x2").c_str(), map1<Halves<kFunction, Bf16, kFlush>>);
}

} // namespace

void GMT_GROUP(approximate)(FormTable& table) {
  add_function<ex2>(table, "ex2");
  add_function<lg2>(table, "lg2");
  add_function<sine>(table, "sin");
  add_function<cosine>(table, "cos");
  add_function<hyperbolic>(table, "tanh");
  add_function<inverse_root>(table, "rsqrt");
  add_halves<ex2, false>(table, "ex2");
  add_halves<ex2, true>(table, "ex2.ftz");
  add_halves<hyperbolic, false>(table, "tanh");
}

} // namespace gmt::executor
