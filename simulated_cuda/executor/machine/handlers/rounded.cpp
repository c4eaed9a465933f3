// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f32 and f64 that rounds toward zero, down or up. The processor's rounding mode is
// changed for each instruction, so lanes are computed one loop at a time from memory to memory.
#include "simulated_cuda/executor/machine/handlers/floats.h"

#include <string>

namespace gmt::executor {
namespace {

enum Op { kAdd, kSub, kMul, kFma, kDiv, kRcp, kSqrt };

template <class T, Op kOp>
[[gnu::noinline]] void compute(T* d, const T* a, const T* b, const T* c) {
  for (u32 l = 0; l < kLanes; ++l) {
    switch (kOp) {
    case kAdd: d[l] = a[l] + b[l]; break;
    case kSub: d[l] = a[l] - b[l]; break;
    case kMul: d[l] = a[l] * b[l]; break;
    case kFma:
      if constexpr (sizeof(T) == 4) d[l] = __builtin_fmaf(a[l], b[l], c[l]);
      else d[l] = __builtin_fma(a[l], b[l], c[l]);
      break;
    case kDiv: d[l] = a[l] / b[l]; break;
    case kRcp: d[l] = T{1} / a[l]; break;
    case kSqrt:
      if constexpr (sizeof(T) == 4) d[l] = __builtin_sqrtf(a[l]);
      else d[l] = __builtin_sqrt(a[l]);
      break;
    }
  }
}

// Results next to the smallest normal number become 0 where they are tiny: see kScale.
template <Op kOp, unsigned kMode>
[[gnu::noinline]] void flush_tiny(f32* t, f32* x, const f32* y, f32* z) {
  u32 any = 0;
  GMT_LANES any |= (bits(t[l]) & 0x7fffffffu) == bits(kTiny) ? 1u : 0u;
  if (any == 0) return;
  // A quotient's divisor stays as it is, and so does a product's second factor
  for (u32 l = 0; l < kLanes; ++l) {
    x[l] *= kScale;
    z[l] *= kScale;
  }
  alignas(64) f32 scaled[kLanes];
  {
    const Rounding rounding(kMode);
    compute<f32, kOp>(scaled, x, y, z);
  }
  for (u32 l = 0; l < kLanes; ++l)
    t[l] = flushed_if(__builtin_fabsf(scaled[l]) < kScaledTiny, t[l]);
}

template <class T, Op kOp, unsigned kMode, bool kFlush, bool kSaturate>
Next rounded(Warp& w, Next in) {
  constexpr bool kUnary = kOp == kRcp || kOp == kSqrt;
  alignas(64) T x[kLanes], y[kLanes] = {}, z[kLanes] = {}, t[kLanes];
  const auto take = [&](T* to, u32 operand) {
    const T* from = at<const T>(w, operand);
    for (u32 l = 0; l < kLanes; ++l) {
      if constexpr (sizeof(T) == 4) to[l] = in_f32<kFlush>(from[l]);
      else to[l] = from[l];
    }
  };
  take(x, in->r[1]);
  if constexpr (!kUnary) take(y, in->r[2]);
  if constexpr (kOp == kFma) take(z, in->r[3]);
  {
    const Rounding rounding(kMode);
    compute<T, kOp>(t, x, y, z);
  }
  if constexpr (kFlush && (kOp == kMul || kOp == kFma || kOp == kDiv))
    flush_tiny<kOp, kMode>(t, x, y, z);
  for (u32 l = 0; l < kLanes; ++l) {
    if constexpr (sizeof(T) == 4) t[l] = out_f32<kFlush, kSaturate>(t[l]);
    else if constexpr (kOp == kDiv) t[l] = out_f64(t[l], y[l], x[l]); // the dividend's NaN first
    else if constexpr (!kUnary) t[l] = out_f64(t[l], x[l], y[l], z[l]);
  }
  blend(at<T>(w, in->r[0]), t, w.mask);
  return in + 1;
}

template <Op kOp, unsigned kMode>
void add_single(FormTable& table, const std::string& start) {
  table.add((start + ".f32").c_str(), rounded<f32, kOp, kMode, false, false>);
  table.add((start + ".ftz.f32").c_str(), rounded<f32, kOp, kMode, true, false>);
  if constexpr (kOp <= kFma) {
    table.add((start + ".sat.f32").c_str(), rounded<f32, kOp, kMode, false, true>);
    table.add((start + ".ftz.sat.f32").c_str(), rounded<f32, kOp, kMode, true, true>);
  }
}

template <unsigned kMode>
void add_mode(FormTable& table, const std::string& mode) {
  const auto add = [&]<Op kOp>(const std::string& opcode) {
    add_single<kOp, kMode>(table, opcode + "." + mode);
    table.add((opcode + "." + mode + ".f64").c_str(), rounded<f64, kOp, kMode, false, false>);
  };
  add.template operator()<kAdd>("add");
  add.template operator()<kSub>("sub");
  add.template operator()<kMul>("mul");
  add.template operator()<kFma>("fma");
  add.template operator()<kFma>("mad");
  add.template operator()<kDiv>("div");
  add.template operator()<kRcp>("rcp");
  add.template operator()<kSqrt>("sqrt");
}

} // namespace

void GMT_GROUP(rounded)(FormTable& table) {
  add_mode<kToZero>(table, "rz");
  add_mode<kDown>(table, "rm");
  add_mode<kUp>(table, "rp");
}

} // namespace gmt::executor
