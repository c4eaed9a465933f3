// SPDX-License-Identifier: Apache-2.0
// Convolutions as products, wmma, stmatrix and movmatrix, products with a vector.
#pragma once

#include "other_products.h"

#include <mma.h>

namespace convolutions {

using namespace other_products;

// Convolutions of 3 x 3 as products whose rows are gathered: pictures n h w c, filters o y x c.
struct Picture {
  int n, h, w, c, o;
};
enum class Pass { kForward, kToInput, kToFilter };
template <Pass pass>
__global__ void convolution(const __half* x, const __half* filter, float* out, Picture p) {
  const int lane = threadIdx.x, row0 = blockIdx.y * 16, column0 = blockIdx.x * 8;
  const int to = pass == Pass::kToInput ? p.c : p.o;
  const int depth =
    pass == Pass::kToFilter ? p.n * p.h * p.w : 9 * (pass == Pass::kForward ? p.c : p.o);
  // Element (i, d) of the gathered matrix and (d, j) of the other one.
  const auto left = [&](int i, int d) -> __half {
    if (pass == Pass::kToFilter) { // i: filter's place and channel, d: pixel
      const int c = i % p.c, s = i / p.c % 3, r = i / p.c / 3;
      const int xw = d % p.w + s - 1, xh = d / p.w % p.h + r - 1, image = d / (p.w * p.h);
      if (xw < 0 || xw >= p.w || xh < 0 || xh >= p.h) return __half(0.f);
      return x[((image * p.h + xh) * p.w + xw) * p.c + c];
    }
    const int channels = pass == Pass::kForward ? p.c : p.o;
    const int c = d % channels, s = d / channels % 3, r = d / channels / 3;
    const int turn = pass == Pass::kForward ? 1 : -1;
    const int xw = i % p.w + turn * (s - 1), xh = i / p.w % p.h + turn * (r - 1),
              image = i / (p.w * p.h);
    if (xw < 0 || xw >= p.w || xh < 0 || xh >= p.h) return __half(0.f);
    return x[((image * p.h + xh) * p.w + xw) * channels + c];
  };
  const auto right = [&](int d, int j) -> __half {
    if (pass == Pass::kForward) return filter[j * 9 * p.c + d];
    if (pass == Pass::kToInput) return filter[(d % p.o * 9 + d / p.o) * p.c + j];
    return filter[d * p.o + j]; // the output's gradient
  };
  const auto two = [](__half first, __half second) {
    const __half2 both = __halves2half2(first, second);
    return *reinterpret_cast<const u32*>(&both);
  };
  float sums[4] = {};
  for (int at = 0; at < depth; at += 16) {
    u32 fa[4], fb[2];
    for (int i = 0; i < 4; ++i) {
      const int r = row0 + lane / 4 + i % 2 * 8, d = at + lane % 4 * 2 + i / 2 * 8;
      fa[i] = two(left(r, d), left(r, d + 1));
    }
    for (int i = 0; i < 2; ++i) {
      const int d = at + lane % 4 * 2 + i * 8;
      fb[i] = two(right(d, column0 + lane / 4), right(d + 1, column0 + lane / 4));
    }
    HalfF32::add(sums, fa, fb[0], fb[1]);
  }
  for (int e = 0; e < 4; ++e)
    out[(row0 + lane / 4 + e / 2 * 8) * to + column0 + lane % 4 * 2 + e % 2] = sums[e];
}

template <class A, class C, int M, int N, int K, class La, class Lb>
__global__ void by_wmma(const A* a, const A* b, C* c, int n, int k) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, M, N, K, A, La> fa;
  fragment<matrix_b, M, N, K, A, Lb> fb;
  fragment<accumulator, M, N, K, C> fc;
  fill_fragment(fc, C(0));
  constexpr bool a_by_rows = std::is_same_v<La, row_major>,
                 b_by_rows = std::is_same_v<Lb, row_major>;
  for (int at = 0; at < k; at += K) {
    const int row = blockIdx.y * M, column = blockIdx.x * N;
    load_matrix_sync(fa, a_by_rows ? a + row * k + at : a + at * n + row, a_by_rows ? k : n);
    load_matrix_sync(fb, b_by_rows ? b + at * n + column : b + column * k + at, b_by_rows ? n : k);
    mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * C(2);
  store_matrix_sync(c + blockIdx.y * M * n + blockIdx.x * N, fc, n, mem_row_major);
}

// Turned by stmatrix, movmatrix and ldmatrix in turn.
__global__ void turned_matrices(const u32* in, u32* out) {
  __shared__ alignas(128) u32 tile[48 * 4];
  const int lane = threadIdx.x;
  u32 r[4];
  for (int i = 0; i < 4; ++i) r[i] = in[i * 32 + lane];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                 shared_address(tile + lane * 4)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                 shared_address(tile + 128 + lane % 16 * 4)),
               "r"(r[3]), "r"(r[1])
               : "memory");
  __syncwarp();
  load_four<false>(r, tile + (lane + 16) * 4);
  for (int i = 0; i < 4; ++i) {
    u32 turned;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(r[i]));
    out[i * 32 + lane] = turned ^ tile[i * 32 + lane];
  }
}

// A vector: a warp a row, 16 bytes a lane, sums of pairs of f16 in f32.
__global__ void vector(const uint4* a, const uint4* x, float* y, int chunks) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int i = lane; i < chunks; i += 32) {
    const uint4 p = a[row * chunks + i], q = x[i];
    const __half2* h = reinterpret_cast<const __half2*>(&p);
    const __half2* g = reinterpret_cast<const __half2*>(&q);
    for (int e = 0; e < 4; ++e) {
      const float2 u = __half22float2(h[e]), v = __half22float2(g[e]);
      sum = fmaf(u.y, v.y, fmaf(u.x, v.x, sum));
    }
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) y[row] = sum;
}

template <Pass pass> void test_convolution(const char* name) {
  const Picture p{2, 8, 8, 16, 24};
  const int columns = pass == Pass::kToInput ? p.c : p.o;
  const int rows = pass == Pass::kToFilter ? 9 * p.c : p.n * p.h * p.w;
  test_simple<__half, float>(name, convolution<pass>, dim3(columns / 8, rows / 16), 2 * 64 * 24,
                             std::max(9 * p.c * p.o, 2 * 64 * p.o), rows * columns, p);
}

template <class A, class C, int M, int N, int K, class La, class Lb> void
test_wmma(const char* name) {
  test_simple<A, C>(name, by_wmma<A, C, M, N, K, La, Lb>, dim3(64 / N, 64 / M), 64 * 64, 64 * 64,
                    64 * 64, 64, 64);
}

inline void test() {
  test_convolution<Pass::kForward>("convolution.forward");
  test_convolution<Pass::kToInput>("convolution.to the input");
  test_convolution<Pass::kToFilter>("convolution.to the filter");
  using namespace nvcuda::wmma;
  test_wmma<__half, float, 16, 16, 16, row_major, col_major>("wmma.f16");
  test_wmma<__half, __half, 32, 8, 16, col_major, row_major>("wmma.f16 in f16, 32x8");
  test_wmma<__nv_bfloat16, float, 8, 32, 16, col_major, col_major>("wmma.bf16, 8x32");
  test_wmma<signed char, int, 16, 16, 16, row_major, row_major>("wmma.s8");
  test_wmma<unsigned char, int, 32, 8, 16, row_major, col_major>("wmma.u8, 32x8");
  test_wmma<double, double, 8, 8, 4, row_major, col_major>("wmma.f64");
  if (torture::is_wanted("product.turned matrices")) {
    const torture::Array<u32> in(torture::operands<u32>(128, 40));
    torture::Array<u32> out(128);
    turned_matrices<<<1, 32>>>(in, out);
    torture::compare("product.turned matrices", out);
  }
  if (torture::is_wanted("product.vector")) {
    const torture::Array<__half> a(torture::operands<__half>(32 * 512, 41)),
      x(torture::operands<__half>(512, 42));
    torture::Array<float> y(32);
    vector<<<8, 128>>>(reinterpret_cast<const uint4*>(a.get()),
                       reinterpret_cast<const uint4*>(x.get()), y, 64);
    torture::compare("product.vector", y);
  }
}

} // namespace convolutions
