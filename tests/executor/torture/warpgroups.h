// SPDX-License-Identifier: Apache-2.0
// Products by warpgroups: each type, widths, swizzles, operands by rows and columns and in
// registers, tiles by TMA in rings of stages, warps with tasks of their own, clusters that share
// what they load.
#pragma once

#include "warpgroup_instructions.h"

namespace warpgroups {

// One warpgroup, of which a thread loads. A stage has 128 bytes of K, in as many boxes as rows
// need.
template <class Mma, int row, int kStages>
__global__ void plain(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                      typename Mma::Sum* c, int n, int row_bytes) {
  extern __shared__ __align__(1024) u8 tiles[];
  __shared__ tma::Gate full[kStages];
  constexpr int kA = 64 * 128, kB = Mma::kWidth * 128, kSize = sizeof(typename Mma::In);
  if (threadIdx.x == 0) {
    for (auto& gate : full) tma::open(&gate, 1);
    tma::made_visible();
  }
  __syncthreads();
  const auto fetch = [&](int step) {
    if (threadIdx.x != 0 || step * 128 >= row_bytes) return;
    u8* tile = tiles + step % kStages * (kA + kB);
    tma::expect(full + step % kStages, kA + kB);
    for (int i = 0; i < 128 / row; ++i) {
      const int x = (step * 128 + i * row) / kSize;
      tma::load_2d(tile + i * 64 * row, &a, x, blockIdx.y * 64, full + step % kStages);
      tma::load_2d(tile + kA + i * Mma::kWidth * row, &b, x, blockIdx.x * Mma::kWidth,
                   full + step % kStages);
    }
  };
  typename Mma::Sum sums[Mma::kSums] = {};
  for (int i = 0; i < kStages - 1; ++i) fetch(i);
  for (int step = 0; step * 128 < row_bytes; ++step) {
    fetch(step + kStages - 1);
    const u8* tile = tiles + step % kStages * (kA + kB);
    tma::wait(full + step % kStages, step / kStages % 2);
    group_fence();
    for (int k = 0; k < 128; k += 32) {
      const int box = k / row, inside = row == 16 ? 0 : k % row;
      Mma::add(sums, rows_of<row>(tile + box * 64 * row + inside, 64),
               rows_of<row>(tile + kA + box * Mma::kWidth * row + inside, Mma::kWidth));
    }
    group_commit();
    group_wait<0>();
    __syncthreads();
  }
  each<Mma>(sums, [&](int i, int j, typename Mma::Sum sum) {
    constexpr int kPair = Mma::kWidth / 2 / Mma::kSums;
    c[((blockIdx.y * 64 + i) * n + blockIdx.x * Mma::kWidth + j) / kPair] = sum;
  });
}

// B, or both, lie by the other dimension: 64 columns are a row of 128 bytes.
template <class Mma, bool both>
__global__ void turned(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                       float* c, int n, int k) {
  extern __shared__ __align__(1024) u8 tiles[];
  __shared__ tma::Gate full;
  if (threadIdx.x == 0) {
    tma::open(&full, 1);
    tma::made_visible();
  }
  __syncthreads();
  float sums[32] = {};
  for (int at = 0; at < k; at += 64) {
    if (threadIdx.x == 0) {
      tma::expect(&full, 2 * 64 * 128);
      if (both) tma::load_2d(tiles, &a, blockIdx.y * 64, at, &full);
      else tma::load_2d(tiles, &a, at, blockIdx.y * 64, &full);
      tma::load_2d(tiles + 64 * 128, &b, blockIdx.x * 64, at, &full);
    }
    tma::wait(&full, at / 64 % 2);
    group_fence();
    for (int i = 0; i < 4; ++i)
      Mma::add(sums,
               both ? describe(tiles + i * 2048, 64 * 128, 1024, 1)
                    : rows_of<128>(tiles + i * 32, 64),
               describe(tiles + 64 * 128 + i * 2048, 64 * 128, 1024, 1));
    group_commit();
    group_wait<0>();
    __syncthreads();
  }
  each<Mma>(sums, [&](int i, int j, float sum) {
    c[(blockIdx.y * 64 + i) * n + blockIdx.x * 64 + j] = sum;
  });
}

// A warp loads, two warpgroups compute 64 rows each and leave them to TMA; blocks of a cluster load
// A's tile for each other. They go over several tiles, or add parts of one.
enum class Ends { kStored, kAdded };
template <class Mma, Ends ends, int kBlocks>
__global__ void __launch_bounds__(384)
  specialized(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
              const __grid_constant__ CUtensorMap c, int tiles_of_columns, int row_bytes) {
  extern __shared__ __align__(1024) u8 memory[];
  constexpr int kStages = 3, kA = 128 * 128, kB = 64 * 128, kSize = sizeof(typename Mma::In);
  __shared__ tma::Gate full[kStages], empty[kStages];
  using Sum = typename Mma::Sum;
  Sum* out = reinterpret_cast<Sum*>(memory + kStages * (kA + kB));
  const u32 rank = kBlocks > 1 ? tma::cluster_rank() : 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) tma::open(full + i, 1), tma::open(empty + i, 2 * kBlocks);
    tma::made_visible();
  }
  if (kBlocks > 1) tma::cluster_sync();
  else __syncthreads();
  const int begin = ends == Ends::kAdded ? blockIdx.z * (row_bytes / 2) : 0,
            end = ends == Ends::kAdded ? begin + row_bytes / 2 : row_bytes;
  const int group = threadIdx.x / 128;
  int step = 0;
  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 256) {
      for (int tile = blockIdx.x; tile < tiles_of_columns; tile += gridDim.x) {
        for (int at = begin; at < end; at += 128, ++step) {
          const int slot = step % kStages;
          u8* to = memory + slot * (kA + kB);
          tma::wait(empty + slot, (step / kStages + 1) % 2);
          tma::expect(full + slot, kA + kB);
          if (kBlocks == 1) {
            tma::load_2d(to, &a, at / kSize, blockIdx.y * 128, full + slot);
          } else { // each block loads its part of A for all
            constexpr int kPart = 128 / kBlocks;
            tma::load_2d_for(to + rank * kPart * 128, &a, at / kSize,
                             blockIdx.y * 128 + rank * kPart, full + slot, (1 << kBlocks) - 1);
          }
          tma::load_2d(to + kA, &b, at / kSize, tile * 64, full + slot);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    for (int tile = blockIdx.x; tile < tiles_of_columns; tile += gridDim.x) {
      Sum sums[Mma::kSums] = {};
      for (int at = begin; at < end; at += 128, ++step) {
        const int slot = step % kStages;
        const u8* from = memory + slot * (kA + kB);
        tma::wait(full + slot, step / kStages % 2);
        group_fence();
        for (int k = 0; k < 128; k += 32)
          Mma::add(sums, rows_of<128>(from + group * 64 * 128 + k, 64),
                   rows_of<128>(from + kA + k, 64));
        group_commit();
        group_wait<0>();
        if (threadIdx.x % 128 < kBlocks) {
          if (kBlocks == 1) tma::arrive(empty + slot);
          else tma::arrive_at(empty + slot, threadIdx.x % 128);
        }
      }
      Sum* mine = out + group * 64 * 64;
      if (threadIdx.x % 128 == 0) tma::wait_read<0>();
      asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
      each<Mma>(sums, [&](int i, int j, Sum sum) { mine[i * 64 + j] = sum; });
      tma::proxy_fence();
      asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
      if (threadIdx.x % 128 == 0) {
        if (ends == Ends::kAdded) tma::add_2d(&c, mine, tile * 64, blockIdx.y * 128 + group * 64);
        else tma::store_2d(&c, mine, tile * 64, blockIdx.y * 128 + group * 64);
        tma::commit();
      }
    }
    if (threadIdx.x % 128 == 0) tma::wait_all();
  }
  if (kBlocks > 1) tma::cluster_sync();
}

// A comes from registers: what was loaded is scaled on its way.
__global__ void scaled_in_registers(const __grid_constant__ CUtensorMap b, const __half* a,
                                    float* c, int n, int k) {
  extern __shared__ __align__(1024) u8 tiles[];
  __shared__ tma::Gate full;
  if (threadIdx.x == 0) {
    tma::open(&full, 1);
    tma::made_visible();
  }
  __syncthreads();
  const int lane = threadIdx.x % 32, row = blockIdx.y * 64 + threadIdx.x / 32 * 16 + lane / 4;
  float sums[32] = {};
  for (int at = 0; at < k; at += 64) {
    if (threadIdx.x == 0) {
      tma::expect(&full, 64 * 128);
      tma::load_2d(tiles, &b, at, blockIdx.x * 64, &full);
    }
    u32 fa[4][4];
    for (int i = 0; i < 16; ++i) {
      const __half2 two = *reinterpret_cast<const __half2*>(
        a + (row + i % 2 * 8) * k + at + i / 4 * 16 + lane % 4 * 2 + i / 2 % 2 * 8);
      const __half2 scaled = __hmul2(two, __float2half2_rn(0.375f));
      fa[i / 4][i % 4] = *reinterpret_cast<const u32*>(&scaled);
    }
    tma::wait(&full, at / 64 % 2);
    group_fence();
    for (int i = 0; i < 4; ++i)
      add_from_registers(sums, fa[i], rows_of<128>(tiles + i * 32, 64), false);
    group_commit();
    group_wait<0>();
    __syncthreads();
  }
  each<HalfF32>(sums, [&](int i, int j, float sum) {
    c[(blockIdx.y * 64 + i) * n + blockIdx.x * 64 + j] = sum;
  });
}

// Attention: scores by one product, their powers in registers are A of the next one.
__global__ void attention(const __grid_constant__ CUtensorMap q,
                          const __grid_constant__ CUtensorMap k,
                          const __grid_constant__ CUtensorMap v, float* out, int keys,
                          bool causal) {
  extern __shared__ __align__(1024) u8 tiles[];
  __shared__ tma::Gate gate[3];
  u8 *tq = tiles, *tk = tiles + 8192, *tv = tiles + 8192 * 3;
  if (threadIdx.x == 0) {
    for (auto& each : gate) tma::open(&each, 1);
    tma::made_visible();
    tma::expect(gate + 2, 8192);
    tma::load_2d(tq, &q, 0, blockIdx.x * 64, gate + 2);
  }
  __syncthreads();
  const auto fetch = [&](int tile) {
    if (threadIdx.x != 0 || tile * 64 >= keys) return;
    tma::expect(gate + tile % 2, 16384);
    tma::load_2d(tk + tile % 2 * 8192, &k, 0, tile * 64, gate + tile % 2);
    tma::load_2d(tv + tile % 2 * 8192, &v, 0, tile * 64, gate + tile % 2);
  };
  const int lane = threadIdx.x % 32, row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + lane / 4;
  float acc[32] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {};
  fetch(0);
  tma::wait(gate + 2, 0);
  for (int tile = 0; tile * 64 < keys; ++tile) {
    fetch(tile + 1);
    tma::wait(gate + tile % 2, tile / 2 % 2);
    float x[32] = {};
    group_fence();
    for (int i = 0; i < 4; ++i)
      HalfF32::add(x, rows_of<128>(tq + i * 32, 64),
                   rows_of<128>(tk + tile % 2 * 8192 + i * 32, 64));
    group_commit();
    group_wait<0>();
    for (int r = 0; r < 2; ++r) {
      float m = most[r];
      const auto is_seen = [&](int i) {
        return !causal || tile * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2 <= row + r * 8;
      };
      for (int i = 2 * r; i < 32; i += i % 2 == 0 ? 1 : 3) {
        x[i] *= 0.0625f;
        if (is_seen(i)) m = fmaxf(m, x[i]);
      }
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
      const float scale = exact_exp2(most[r] - m);
      most[r] = m, sum[r] *= scale;
      for (int i = 2 * r; i < 32; i += i % 2 == 0 ? 1 : 3) {
        x[i] = is_seen(i) ? exact_exp2(x[i] - m) : 0.f;
        sum[r] += x[i], acc[i] *= scale;
      }
    }
    u32 p[4][4];
    for (int i = 0; i < 16; ++i) {
      const __half2 two = __floats2half2_rn(x[2 * i], x[2 * i + 1]);
      p[i / 4][i % 4] = *reinterpret_cast<const u32*>(&two);
    }
    group_fence();
    for (int i = 0; i < 4; ++i)
      add_from_registers(acc, p[i], describe(tv + tile % 2 * 8192 + i * 2048, 8192, 1024, 1), true);
    group_commit();
    group_wait<0>();
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    for (int i = 2 * r; i < 32; i += i % 2 == 0 ? 1 : 3)
      out[(row + r * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = acc[i] / sum[r];
  }
}

} // namespace warpgroups
