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
f32 sine(f32 a) { return static_cast<f32>(std::sin(f64{a})); }
f32 cosine(f32 a) { return static_cast<f32>(std::cos(f64{a})); }
f32 hyperbolic(f32 a) { return static_cast<f32>(std::tanh(f64{a})); }
f32 inverse_root(f32 a) { return static_cast<f32>(1.0 / std::sqrt(f64{a})); }

template <f32 (*kFunction)(f32), bool kFlush>
struct Single : Same<f32> {
  static constexpr bool kScalar = true;
  static f32 f(f32 a) { return out_f32<kFlush, false>(kFunction(in_f32<kFlush>(a))); }
};

template <f32 (*kFunction)(f32), class H>
struct Half : Same<u16> {
  static constexpr bool kScalar = true;
  static u16 f(u16 a) { return H::narrow(kFunction(H::widen(a))); }
};
template <f32 (*kFunction)(f32), class H>
struct Halves : Same<u32> {
  static constexpr bool kScalar = true;
  static u32 f(u32 a) {
    const u32 low = Half<kFunction, H>::f(static_cast<u16>(a));
    return low | u32{Half<kFunction, H>::f(static_cast<u16>(a >> 16))} << 16;
  }
};

template <f32 (*kFunction)(f32)>
void add_function(FormTable& table, const char* name) {
  const std::string start = name;
  table.add((start + ".f32").c_str(), map1<Single<kFunction, false>>);
  table.add((start + ".ftz.f32").c_str(), map1<Single<kFunction, true>>);
}

template <f32 (*kFunction)(f32)>
void add_halves(FormTable& table, const char* name) {
  for (const char* flush : {"", ".ftz"}) {
    const std::string start = std::string(name) + flush;
    table.add((start + ".f16").c_str(), map1<Half<kFunction, F16>>);
    table.add((start + ".f16x2").c_str(), map1<Halves<kFunction, F16>>);
    table.add((start + ".bf16").c_str(), map1<Half<kFunction, Bf16>>);
    table.add((start + ".bf16x2").c_str(), map1<Halves<kFunction, Bf16>>);
  }
}

} // namespace

void GMT_GROUP(approximate)(FormTable& table) {
  add_function<ex2>(table, "ex2");
  add_function<lg2>(table, "lg2");
  add_function<sine>(table, "sin");
  add_function<cosine>(table, "cos");
  add_function<hyperbolic>(table, "tanh");
  add_function<inverse_root>(table, "rsqrt");
  add_halves<ex2>(table, "ex2");
  add_halves<hyperbolic>(table, "tanh");
}

} // namespace gmt::executor
