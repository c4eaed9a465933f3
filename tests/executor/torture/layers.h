// SPDX-License-Identifier: Apache-2.0
// Layers of networks but products and attention, forward and backward, in mixed precision.
#pragma once

#include "recorded.h"

namespace layers {

template <class F> __device__ float warp_reduced(float x, F f) {
  for (int step = 16; step > 0; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
  return x;
}
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Most {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

__device__ inline float sigmoid(float x) { // by powers of 2 that are the same everywhere
  const float p = exact_exp2(-fabsf(x) * 1.442695f);
  return (x < 0 ? p : 1.f) / (1 + p);
}

// Rows of 512 in f16, a warp each.
constexpr int kWide = 512, kEach = kWide / 32;
__device__ inline void read_row(const __half* in, float* x) {
  for (int i = 0; i < kEach / 8; ++i) {
    const uint4 words = reinterpret_cast<const uint4*>(in)[i * 32 + threadIdx.x % 32];
    for (int j = 0; j < 4; ++j) {
      const float2 two = __half22float2(reinterpret_cast<const __half2*>(&words)[j]);
      x[i * 8 + j * 2] = two.x, x[i * 8 + j * 2 + 1] = two.y;
    }
  }
}
__device__ inline int column(int i) { return i / 8 * 256 + threadIdx.x % 32 * 8 + i % 8; }

__global__ void layer_norm(const __half* in, const float* weight, const float* bias,
                           __nv_bfloat16* out, float2* kept) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach], sum = 0, squares = 0;
  read_row(in + row * kWide, x);
  for (float each : x) sum += each;
  const float mean = warp_reduced(sum, Plus()) / kWide;
  for (float each : x) squares = fmaf(each - mean, each - mean, squares);
  const float scale = 1 / sqrtf(warp_reduced(squares, Plus()) / kWide + 1e-5f);
  for (int i = 0; i < kEach; ++i)
    out[row * kWide + column(i)] =
      __float2bfloat16_rn(fmaf((x[i] - mean) * scale, weight[column(i)], bias[column(i)]));
  if (threadIdx.x % 32 == 0) kept[row] = make_float2(mean, scale);
}
__global__ void layer_norm_back(const __half* in, const __half* gradient, const float* weight,
                                const float2* kept, float* out) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach], g[kEach], one = 0, two = 0;
  read_row(in + row * kWide, x);
  read_row(gradient + row * kWide, g);
  const float2 k = kept[row];
  for (int i = 0; i < kEach; ++i) {
    x[i] = (x[i] - k.x) * k.y;
    g[i] *= weight[column(i)];
    one += g[i];
    two = fmaf(g[i], x[i], two);
  }
  one = warp_reduced(one, Plus()) / kWide, two = warp_reduced(two, Plus()) / kWide;
  for (int i = 0; i < kEach; ++i) out[row * kWide + column(i)] = (g[i] - one - x[i] * two) * k.y;
}
__global__ void weight_gradients(const __half* in, const __half* gradient, const float2* kept,
                                 float2* out, int rows) {
  float weight = 0, bias = 0;
  const int c = global_index();
  for (int row = 0; row < rows; ++row) {
    const float g = __half2float(gradient[row * kWide + c]);
    weight = fmaf(g, (__half2float(in[row * kWide + c]) - kept[row].x) * kept[row].y, weight);
    bias += g;
  }
  out[c] = make_float2(weight, bias);
}
__global__ void rms_norm(const __half* in, const __half* residual, const float* weight,
                         __half* out) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach], r[kEach], squares = 0;
  read_row(in + row * kWide, x);
  read_row(residual + row * kWide, r);
  for (int i = 0; i < kEach; ++i) {
    x[i] = __half2float(__float2half_rn(x[i] + r[i]));
    squares = fmaf(x[i], x[i], squares);
  }
  const float scale = 1 / sqrtf(warp_reduced(squares, Plus()) / kWide + 1e-6f);
  for (int i = 0; i < kEach; ++i)
    out[row * kWide + column(i)] = __float2half_rn(x[i] * scale * weight[column(i)]);
}
__global__ void softmax(const __half* in, float* out, float scale) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach], most = -INFINITY, sum = 0;
  read_row(in + row * kWide, x);
  for (float each : x) most = fmaxf(most, each);
  most = warp_reduced(most, Most());
  for (float& each : x) each = exact_exp2((each - most) * scale), sum += each;
  sum = warp_reduced(sum, Plus());
  for (int i = 0; i < kEach; ++i) out[row * kWide + column(i)] = x[i] / sum;
}
__global__ void softmax_back(const float* p, const __half* gradient, __half* out) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float g[kEach], sum = 0;
  read_row(gradient + row * kWide, g);
  for (int i = 0; i < kEach; ++i) sum = fmaf(g[i], p[row * kWide + column(i)], sum);
  sum = warp_reduced(sum, Plus());
  for (int i = 0; i < kEach; ++i)
    out[row * kWide + column(i)] = __float2half_rn(p[row * kWide + column(i)] * (g[i] - sum));
}
__global__ void cross_entropy(const __half* in, const int* target, float* loss, __half* gradient) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach], most = -INFINITY, sum = 0, right = 0;
  read_row(in + row * kWide, x);
  for (float each : x) most = fmaxf(most, each);
  most = warp_reduced(most, Most());
  for (int i = 0; i < kEach; ++i) {
    if (column(i) == target[row]) right = x[i] - most;
    x[i] = exact_exp2((x[i] - most) * 1.442695f);
    sum += x[i];
  }
  sum = warp_reduced(sum, Plus()), right = warp_reduced(right, Plus());
  for (int i = 0; i < kEach; ++i)
    gradient[row * kWide + column(i)] =
      __float2half_rn(x[i] / sum - (column(i) == target[row] ? 1.f : 0.f));
  if (threadIdx.x % 32 == 0) loss[row] = sum - right;
}
__global__ void largest_four(const __half* in, int2* out) { // as routers of experts choose
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach];
  read_row(in + row * kWide, x);
  for (int k = 0; k < 4; ++k) {
    float best = -INFINITY;
    int who = kWide;
    for (int i = 0; i < kEach; ++i) {
      if (x[i] > best || (x[i] == best && column(i) < who)) best = x[i], who = column(i);
    }
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(~0u, best, step);
      const int its = __shfl_xor_sync(~0u, who, step);
      if (other > best || (other == best && its < who)) best = other, who = its;
    }
    for (int i = 0; i < kEach; ++i) {
      if (column(i) == who) x[i] = -INFINITY;
    }
    if (threadIdx.x % 32 == 0) out[row * 4 + k] = make_int2(who, __float_as_int(best));
  }
}

enum class Gate { kSilu, kGelu, kRelu, kSquare };
template <Gate gate, class T> __global__ void gated(const T* in, const T* other, T* out) {
  const int i = global_index();
  const float x = static_cast<float>(in[i]), y = static_cast<float>(other[i]);
  float z = fmaxf(x, 0.f);
  if (gate == Gate::kSilu) z = x * sigmoid(x);
  if (gate == Gate::kGelu) z = x * sigmoid(1.702f * x);
  if (gate == Gate::kSquare) z *= z;
  out[i] = static_cast<T>(z * y);
}
__global__ void rotate(const __half2* in, const float2* table, __half2* out, int pairs) {
  const int i = global_index();
  const float2 x = __half22float2(in[i]), w = table[(i / pairs / 4 * pairs + i % pairs) % 512];
  out[i] = __floats2half2_rn(fmaf(x.x, w.x, -(x.y * w.y)), fmaf(x.x, w.y, x.y * w.x));
}
__global__ void embed(const int* tokens, const __half2* table, const __half2* positions,
                      __half2* out, int pairs) {
  out[blockIdx.x * pairs + threadIdx.x] =
    __hadd2(table[tokens[blockIdx.x] % 100 * pairs + threadIdx.x],
            positions[blockIdx.x * pairs + threadIdx.x]);
}
__global__ void adam(float* w, float* m, float* v, const __half* gradient, float scale,
                     int* overflows) {
  const int i = global_index();
  const float g = __half2float(gradient[i]) * scale;
  if (!(fabsf(g) < 1.5f)) atomicAdd(overflows, 1);
  m[i] = fmaf(0.9f, m[i], 0.1f * g);
  v[i] = fmaf(0.999f, v[i], 0.001f * g * g);
  w[i] -= 1e-3f * (m[i] / 0.1f / (sqrtf(v[i] / 0.001f) + 1e-8f) + 0.01f * w[i]);
}
__global__ void drop_out(const __half* in, __half* out, u32* mask) {
  u32 c = global_index() * 2654435761u;
  c ^= c >> 15, c *= 0x2c1b3c6d, c ^= c >> 12, c *= 0x297a2d39, c ^= c >> 15;
  const bool kept = c > 0x4ccccccc;
  out[global_index()] = kept ? __hmul(in[global_index()], __float2half(1.4285f)) : __half(0.f);
  const u32 all = __ballot_sync(~0u, kept);
  if (threadIdx.x % 32 == 0) mask[global_index() / 32] = all;
}
__global__ void pool(const float* in, float2* out, int w, int h) { // largest and mean of 2 x 2
  const int x = threadIdx.x * 2, y = blockIdx.x * 2;
  const float a = in[y * w + x], b = in[y * w + x + 1], c = in[(y + 1) * w + x],
              d = in[(y + 1) * w + x + 1];
  out[blockIdx.x * blockDim.x + threadIdx.x] =
    make_float2(fmaxf(fmaxf(a, b), fmaxf(c, d)), (a + b + (c + d)) * 0.25f);
}
__global__ void quantize_rows(const __half* in, u8* out, float* scales, bool narrow) { // to s8, or
                                                                                       // to e4m3 by
                                                                                       // hand
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float x[kEach], most = 0;
  read_row(in + row * kWide, x);
  for (float each : x) most = fmaxf(most, fabsf(each));
  most = warp_reduced(most, Most());
  const float scale = most / (narrow ? 448.f : 127.f);
  for (int i = 0; i < kEach; ++i) {
    if (narrow) {
      u16 two;
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.f), "f"(x[i] / scale));
      out[row * kWide + column(i)] = static_cast<u8>(two);
    } else {
      out[row * kWide + column(i)] = static_cast<u8>(__float2int_rn(x[i] / scale));
    }
  }
  if (threadIdx.x % 32 == 0) scales[row] = scale;
}
__global__ void recurrence(const float* a, const float* b, float* h, int length) { // of a
                                                                                   // state-space
                                                                                   // layer, by a
                                                                                   // scan
  float decay[8], value[8], d = 1, x = 0;
  const int lane = threadIdx.x;
  for (int i = 0; i < 8; ++i) {
    decay[i] = sigmoid(a[blockIdx.x * length + lane * 8 + i]),
    value[i] = b[blockIdx.x * length + lane * 8 + i];
    x = fmaf(decay[i], x, value[i]), d *= decay[i];
  }
  for (int step = 1; step < 32; step *= 2) {
    const float dl = __shfl_up_sync(~0u, d, step), xl = __shfl_up_sync(~0u, x, step);
    if (lane >= step) x = fmaf(d, xl, x), d *= dl;
  }
  float before = __shfl_up_sync(~0u, x, 1);
  if (lane == 0) before = 0;
  for (int i = 0; i < 8; ++i) {
    before = fmaf(decay[i], before, value[i]);
    h[blockIdx.x * length + lane * 8 + i] = before;
  }
}

constexpr int kRows = 16;
template <Gate gate, class T> void test_gate(const char* name) {
  const torture::Array<T> in(torture::operands<T>(2048, 91)), other(torture::operands<T>(2048, 92));
  torture::Array<T> out(2048);
  gated<gate, T><<<8, 256>>>(in, other, out);
  torture::compare(name, out);
}

inline void test_rows(const torture::Array<__half>& in, const torture::Array<__half>& gradient,
                      const torture::Array<float>& weight) {
  torture::Array<__nv_bfloat16> normed(kRows * kWide);
  torture::Array<float2> kept(kRows), both(kWide);
  torture::Array<float> out(kRows * kWide), losses(kRows);
  torture::Array<__half> halves(kRows * kWide);
  layer_norm<<<kRows / 4, 128>>>(in, weight, weight + kWide, normed, kept);
  torture::compare("layer.norm", normed);
  torture::compare("layer.norm, kept", kept);
  layer_norm_back<<<kRows / 4, 128>>>(in, gradient, weight, kept, out);
  torture::compare("layer.norm, backward", out);
  weight_gradients<<<4, 128>>>(in, gradient, kept, both, kRows);
  torture::compare("layer.norm, weights' gradients", both);
  rms_norm<<<kRows / 4, 128>>>(in, gradient, weight, halves);
  torture::compare("layer.root of squares", halves);
  softmax<<<kRows / 4, 128>>>(in, out, 1.25f);
  torture::compare("layer.softmax", out);
  softmax_back<<<kRows / 4, 128>>>(out, gradient, halves);
  torture::compare("layer.softmax, backward", halves);
  const torture::Array<int> targets(torture::numbers_below<int>(kRows, 93, kWide));
  cross_entropy<<<kRows / 4, 128>>>(in, targets, losses, halves);
  torture::compare("layer.cross entropy", losses);
  torture::compare("layer.cross entropy, gradient", halves);
  torture::Array<int2> four(kRows * 4);
  largest_four<<<kRows / 4, 128>>>(in, four);
  torture::compare("layer.largest four", four);
  torture::Array<u8> bytes(kRows * kWide);
  for (const bool narrow : {false, true}) {
    quantize_rows<<<kRows / 4, 128>>>(in, bytes, losses, narrow);
    torture::compare(narrow ? "layer.rows in e4m3" : "layer.rows in s8", bytes);
  }
}

inline void test() {
  const torture::Array<__half> in(torture::operands<__half>(kRows * kWide, 94)),
    gradient(torture::operands<__half>(kRows * kWide, 95));
  const torture::Array<float> weight(torture::operands<float>(2 * kWide, 96));
  test_rows(in, gradient, weight);
  test_gate<Gate::kSilu, __half>("layer.silu f16");
  test_gate<Gate::kGelu, __nv_bfloat16>("layer.gelu bf16");
  test_gate<Gate::kRelu, float>("layer.relu f32");
  test_gate<Gate::kSquare, __nv_bfloat16>("layer.square bf16");
  torture::Array<__half> out(kRows * kWide);
  rotate<<<16, 256>>>(reinterpret_cast<const __half2*>(in.get()),
                      reinterpret_cast<const float2*>(weight.get()),
                      reinterpret_cast<__half2*>(out.get()), 32);
  torture::compare("layer.rotated", out);
  const torture::Array<int> tokens(torture::numbers_below<int>(kRows, 97, 1000));
  const torture::Array<__half> table(torture::operands<__half>(100 * kWide, 98));
  embed<<<kRows, kWide / 2>>>(tokens, reinterpret_cast<const __half2*>(table.get()),
                              reinterpret_cast<const __half2*>(in.get()),
                              reinterpret_cast<__half2*>(out.get()), kWide / 2);
  torture::compare("layer.embedding", out);
  torture::Array<float> w(torture::operands<float>(2048, 99)), m(2048), v(2048);
  torture::Array<int> overflows(1);
  for (int i = 0; i < 3; ++i) adam<<<8, 256>>>(w, m, v, gradient + i * 2048, 0.5f, overflows);
  torture::compare("layer.adam", w);
  torture::compare("layer.adam, overflows", overflows);
  torture::Array<u32> mask(kRows * kWide / 32);
  drop_out<<<kRows * kWide / 256, 256>>>(in, out, mask);
  torture::compare("layer.dropped out", out);
  torture::compare("layer.dropped out, mask", mask);
  const torture::Array<float> picture(torture::operands<float>(64 * 32, 100));
  torture::Array<float2> pooled(32 * 16);
  pool<<<16, 32>>>(picture, pooled, 64, 32);
  torture::compare("layer.pool", pooled);
  torture::Array<float> states(4 * 256);
  recurrence<<<4, 32>>>(picture, picture + 1024, states, 256);
  torture::compare("layer.recurrence", states);
}

} // namespace layers
