// SPDX-License-Identifier: Apache-2.0
// Other products: layouts, sparse and complex ones, three products of tf32 for one of f32, doubles,
// narrow weights.
#pragma once

#include "products.h"

namespace other_products {

using namespace products;

// A warp has 32 x 32 of C. A and B lie by rows or by columns: `turned` ldmatrix brings either into
// place.
template <bool a_by_columns, bool b_by_rows>
__global__ void by_layout(const __half* a, const __half* b, float* c, int m, int n, int k) {
  __shared__ alignas(128) __half ta[32 * 40], tb[32 * 40];
  const int lane = threadIdx.x, row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
  float sums[2][4][4] = {};
  for (int at = 0; at < k; at += 32) {
    __syncwarp();
    for (int i = lane; i < 128; i += 32) {
      const int r = i / 4, chunk = i % 4 * 8;
      copy16(ta + r * 40 + chunk,
             a_by_columns ? a + (at + r) * m + row0 + chunk : a + (row0 + r) * k + at + chunk);
      copy16(tb + r * 40 + chunk,
             b_by_rows ? b + (at + r) * n + column0 + chunk : b + (column0 + r) * k + at + chunk);
    }
    commit();
    wait<0>();
    __syncwarp();
    for (int s = 0; s < 32; s += 16) {
      u32 fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) {
        if (a_by_columns)
          load_four<true>(fa[i],
                          ta + (s + lane % 8 + lane / 16 * 8) * 40 + i * 16 + lane / 8 % 2 * 8);
        else load_four<false>(fa[i], ta + (i * 16 + lane % 16) * 40 + s + lane / 16 * 8);
        if (b_by_rows) load_four<true>(fb[i], tb + (s + lane % 16) * 40 + i * 16 + lane / 16 * 8);
        else
          load_four<false>(fb[i],
                           tb + (i * 16 + lane % 8 + lane / 16 * 8) * 40 + s + lane / 8 % 2 * 8);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j)
          HalfF32::add(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int e = 0; e < 4; ++e)
        c[(row0 + i * 16 + lane / 4 + e / 2 * 8) * n + column0 + j * 8 + lane % 4 * 2 + e % 2] =
          sums[i][j][e];
    }
  }
}

// Sparse: of each four elements of A two are kept, of each two of tf32 one.
#define SPARSE(name, text, letter, type)                                                           \
  struct name {                                                                                    \
    using Sum = type;                                                                              \
    __device__ static void add(Sum* d, const u32* a, const u32* b, u32 metadata) {                 \
      asm volatile("mma.sp::ordered_metadata.sync.aligned." text                                   \
                   " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"      \
                   : "+" letter(d[0]), "+" letter(d[1]), "+" letter(d[2]), "+" letter(d[3])        \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),  \
                     "r"(b[3]), "r"(metadata));                                                    \
    }                                                                                              \
  };
SPARSE(SparseHalf, "m16n8k32.row.col.f32.f16.f16.f32", "f", float)
SPARSE(SparseBfloat, "m16n8k32.row.col.f32.bf16.bf16.f32", "f", float)
SPARSE(SparseTf32, "m16n8k16.row.col.f32.tf32.tf32.f32", "f", float)
SPARSE(SparseS8, "m16n8k64.row.col.s32.s8.s8.s32", "r", int)
#undef SPARSE

// Rows of A have 32 bytes a step, those of B 64; lanes' words of `metadata` say where elements
// belong.
template <class Mma>
__global__ void sparse(const u32* a, const u32* b, const u32* metadata, typename Mma::Sum* c, int n,
                       int steps) {
  const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4,
            column = blockIdx.x * 8 + lane / 4;
  typename Mma::Sum sums[4] = {};
  for (int s = 0; s < steps; ++s) {
    u32 fa[4], fb[4];
    for (int i = 0; i < 4; ++i) {
      fa[i] = a[(row + i % 2 * 8) * steps * 8 + s * 8 + lane % 4 + i / 2 * 4];
      fb[i] = b[column * steps * 16 + s * 16 + lane % 4 + i * 4];
    }
    Mma::add(sums, fa, fb, metadata[(blockIdx.y * steps + s) * 32 + lane]);
  }
  for (int e = 0; e < 4; ++e)
    c[(row + e / 2 * 8) * n + blockIdx.x * 8 + lane % 4 * 2 + e % 2] = sums[e];
}

// Complex: four real products, of tf32 halves of each number.
__device__ inline u32 as_tf32(float x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
__global__ void complex(const float* a_numbers, const float* b_numbers, float2* c, int n, int k) {
  const float2* a = reinterpret_cast<const float2*>(a_numbers);
  const float2* b = reinterpret_cast<const float2*>(b_numbers);
  const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4,
            column = blockIdx.x * 8 + lane / 4;
  float re[4] = {}, im[4] = {};
  for (int at = 0; at < k; at += 8) {
    u32 ar[4], ai[4], an[4], br[2], bi[2];
    for (int i = 0; i < 4; ++i) {
      const float2 x = a[(row + i % 2 * 8) * k + at + lane % 4 + i / 2 * 4];
      ar[i] = as_tf32(x.x), ai[i] = as_tf32(x.y), an[i] = as_tf32(-x.y);
    }
    for (int i = 0; i < 2; ++i) {
      const float2 y = b[column * k + at + lane % 4 + i * 4];
      br[i] = as_tf32(y.x), bi[i] = as_tf32(y.y);
    }
    Tf32::add(re, ar, br[0], br[1]);
    Tf32::add(re, an, bi[0], bi[1]);
    Tf32::add(im, ar, bi[0], bi[1]);
    Tf32::add(im, ai, br[0], br[1]);
  }
  for (int e = 0; e < 4; ++e)
    c[(row + e / 2 * 8) * n + blockIdx.x * 8 + lane % 4 * 2 + e % 2] = make_float2(re[e], im[e]);
}

// f32 by three products of tf32: large by large, large by small, small by large.
__global__ void three_products(const float* a, const float* b, float* c, int n, int k) {
  const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4,
            column = blockIdx.x * 8 + lane / 4;
  float sums[4] = {}, small[4] = {};
  const auto parts = [](float x, u32* large, u32* rest) {
    *large = as_tf32(x);
    *rest = as_tf32(x - __uint_as_float(*large));
  };
  for (int at = 0; at < k; at += 8) {
    u32 al[4], as[4], bl[2], bs[2];
    for (int i = 0; i < 4; ++i)
      parts(a[(row + i % 2 * 8) * k + at + lane % 4 + i / 2 * 4], al + i, as + i);
    for (int i = 0; i < 2; ++i) parts(b[column * k + at + lane % 4 + i * 4], bl + i, bs + i);
    Tf32::add(small, as, bl[0], bl[1]);
    Tf32::add(small, al, bs[0], bs[1]);
    Tf32::add(sums, al, bl[0], bl[1]);
  }
  for (int e = 0; e < 4; ++e)
    c[(row + e / 2 * 8) * n + blockIdx.x * 8 + lane % 4 * 2 + e % 2] = sums[e] + small[e];
}

// Doubles: 8 x 8 x 4, and 16 x 8 x 16 of sm_90.
__global__ void doubles(const double* a, const double* b, double* c, int n, int k) {
  const int lane = threadIdx.x, row = blockIdx.y * 8 + lane / 4, column = blockIdx.x * 8;
  double sums[2] = {};
  for (int at = 0; at < k; at += 4) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(sums[0]), "+d"(sums[1])
                 : "d"(a[row * k + at + lane % 4]),
                   "d"(b[(column + lane / 4) * k + at + lane % 4]));
  }
  c[row * n + column + lane % 4 * 2] = sums[0];
  c[row * n + column + lane % 4 * 2 + 1] = sums[1];
}
__global__ void doubles_16(const double* a, const double* b, double* c, int n, int k) {
  const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4, column = blockIdx.x * 8;
  double d[4] = {};
  for (int at = 0; at < k; at += 16) {
    double fa[8], fb[4];
    for (int i = 0; i < 8; ++i) fa[i] = a[(row + i % 2 * 8) * k + at + lane % 4 + i / 2 * 4];
    for (int i = 0; i < 4; ++i) fb[i] = b[(column + lane / 4) * k + at + lane % 4 + i * 4];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(fa[0]), "d"(fa[1]), "d"(fa[2]), "d"(fa[3]), "d"(fa[4]), "d"(fa[5]),
                   "d"(fa[6]), "d"(fa[7]), "d"(fb[0]), "d"(fb[1]), "d"(fb[2]), "d"(fb[3]));
  }
  for (int e = 0; e < 4; ++e) c[(row + e / 2 * 8) * n + column + lane % 4 * 2 + e % 2] = d[e];
}

// Weights of 4 or 8 bits become f16 in registers: digits of 1024 + w, less 1024 + bias.
template <int bits>
__global__ void narrow_weights(const __half* a, const u32* weights, const __half* scales, float* c,
                               int n, int k) {
  const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4,
            column = blockIdx.x * 8 + lane / 4;
  const u32* rows = reinterpret_cast<const u32*>(a);
  float sums[4] = {};
  for (int at = 0; at < k; at += 16) {
    u32 fa[4], fb[2];
    for (int i = 0; i < 4; ++i)
      fa[i] = rows[((row + i % 2 * 8) * k + at) / 2 + lane % 4 + i / 2 * 4];
    for (int i = 0; i < 2; ++i) {
      const int first = at + lane % 4 * 2 + i * 8;
      const u32 word = weights[(column * k + first) * bits / 32] >> first * bits % 32;
      u32 two;
      if (bits == 4) two = (word & 0xf) | (word & 0xf0) << 12 | 0x64006400;
      else two = __byte_perm(word, 0x64, 0x4140);
      const __half2 bias = __float2half2_rn(bits == 4 ? 1032.f : 1152.f);
      const __half2 value = __hmul2(__hsub2(*reinterpret_cast<__half2*>(&two), bias),
                                    __half2half2(scales[column * (k / 64) + first / 64]));
      fb[i] = *reinterpret_cast<const u32*>(&value);
    }
    HalfF32::add(sums, fa, fb[0], fb[1]);
  }
  for (int e = 0; e < 4; ++e)
    c[(row + e / 2 * 8) * n + blockIdx.x * 8 + lane % 4 * 2 + e % 2] = sums[e];
}

template <class In, class Out, class K, class... More>
void test_simple(const char* name, K kernel, dim3 grid, std::size_t a, std::size_t b, std::size_t c,
                 More... more) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<In> da(torture::operands<In>(a, 31)), db(torture::operands<In>(b, 32));
  torture::Array<Out> out(c);
  kernel<<<grid, 32>>>(da.get(), db.get(), out.get(), more...);
  torture::compare(name, out);
}

template <class Mma, class T> void test_sparse(const char* name, const u32* choices, int count) {
  if (!torture::is_wanted(name)) return;
  constexpr int kSteps = 5;
  const torture::Array<u8> a(bytes_of<T>(32 * kSteps * 32, 33)),
    b(bytes_of<T>(32 * kSteps * 64, 34));
  torture::Random random(35);
  std::vector<u32> metadata(2 * kSteps * 32);
  for (u32& word : metadata) {
    for (int i = 0; i < 8; ++i) word = word << 4 | choices[(random.next() >> 30) % count];
  }
  const torture::Array<u32> given_metadata(metadata);
  torture::Array<typename Mma::Sum> c(32 * 32);
  sparse<Mma><<<dim3(4, 2), 32>>>(reinterpret_cast<const u32*>(a.get()),
                                  reinterpret_cast<const u32*>(b.get()), given_metadata, c, 32,
                                  kSteps);
  torture::compare(name, c);
}

template <int bits> void test_narrow(const char* name) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<__half> a(torture::operands<__half>(32 * 256, 36)),
    scales(torture::operands<__half>(32 * 4, 37));
  const torture::Array<u32> weights(torture::operands<u32>(32 * 256 * bits / 32, 38));
  torture::Array<float> c(32 * 32);
  narrow_weights<bits><<<dim3(4, 2), 32>>>(a, weights, scales, c, 32, 256);
  torture::compare(name, c);
}

inline void test() {
  const dim3 tiles(3, 2);
  test_simple<__half, float>("product.by rows", by_layout<false, true>, tiles, 64 * 96, 96 * 96,
                             64 * 96, 64, 96, 96);
  test_simple<__half, float>("product.by columns", by_layout<true, false>, tiles, 64 * 96, 96 * 96,
                             64 * 96, 64, 96, 96);
  test_simple<__half, float>("product.A by columns, B by rows", by_layout<true, true>, tiles,
                             64 * 96, 96 * 96, 64 * 96, 64, 96, 96);
  test_simple<__half, float>("product.A by rows, B by columns", by_layout<false, false>, tiles,
                             64 * 96, 96 * 96, 64 * 96, 64, 96, 96);
  const u32 pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, ones[] = {0x4, 0xe};
  test_sparse<SparseHalf, __half>("product.sparse f16", pairs, 6);
  test_sparse<SparseBfloat, __nv_bfloat16>("product.sparse bf16", pairs, 6);
  test_sparse<SparseTf32, float>("product.sparse tf32", ones, 2);
  test_sparse<SparseS8, u8>("product.sparse s8", pairs, 6);
  const dim3 small(4, 2);
  test_simple<float, float2>("product.complex", complex, small, 32 * 128, 32 * 128, 32 * 32, 32,
                             64);
  test_simple<float, float>("product.three of tf32", three_products, small, 32 * 64, 32 * 64,
                            32 * 32, 32, 64);
  test_simple<double, double>("product.f64", doubles, dim3(4, 4), 32 * 64, 32 * 64, 32 * 32, 32,
                              64);
  test_simple<double, double>("product.f64, 16 rows", doubles_16, small, 32 * 64, 32 * 64, 32 * 32,
                              32, 64);
  test_narrow<4>("product.weights of 4 bits");
  test_narrow<8>("product.weights of 8 bits");
}

} // namespace other_products
