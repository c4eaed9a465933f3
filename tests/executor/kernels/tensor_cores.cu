// SPDX-License-Identifier: Apache-2.0
// Products of matrices on tensor cores, as libraries write them: wmma, ldmatrix with a swizzle and
// mma.sync, integers, and attention that keeps its scores in registers. Operands are small integers
// where results must be exact: their sums have no rounding in any order.
#include "torture.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

namespace {

template <class T> std::vector<T> small_integers(std::size_t size, std::uint64_t seed) {
  torture::Random random(seed);
  std::vector<T> values(size);
  for (T& value : values)
    value =
      static_cast<T>(static_cast<float>(random.next() % 15) - (std::is_unsigned_v<T> ? 0 : 7));
  return values;
}

template <class A, class B, class D>
std::vector<D> product(const std::vector<A>& a, const std::vector<B>& b, int m, int n, int k) {
  std::vector<D> d(static_cast<std::size_t>(m) * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l)
        sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[l * n + j]);
      d[i * n + j] = static_cast<D>(sum);
    }
  }
  return d;
}

// Each warp has one tile of C; A and B lie by rows.
template <class In, class Out, int M, int N, int K>
__global__ void by_wmma(const In* a, const In* b, Out* c, int n, int k) {
  const int warp = threadIdx.x / 32 + blockIdx.x * (blockDim.x / 32);
  const int row = warp / (n / N) * M, column = warp % (n / N) * N;
  wmma::fragment<wmma::matrix_a, M, N, K, In, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, In, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Out> fc;
  wmma::fill_fragment(fc, Out(0.0f));
  for (int at = 0; at < k; at += K) {
    wmma::load_matrix_sync(fa, a + row * k + at, k);
    wmma::load_matrix_sync(fb, b + at * n + column, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

template <class In, class Out, int M, int N, int K> void test_wmma(const char* name) {
  const int m = 64, n = 64, k = 48;
  const auto a = small_integers<In>(m * k, 1), b = small_integers<In>(k * n, 2);
  torture::Array<In> da(a), db(b);
  torture::Array<Out> dc(m * n);
  const int warps = m / M * (n / N);
  by_wmma<In, Out, M, N, K><<<warps / 4, 128>>>(da, db, dc, n, k);
  auto want = product<In, In, Out>(a, b, m, n, k);
  for (Out& value : want) value = static_cast<Out>(static_cast<float>(value) * 2);
  torture::expect(name, dc, want);
}

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void load_four(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
__device__ void load_four_turned(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3},"
               " {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block has 64 x 64 of C, a warp 32 x 32. Rows of 64 bytes are kept in an order in which ldmatrix
// meets no bank conflict.
constexpr int kTile = 64, kDepth = 32;
__device__ int swizzled(int row, int chunk) { return row * kDepth + (chunk ^ (row >> 1 & 3)) * 8; }

__global__ void tiled(const half* a, const half* b, half* c, int n, int k) { // B by columns
  __shared__ alignas(128) half ta[kTile * kDepth], tb[kTile * kDepth];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  float acc[2][4][4] = {};
  for (int at = 0; at < k; at += kDepth) {
    for (int i = threadIdx.x; i < kTile * 4; i += blockDim.x) {
      const int row = i / 4, chunk = i % 4;
      *reinterpret_cast<uint4*>(ta + swizzled(row, chunk)) =
        *reinterpret_cast<const uint4*>(a + (row0 + row) * k + at + chunk * 8);
      *reinterpret_cast<uint4*>(tb + swizzled(row, chunk)) =
        *reinterpret_cast<const uint4*>(b + (column0 + row) * k + at + chunk * 8);
    }
    __syncthreads();
    for (int step = 0; step < kDepth / 16; ++step) {
      unsigned fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) {
        load_four(fa[i], ta + swizzled(wm + i * 16 + lane % 16, step * 2 + lane / 16));
        load_four(fb[i],
                  tb + swizzled(wn + i * 16 + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2));
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j)
          multiply(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      half* to = c + (row0 + wm + i * 16 + lane / 4) * n + column0 + wn + j * 8 + lane % 4 * 2;
      *reinterpret_cast<half2*>(to) = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
      *reinterpret_cast<half2*>(to + 8 * n) = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
    }
  }
}

// A warp has 16 queries; keys and values come in groups of 16, of which none is kept. Scores stay
// in registers, from a product's D to the next one's A.
constexpr int kHead = 32;
__global__ void attention(const half* q, const half* k, const half* v, float* out, int keys) {
  __shared__ alignas(128) half tile[3][16 * kHead];
  const int lane = threadIdx.x;
  const auto fetch = [&](half* to, const half* from) {
    for (int i = lane; i < 16 * kHead / 8; i += 32)
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  };
  fetch(tile[0], q + blockIdx.x * 16 * kHead);
  __syncwarp();
  unsigned fq[2][4];
  for (int i = 0; i < 2; ++i)
    load_four(fq[i], tile[0] + lane % 16 * kHead + i * 16 + lane / 16 * 8);
  float most[2] = {-INFINITY, -INFINITY}, sum[2] = {}, acc[4][4] = {};
  for (int at = 0; at < keys; at += 16) {
    __syncwarp();
    fetch(tile[1], k + at * kHead);
    fetch(tile[2], v + at * kHead);
    __syncwarp();
    float s[2][4] = {};
    for (int i = 0; i < 2; ++i) {
      unsigned fk[4];
      load_four(fk, tile[1] + (lane % 8 + lane / 16 * 8) * kHead + i * 16 + lane / 8 % 2 * 8);
      multiply(s[0], fq[i], fk[0], fk[1]);
      multiply(s[1], fq[i], fk[2], fk[3]);
    }
    float scale[2];
    for (int r = 0; r < 2; ++r) {
      float m = most[r];
      for (int j = 0; j < 2; ++j) m = fmaxf(m, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
      scale[r] = exp2f(most[r] - m);
      most[r] = m;
      float part = 0;
      for (int j = 0; j < 2; ++j) {
        for (int e = 0; e < 2; ++e) {
          s[j][2 * r + e] = exp2f(s[j][2 * r + e] - m);
          part += s[j][2 * r + e];
        }
      }
      part += __shfl_xor_sync(~0u, part, 1);
      part += __shfl_xor_sync(~0u, part, 2);
      sum[r] = sum[r] * scale[r] + part;
    }
    unsigned p[4];
    for (int i = 0; i < 4; ++i) {
      const half2 two = __floats2half2_rn(s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1]);
      p[i] = *reinterpret_cast<const unsigned*>(&two);
    }
    for (int j = 0; j < 4; ++j) {
      for (int e = 0; e < 4; ++e) acc[j][e] *= scale[e / 2];
    }
    for (int i = 0; i < 2; ++i) {
      unsigned fv[4];
      load_four_turned(fv, tile[2] + lane % 16 * kHead + i * 16 + lane / 16 * 8);
      multiply(acc[2 * i], p, fv[0], fv[1]);
      multiply(acc[2 * i + 1], p, fv[2], fv[3]);
    }
  }
  for (int j = 0; j < 4; ++j) {
    for (int e = 0; e < 4; ++e)
      out[(blockIdx.x * 16 + lane / 4 + e / 2 * 8) * kHead + j * 8 + lane % 4 * 2 + e % 2] =
        acc[j][e] / sum[e / 2];
  }
}

void test_attention() {
  const int queries = 64, keys = 96;
  const auto as_half = [](const std::vector<float>& from) {
    std::vector<half> to;
    for (const float value : from) to.push_back(__float2half(value));
    return to;
  };
  const auto q = as_half(torture::numbers<float>(queries * kHead, 5));
  const auto k = as_half(torture::numbers<float>(keys * kHead, 6));
  const auto v = as_half(torture::numbers<float>(keys * kHead, 7));
  torture::Array<half> dq(q), dk(k), dv(v);
  torture::Array<float> out(queries * kHead);
  attention<<<queries / 16, 32>>>(dq, dk, dv, out, keys);
  std::vector<float> want(queries * kHead);
  for (int i = 0; i < queries; ++i) {
    std::vector<double> weight(keys);
    double sum = 0;
    for (int j = 0; j < keys; ++j) {
      double score = 0;
      for (int e = 0; e < kHead; ++e)
        score += double(__half2float(q[i * kHead + e])) * __half2float(k[j * kHead + e]);
      sum += weight[j] = std::exp2(score);
    }
    for (int e = 0; e < kHead; ++e) {
      double value = 0;
      for (int j = 0; j < keys; ++j) value += weight[j] / sum * __half2float(v[j * kHead + e]);
      want[i * kHead + e] = static_cast<float>(value);
    }
  }
  torture::expect_near("attention", out, want, 2e-3);
}

void test_tiled() {
  const int m = 128, n = 128, k = 96;
  const auto a = small_integers<half>(m * k, 3), by_columns = small_integers<half>(n * k, 4);
  std::vector<half> b(k * n);
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < n; ++j) b[i * n + j] = by_columns[j * k + i];
  }
  torture::Array<half> da(a), db(by_columns), dc(m * n);
  tiled<<<dim3(n / kTile, m / kTile), 128>>>(da, db, dc, n, k);
  torture::expect("tiled product", dc, product<half, half, half>(a, b, m, n, k));
}

// What is compiled for a newer device as well runs as that for 9.0 on the simulated device.
__global__ void compiled_for(int* architecture) {
#ifdef __CUDA_ARCH__
  *architecture = __CUDA_ARCH__;
#endif
}
void test_architecture() {
  torture::Array<int> architecture(1);
  compiled_for<<<1, 1>>>(architecture);
#ifdef GMT_SIMULATED
  torture::expect("architecture", architecture, {900});
#endif
}

} // namespace

int main() {
  test_architecture();
  test_wmma<half, float, 16, 16, 16>("wmma f16, f32");
  test_wmma<half, half, 32, 8, 16>("wmma f16, 32x8");
  test_wmma<half, float, 8, 32, 16>("wmma f16, 8x32");
  test_wmma<__nv_bfloat16, float, 16, 16, 16>("wmma bf16");
  test_wmma<signed char, int, 16, 16, 16>("wmma s8");
  test_wmma<unsigned char, int, 8, 32, 16>("wmma u8");
  test_tiled();
  test_attention();
  return torture::finish();
}
