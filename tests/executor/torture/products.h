// SPDX-License-Identifier: Apache-2.0
// Products as CUTLASS makes them for sm_80 and sm_89: tiles by cp.async in a ring of stages,
// ldmatrix from a swizzled tile, mma.sync of each type, epilogues, and ways to share the work. It
// is one file because all kernels are made of the same tiles.
#pragma once

#include "recorded.h"

namespace products {

#define MMA(name, text, letter, type)                                                              \
  struct name {                                                                                    \
    using Sum = type;                                                                              \
    static constexpr int kSums = 4;                                                                \
    __device__ static void add(Sum* d, const u32* a, u32 b0, u32 b1) {                             \
      asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "             \
                   "{%0,%1,%2,%3};"                                                                \
                   : "+" letter(d[0]), "+" letter(d[1]), "+" letter(d[2]), "+" letter(d[3])        \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                \
    }                                                                                              \
  };
MMA(HalfF32, "m16n8k16.row.col.f32.f16.f16.f32", "f", float)
MMA(BfloatF32, "m16n8k16.row.col.f32.bf16.bf16.f32", "f", float)
MMA(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", "f", float)
MMA(S8, "m16n8k32.row.col.s32.s8.s8.s32", "r", int)
MMA(U8, "m16n8k32.row.col.s32.u8.u8.s32", "r", int)
MMA(S8U8, "m16n8k32.row.col.s32.s8.u8.s32", "r", int)
MMA(S4, "m16n8k64.row.col.s32.s4.s4.s32", "r", int)
MMA(U4, "m16n8k64.row.col.s32.u4.u4.s32", "r", int)
MMA(S4U4, "m16n8k64.row.col.s32.s4.u4.s32", "r", int)
MMA(BitsXor, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "r", int)
MMA(BitsAnd, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", "r", int)
MMA(E4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", float)
MMA(E5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32", "f", float)
MMA(E4m3E5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32", "f", float)
#undef MMA
struct HalfHalf {
  using Sum = u32;
  static constexpr int kSums = 2;
  __device__ static void add(Sum* d, const u32* a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                 "{%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

template <bool turned> __device__ void load_four(u32* r, const void* row) {
  if (turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}
__device__ inline void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left> __device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

// Rows of 64 bytes; ldmatrix meets no bank conflict.
constexpr int kRow = 64;
__device__ inline int chunk_at(int row, int chunk) {
  return row * kRow + (chunk ^ (row >> 1 & 3)) * 16;
}

// 64 x 64 of the product, from bytes [from, to) of the rows of A and of B's columns. Four warps.
template <class Mma, int kStages> struct Mainloop {
  struct Stage {
    alignas(128) u8 a[64 * kRow], b[64 * kRow];
  };
  typename Mma::Sum sums[2][4][Mma::kSums] = {};

  __device__ void run(Stage* stages, const u8* a, const u8* b, int row_bytes, int from, int to) {
    const int lane = threadIdx.x % 32, wm = threadIdx.x / 64 * 32, wn = threadIdx.x / 32 % 2 * 32;
    const auto fetch = [&](int step) {
      const int at = from + step * kRow;
      if (at < to) {
        Stage& s = stages[step % kStages];
        for (int i = threadIdx.x; i < 256; i += 128) {
          copy16(s.a + chunk_at(i / 4, i % 4), a + i / 4 * row_bytes + at + i % 4 * 16);
          copy16(s.b + chunk_at(i / 4, i % 4), b + i / 4 * row_bytes + at + i % 4 * 16);
        }
      }
      commit();
    };
    for (int i = 0; i < kStages - 1; ++i) fetch(i);
    for (int step = 0; from + step * kRow < to; ++step) {
      wait<kStages - 2>();
      __syncthreads();
      fetch(step + kStages - 1);
      const Stage& s = stages[step % kStages];
      for (int half = 0; half < 2; ++half) {
        u32 fa[2][4], fb[2][4];
        for (int i = 0; i < 2; ++i) {
          load_four<false>(fa[i], s.a + chunk_at(wm + i * 16 + lane % 16, half * 2 + lane / 16));
          load_four<false>(
            fb[i], s.b + chunk_at(wn + i * 16 + lane % 8 + lane / 16 * 8, half * 2 + lane / 8 % 2));
        }
        for (int i = 0; i < 2; ++i) {
          for (int j = 0; j < 4; ++j)
            Mma::add(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    wait<0>();
    __syncthreads();
  }
  // act(row, column, sum) for each sum; with pairs of f16 the column is that of the first.
  template <class F> __device__ void each(F&& act) {
    const int lane = threadIdx.x % 32, wm = threadIdx.x / 64 * 32, wn = threadIdx.x / 32 % 2 * 32;
    constexpr int kInRow = Mma::kSums / 2;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int e = 0; e < Mma::kSums; ++e)
          act(wm + i * 16 + lane / 4 + e / kInRow * 8, wn + j * 8 + lane % 4 * 2 + e % kInRow,
              sums[i][j][e]);
      }
    }
  }
};

template <class Mma, int kStages>
__global__ void plain(const u8* a, const u8* b, typename Mma::Sum* c, int n, int row_bytes) {
  __shared__ typename Mainloop<Mma, kStages>::Stage stages[kStages];
  Mainloop<Mma, kStages> loop;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  loop.run(stages, a + row0 * row_bytes, b + column0 * row_bytes, row_bytes, 0, row_bytes);
  constexpr int kPair = 4 / Mma::kSums;
  loop.each(
    [&](int i, int j, typename Mma::Sum sum) { c[((row0 + i) * n + column0 + j) / kPair] = sum; });
}

// Epilogues of the product of f16.
enum class Ends { kBiasRelu, kScaled, kGelu, kRowMost, kQuantized, kHalf, kTurned, kGated };
__device__ inline float gelu(float x) { // by its quintic, of |x| up to 4
  const float t = fminf(fmaxf(x, -4.f), 4.f) * 0.25f, q = t * t;
  return x * fmaf(t, fmaf(q, fmaf(q, 0.375f, -1.25f), 1.875f) * 0.5f, 0.5f);
}
template <Ends ends>
__global__ void fused(const u8* a, const u8* b, const float* more, void* out, int n,
                      int row_bytes) {
  using Loop = Mainloop<HalfF32, 3>;
  __shared__ Loop::Stage stages[3];
  __shared__ float tile[64][65];
  Loop loop;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  loop.run(stages, a + row0 * row_bytes, b + column0 * row_bytes, row_bytes, 0, row_bytes);
  float* floats = static_cast<float*>(out);
  loop.each([&](int i, int j, float sum) {
    const int at = (row0 + i) * n + column0 + j;
    if (ends == Ends::kBiasRelu) floats[at] = fmaxf(sum + more[column0 + j], 0.f);
    if (ends == Ends::kScaled) floats[at] = fmaf(0.75f, sum, -1.5f * more[at]);
    if (ends == Ends::kGelu) floats[at] = gelu(sum);
    if (ends == Ends::kQuantized)
      static_cast<signed char*>(out)[at] =
        static_cast<signed char>(max(-128, min(127, __float2int_rn(sum * 3.f))));
    if (ends == Ends::kHalf) static_cast<__half*>(out)[at] = __float2half_rn(sum);
    if (ends == Ends::kTurned) floats[(column0 + j) * n + row0 + i] = sum;
    if (ends == Ends::kRowMost || ends == Ends::kGated) tile[i][j] = sum;
  });
  __syncthreads();
  if (ends == Ends::kRowMost && threadIdx.x < 64) {
    float most = -INFINITY;
    for (int j = 0; j < 64; ++j) most = fmaxf(most, tile[threadIdx.x][j]);
    float sum = 0;
    for (int j = 0; j < 64; ++j) sum += exact_exp2(tile[threadIdx.x][j] - most);
    floats[(row0 + threadIdx.x) * gridDim.x * 2 + blockIdx.x * 2] = most;
    floats[(row0 + threadIdx.x) * gridDim.x * 2 + blockIdx.x * 2 + 1] = sum;
  }
  if (ends == Ends::kGated) { // left half times what the right half lets through
    for (int i = threadIdx.x; i < 64 * 32; i += 128)
      floats[(row0 + i / 32) * (n / 2) + column0 / 2 + i % 32] =
        tile[i / 32][i % 32] * gelu(tile[i / 32][i % 32 + 32]);
  }
}

// Blocks that share a tile add in their order: each waits for the one before it.
__global__ void split_by_turns(const u8* a, const u8* b, float* c, int* turn, int n,
                               int row_bytes) {
  using Loop = Mainloop<BfloatF32, 4>;
  __shared__ Loop::Stage stages[4];
  Loop loop;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64, part = row_bytes / gridDim.z;
  loop.run(stages, a + row0 * row_bytes, b + column0 * row_bytes, row_bytes, blockIdx.z * part,
           (blockIdx.z + 1) * part);
  int* mine = turn + blockIdx.y * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) {
    int now = 0;
    do asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(now) : "l"(mine) : "memory");
    while (now != static_cast<int>(blockIdx.z));
  }
  __syncthreads();
  loop.each([&](int i, int j, float sum) {
    float* at = c + (row0 + i) * n + column0 + j;
    *at = blockIdx.z == 0 ? sum : *at + sum;
  });
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(mine), "r"(blockIdx.z + 1) : "memory");
}

// Parts into a workspace, which a second kernel sums.
__global__ void split_parts(const u8* a, const u8* b, float* parts, int n, int row_bytes) {
  using Loop = Mainloop<HalfF32, 2>;
  __shared__ Loop::Stage stages[2];
  Loop loop;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64, part = row_bytes / gridDim.z;
  loop.run(stages, a + row0 * row_bytes, b + column0 * row_bytes, row_bytes, blockIdx.z * part,
           (blockIdx.z + 1) * part);
  float* mine = parts + blockIdx.z * gridDim.y * 64 * n;
  loop.each([&](int i, int j, float sum) { mine[(row0 + i) * n + column0 + j] = sum; });
}
__global__ void sum_parts(const float* parts, __nv_bfloat16* out, int count, int size) {
  const int i = global_index();
  if (i >= size) return;
  float sum = 0;
  for (int p = 0; p < count; ++p) sum += parts[p * size + i];
  out[i] = __float2bfloat16_rn(sum);
}

// Integers may be added in any order.
__global__ void split_by_atomics(const u8* a, const u8* b, int* c, int n, int row_bytes) {
  using Loop = Mainloop<S8, 3>;
  __shared__ Loop::Stage stages[3];
  Loop loop;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64, part = row_bytes / gridDim.z;
  loop.run(stages, a + row0 * row_bytes, b + column0 * row_bytes, row_bytes, blockIdx.z * part,
           (blockIdx.z + 1) * part);
  loop.each([&](int i, int j, int sum) { atomicAdd(c + (row0 + i) * n + column0 + j, sum); });
}

// Few blocks take tiles of several problems from a counter.
struct Problem {
  const u8 *a, *b;
  float* c;
  int m, n, row_bytes;
};
__global__ void grouped(const Problem* problems, int count, int* next) {
  using Loop = Mainloop<HalfF32, 3>;
  __shared__ Loop::Stage stages[3];
  __shared__ int tile;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int at = tile, which = 0;
    for (; which < count; ++which) {
      const int tiles = problems[which].m / 64 * (problems[which].n / 64);
      if (at < tiles) break;
      at -= tiles;
    }
    if (which == count) return;
    const Problem p = problems[which];
    const int row0 = at / (p.n / 64) * 64, column0 = at % (p.n / 64) * 64;
    Loop loop;
    loop.run(stages, p.a + row0 * p.row_bytes, p.b + column0 * p.row_bytes, p.row_bytes, 0,
             p.row_bytes);
    loop.each([&](int i, int j, float sum) { p.c[(row0 + i) * p.n + column0 + j] = sum; });
  }
}

template <class T> std::vector<u8> bytes_of(std::size_t bytes, u64 seed) {
  const auto values = torture::operands<T>(bytes / sizeof(T), seed);
  const u8* first = reinterpret_cast<const u8*>(values.data());
  return {first, first + bytes};
}
// Exponents of 8-bit floats stay finite.
inline std::vector<u8> narrow_floats(std::size_t bytes, u64 seed) {
  std::vector<u8> all = bytes_of<u8>(bytes, seed);
  for (u8& each : all) each &= 0xbf;
  return all;
}

constexpr int kM = 128, kN = 128, kBytes = 320;
inline torture::Array<u8> given(std::vector<u8> (*make)(std::size_t, u64), u64 seed,
                                int rows = kM) {
  return torture::Array<u8>(make(static_cast<std::size_t>(rows) * kBytes, seed));
}

template <class Mma, int kStages> void test_plain(const char* name,
                                                  std::vector<u8> (*make)(std::size_t, u64)) {
  if (!torture::is_wanted(name)) return;
  const auto a = given(make, 11), b = given(make, 12);
  torture::Array<typename Mma::Sum> c(kM * kN);
  plain<Mma, kStages><<<dim3(kN / 64, kM / 64), 128>>>(a, b, c, kN, kBytes);
  torture::compare(name, c);
}
template <Ends ends> void test_fused(const char* name) {
  if (!torture::is_wanted(name)) return;
  const auto a = given(bytes_of<__half>, 13), b = given(bytes_of<__half>, 14);
  const torture::Array<float> more(torture::operands<float>(kM * kN, 15));
  torture::Array<float> out(kM * kN);
  fused<ends><<<dim3(kN / 64, kM / 64), 128>>>(a, b, more, out.get(), kN, kBytes);
  torture::compare(name, out);
}

inline void test_shared_work() {
  if (torture::is_wanted("product.split by turns")) {
    const auto a = given(bytes_of<__nv_bfloat16>, 16), b = given(bytes_of<__nv_bfloat16>, 17);
    torture::Array<float> c(kM * kN);
    torture::Array<int> turn(4);
    split_by_turns<<<dim3(2, 2, 5), 128>>>(a, b, c, turn, kN, kBytes);
    torture::compare("product.split by turns", c);
  }
  if (torture::is_wanted("product.split parts")) {
    const auto a = given(bytes_of<__half>, 18), b = given(bytes_of<__half>, 19);
    torture::Array<float> parts(5 * kM * kN);
    torture::Array<__nv_bfloat16> out(kM * kN);
    split_parts<<<dim3(2, 2, 5), 128>>>(a, b, parts, kN, kBytes);
    sum_parts<<<kM * kN / 256, 256>>>(parts, out, 5, kM * kN);
    torture::compare("product.split parts", parts);
    torture::compare("product.split parts, summed", out);
  }
  if (torture::is_wanted("product.split by atomics")) {
    const auto a = given(bytes_of<u8>, 20), b = given(bytes_of<u8>, 21);
    torture::Array<int> c(kM * kN);
    split_by_atomics<<<dim3(2, 2, 5), 128>>>(a, b, c, kN, kBytes);
    torture::compare("product.split by atomics", c);
  }
  if (torture::is_wanted("product.grouped")) {
    const auto a = given(bytes_of<__half>, 22), b = given(bytes_of<__half>, 23);
    torture::Array<float> c(2 * kM * kN);
    const std::vector<Problem> problems = {{a, b, c, 128, 64, kBytes},
                                           {b, a, c + 128 * 64, 64, 128, kBytes},
                                           {a, a, c + 2 * 128 * 64, 128, 128, kBytes}};
    const torture::Array<Problem> given_problems(problems);
    torture::Array<int> next(1);
    grouped<<<3, 128>>>(given_problems, 3, next);
    torture::compare("product.grouped", c);
  }
}

inline void test() {
  test_plain<HalfF32, 4>("product.f16", bytes_of<__half>);
  test_plain<HalfHalf, 3>("product.f16 in f16", bytes_of<__half>);
  test_plain<BfloatF32, 3>("product.bf16", bytes_of<__nv_bfloat16>);
  test_plain<Tf32, 2>("product.tf32", bytes_of<float>);
  test_plain<S8, 3>("product.s8", bytes_of<u8>);
  test_plain<U8, 5>("product.u8", bytes_of<u8>);
  test_plain<S8U8, 2>("product.s8 u8", bytes_of<u8>);
  test_plain<S4, 3>("product.s4", bytes_of<u8>);
  test_plain<U4, 4>("product.u4", bytes_of<u8>);
  test_plain<S4U4, 3>("product.s4 u4", bytes_of<u8>);
  test_plain<BitsXor, 3>("product.b1 xor", bytes_of<u8>);
  test_plain<BitsAnd, 2>("product.b1 and", bytes_of<u8>);
  test_plain<E4m3, 3>("product.e4m3", narrow_floats);
  test_plain<E5m2, 2>("product.e5m2", narrow_floats);
  test_plain<E4m3E5m2, 4>("product.e4m3 e5m2", narrow_floats);
  test_fused<Ends::kBiasRelu>("product.bias, relu");
  test_fused<Ends::kScaled>("product.scaled");
  test_fused<Ends::kGelu>("product.gelu");
  test_fused<Ends::kRowMost>("product.softmax's parts");
  test_fused<Ends::kQuantized>("product.quantized");
  test_fused<Ends::kHalf>("product.f16 out");
  test_fused<Ends::kTurned>("product.turned");
  test_fused<Ends::kGated>("product.gated");
  test_shared_work();
}

} // namespace products
