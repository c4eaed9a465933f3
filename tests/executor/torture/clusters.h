// SPDX-License-Identifier: Apache-2.0
// Clusters that reach each other's shared memory, and rings of bulk copies. It is one file because
// it is one list: a kernel of each kind.
#pragma once

#include "tma.h"

#include <cooperative_groups.h>

namespace clusters {

namespace cg = cooperative_groups;

__device__ inline u32 warp_sum(u32 x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// Each block leaves its sum in its first block's memory.
__global__ void sums(const u32* in, u32* out) {
  const auto cluster = cg::this_cluster();
  __shared__ u32 parts[16], warps[4];
  const u32 sum = warp_sum(in[global_index()]);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    cluster.map_shared_rank(parts, 0)[cluster.block_rank()] =
      warps[0] + warps[1] + warps[2] + warps[3];
  cluster.sync();
  if (cluster.block_rank() != 0 || threadIdx.x != 0) return;
  u32 total = 0;
  for (u32 i = 0; i < cluster.num_blocks(); ++i) total = total * 3 + parts[i];
  out[blockIdx.x / cluster.num_blocks()] = total;
}

// The largest of a row, its sum of powers, and the row over it, a part of the row a block.
__global__ void softmax(const float* in, float* out, int each) {
  const auto cluster = cg::this_cluster();
  __shared__ float most, sum, scratch[4];
  const float* row = in + blockIdx.x * each;
  const auto all = [&](float x, auto f) {
    for (int step = 16; step > 0; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = f(f(scratch[0], scratch[1]), f(scratch[2], scratch[3]));
    __syncthreads();
    return x;
  };
  float x = row[threadIdx.x];
  for (int i = threadIdx.x + 128; i < each; i += 128) x = fmaxf(x, row[i]);
  x = all(x, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) most = x;
  cluster.sync();
  for (u32 i = 0; i < cluster.num_blocks(); ++i) x = fmaxf(x, *cluster.map_shared_rank(&most, i));
  float part = 0;
  for (int i = threadIdx.x; i < each; i += 128) part += exact_exp2(row[i] - x);
  part = all(part, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) sum = part;
  cluster.sync();
  part = 0;
  for (u32 i = 0; i < cluster.num_blocks(); ++i) part += *cluster.map_shared_rank(&sum, i);
  for (int i = threadIdx.x; i < each; i += 128)
    out[blockIdx.x * each + i] = exact_exp2(row[i] - x) / part;
  cluster.sync();
}

// Bins are spread over the blocks.
__global__ void histogram(const u16* in, u32* out, int count) {
  const auto cluster = cg::this_cluster();
  __shared__ u32 bins[256];
  bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = threadIdx.x; i < count; i += 256) {
    const u32 bin = in[blockIdx.x * count + i] % (256 * cluster.num_blocks());
    atomicAdd(cluster.map_shared_rank(bins, bin / 256) + bin % 256, 1);
  }
  cluster.sync();
  out[blockIdx.x * 256 + threadIdx.x] = bins[threadIdx.x];
}

__global__ void scan(const u32* in, u32* out) {
  const auto cluster = cg::this_cluster();
  __shared__ u32 values[128];
  u32 sum = in[global_index()];
  values[threadIdx.x] = sum;
  for (int step = 1; step < 128; step *= 2) {
    __syncthreads();
    const u32 left = threadIdx.x >= step ? values[threadIdx.x - step] : 0;
    __syncthreads();
    values[threadIdx.x] = sum += left;
  }
  cluster.sync();
  for (u32 i = 0; i < cluster.block_rank(); ++i) sum += cluster.map_shared_rank(values, i)[127];
  out[global_index()] = sum;
  cluster.sync();
}

// Words go round a ring by st.async, which counts at the receiver's mbarrier.
__global__ void ring(const u32* in, u32* out, int rounds) {
  __shared__ u32 inbox[2][64];
  __shared__ tma::Gate full[2];
  const u32 rank = tma::cluster_rank(), next = (rank + 1) % tma::cluster_size();
  if (threadIdx.x == 0) {
    for (auto& gate : full) {
      tma::open(&gate, 1);
      tma::expect(&gate, 256);
    }
    tma::made_visible();
  }
  tma::cluster_sync();
  u32 mine = in[global_index()];
  for (int i = 0; i < rounds; ++i) {
    asm volatile(
      "{ .reg .b32 a, b; mapa.shared::cluster.u32 a, %0, %3; mapa.shared::cluster.u32 b, %2, %3; "
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [a], %1, [b]; }" ::"r"(
        shared_address(&inbox[i % 2][threadIdx.x])),
      "r"(mine * 5 + rank), "r"(shared_address(full + i % 2)), "r"(next)
      : "memory");
    tma::wait(full + i % 2, i / 2 % 2);
    mine = inbox[i % 2][63 - threadIdx.x];
    tma::cluster_sync(); // all have read
    if (threadIdx.x == 0) tma::expect(full + i % 2, 256);
    tma::cluster_sync();
  }
  out[global_index()] = mine;
  tma::cluster_sync();
}

// Each block loads a part for all of them.
__global__ void shared_loads(const u32* in, u32* out) {
  __shared__ alignas(128) u32 all[4][64];
  __shared__ tma::Gate full;
  const u32 rank = tma::cluster_rank();
  if (threadIdx.x == 0) {
    tma::open(&full, 1);
    tma::made_visible();
    tma::expect(&full, sizeof all);
  }
  tma::cluster_sync();
  if (threadIdx.x == 0)
    asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" ::
        "r"(shared_address(all[rank])),
      "l"(in + (blockIdx.x / 4 * 4 + rank) * 64), "r"(shared_address(&full)), "h"(u16(15))
      : "memory");
  tma::wait(&full, 0);
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) sum = sum * 7 + all[(i + rank) % 4][threadIdx.x];
  out[global_index()] = sum;
  tma::cluster_sync();
}

// From shared memory to that of a neighbour, by a bulk copy.
__global__ void to_neighbour(const u32* in, u32* out) {
  __shared__ alignas(128) u32 mine[128], theirs[128];
  __shared__ tma::Gate full;
  const u32 rank = tma::cluster_rank();
  if (threadIdx.x == 0) {
    tma::open(&full, 1);
    tma::made_visible();
    tma::expect(&full, sizeof theirs);
  }
  mine[threadIdx.x] = in[global_index()] + rank;
  tma::proxy_fence();
  tma::cluster_sync();
  if (threadIdx.x == 0)
    asm volatile(
      "{ .reg .b32 a, b; mapa.shared::cluster.u32 a, %0, %3; mapa.shared::cluster.u32 b, %2, %3; "
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [a], [%1], 512, [b]; }" ::
        "r"(shared_address(theirs)),
      "r"(shared_address(mine)), "r"(shared_address(&full)), "r"((rank + 1) % tma::cluster_size())
      : "memory");
  tma::wait(&full, 0);
  out[global_index()] = theirs[127 - threadIdx.x];
  tma::cluster_sync();
}

// Bytes in a ring of stages: a warp brings them, others change them, and they go back.
template <int kStages> __global__ void through(const u32* in, u32* out, int chunks) {
  __shared__ alignas(128) u32 from[kStages][256], to[kStages][256];
  __shared__ tma::Gate full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) tma::open(full + i, 1), tma::open(empty + i, 256);
    tma::made_visible();
  }
  __syncthreads();
  if (threadIdx.x >= 256) {
    if (threadIdx.x != 256) return;
    for (int i = 0; i < chunks; ++i) {
      if (i >= kStages) tma::wait(empty + i % kStages, (i / kStages + 1) % 2);
      tma::expect(full + i % kStages, 1024);
      tma::load_bytes(from[i % kStages], in + (blockIdx.x * chunks + i) * 256, 1024,
                      full + i % kStages);
    }
    return;
  }
  for (int i = 0; i < chunks; ++i) {
    const int slot = i % kStages;
    tma::wait(full + slot, i / kStages % 2);
    const u32 value = __brev(from[slot][255 - threadIdx.x]) + i;
    tma::arrive(empty + slot);
    if (threadIdx.x == 0) tma::wait_read<kStages - 1>();
    asm volatile("bar.sync 1, 256;" ::: "memory");
    to[slot][threadIdx.x] = value;
    tma::proxy_fence();
    asm volatile("bar.sync 1, 256;" ::: "memory");
    if (threadIdx.x == 0) {
      tma::store_bytes(out + (blockIdx.x * chunks + i) * 256, to[slot], 1024);
      tma::commit();
    }
  }
  if (threadIdx.x == 0) tma::wait_all();
}

// A tile with its border comes in one box; what lies outside is 0.
__global__ void stencil_2d(const __grid_constant__ CUtensorMap in,
                           const __grid_constant__ CUtensorMap out) {
  __shared__ alignas(128) int tile[18][36], result[16][32];
  __shared__ tma::Gate full;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    tma::open(&full, 1);
    tma::made_visible();
    tma::expect(&full, sizeof tile);
    tma::load_2d(tile, &in, static_cast<int>(blockIdx.x) * 32 - 4,
                 static_cast<int>(blockIdx.y) * 16 - 1, &full);
  }
  __syncthreads();
  tma::wait(&full, 0);
  const int x = threadIdx.x + 4;
  for (int y = threadIdx.y; y < 16; y += 4)
    result[y][threadIdx.x] = tile[y + 1][x - 1] - 2 * tile[y][x] + 3 * tile[y + 2][x] -
                             4 * tile[y + 1][x - 4] + tile[y + 1][x];
  tma::proxy_fence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    tma::store_2d(&out, result, blockIdx.x * 32, blockIdx.y * 16);
    tma::commit();
    tma::wait_all();
  }
}

__global__ void stencil_3d(const __grid_constant__ CUtensorMap in, float* out, int n) {
  __shared__ alignas(128) float tile[6][6][12];
  __shared__ tma::Gate full;
  const int x0 = blockIdx.x * 4, y0 = blockIdx.y * 4, z0 = blockIdx.z * 4;
  if (threadIdx.x == 0) {
    tma::open(&full, 1);
    tma::made_visible();
    tma::expect(&full, sizeof tile);
    tma::load_3d(tile, &in, x0 - 4, y0 - 1, z0 - 1, &full);
  }
  __syncthreads();
  tma::wait(&full, 0);
  const int x = threadIdx.x % 4, y = threadIdx.x / 4 % 4, z = threadIdx.x / 16;
  float sum = -6 * tile[z + 1][y + 1][x + 4];
  sum += tile[z][y + 1][x + 4] + tile[z + 2][y + 1][x + 4];
  sum += tile[z + 1][y][x + 4] + tile[z + 1][y + 2][x + 4];
  sum += tile[z + 1][y + 1][x + 3] + tile[z + 1][y + 1][x + 5];
  out[((z0 + z) * n + y0 + y) * n + x0 + x] = sum;
}

// Turned with a swizzle of 128 bytes: rows of 32 words lie in another order in each of eight rows.
__global__ void swizzled_turn(const __grid_constant__ CUtensorMap in, u32* out, int h) {
  __shared__ alignas(1024) u32 tile[32 * 32];
  __shared__ tma::Gate full;
  if (threadIdx.x == 0) {
    tma::open(&full, 1);
    tma::made_visible();
    tma::expect(&full, sizeof tile);
    tma::load_2d(tile, &in, blockIdx.x * 32, blockIdx.y * 32, &full);
  }
  __syncthreads();
  tma::wait(&full, 0);
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
    const int x = i / 32, y = i % 32;
    out[(blockIdx.x * 32 + x) * h + blockIdx.y * 32 + y] =
      tile[y * 32 + ((x / 4 ^ y % 8) * 4 + x % 4)];
  }
}

// Sums, smallest and bits go to memory by bulk reductions; blocks come in any order.
__global__ void reductions(const u32* in, u32* out) {
  __shared__ alignas(128) u32 parts[3][128];
  for (int i = 0; i < 3; ++i) parts[i][threadIdx.x] = in[global_index()] >> i;
  tma::proxy_fence();
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile(
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 512;" ::"l"(out),
    "r"(shared_address(parts[0]))
    : "memory");
  asm volatile(
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%0], [%1], 512;" ::"l"(out + 128),
    "r"(shared_address(parts[1]))
    : "memory");
  asm volatile(
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%0], [%1], 512;" ::"l"(out + 256),
    "r"(shared_address(parts[2]))
    : "memory");
  tma::commit();
  tma::wait_all();
}

template <class K> void test_words(const char* name, K kernel, int blocks, int threads,
                                   unsigned cluster, std::size_t out_words) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<u32> in(torture::operands<u32>(blocks * threads, 121));
  torture::Array<u32> out(out_words);
  torture::launch(kernel, blocks, threads, 0, cluster, in.get(), out.get());
  torture::compare(name, out);
}
template <int kStages> void test_through(const char* name) {
  const torture::Array<u32> in(torture::operands<u32>(3 * 11 * 256, 122));
  torture::Array<u32> out(3 * 11 * 256);
  through<kStages><<<3, 288>>>(in, out, 11);
  torture::compare(name, out);
}

inline void test_tensors() {
  constexpr int kW = 100, kH = 50;
  const torture::Array<int> in(torture::numbers_below<int>(kW * kH, 123, 1000));
  torture::Array<int> out(kW * kH);
  const auto plane = [&](const int* memory, u32 w, u32 h) {
    return tma::map_of(memory, CU_TENSOR_MAP_DATA_TYPE_INT32, {{kW, kH}, {kW * 4}, {w, h}});
  };
  stencil_2d<<<dim3(4, 4), dim3(32, 4)>>>(plane(in, 36, 18), plane(out, 32, 16));
  torture::compare("tensor.stencil", out);
  const torture::Array<float> volume(torture::operands<float>(16 * 16 * 16, 124));
  torture::Array<float> result(16 * 16 * 16);
  stencil_3d<<<dim3(4, 4, 4), 64>>>(
    tma::map_of(volume, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, {{16, 16, 16}, {64, 1024}, {12, 6, 6}}),
    result, 16);
  torture::compare("tensor.stencil in three dimensions", result);
  const torture::Array<u32> words(torture::operands<u32>(96 * 64, 125));
  torture::Array<u32> turned_words(96 * 64), reduced(3 * 128);
  swizzled_turn<<<dim3(3, 2), 128>>>(
    tma::map_of(words, CU_TENSOR_MAP_DATA_TYPE_UINT32,
                {{96, 64}, {96 * 4}, {32, 32}, CU_TENSOR_MAP_SWIZZLE_128B}),
    turned_words, 64);
  torture::compare("tensor.turned", turned_words);
  OK(cudaMemset(reduced, 0xff, 3 * 512));
  reductions<<<9, 128>>>(words, reduced);
  torture::compare("bulk.reductions", reduced);
}

inline void test() {
  test_words("cluster.sums of 2", sums, 8, 128, 2, 4);
  test_words("cluster.sums of 8", sums, 16, 128, 8, 2);
  test_words("cluster.scan", scan, 12, 128, 4, 12 * 128);
  test_words("cluster.shared loads", shared_loads, 8, 64, 4, 512);
  test_words("cluster.to a neighbour", to_neighbour, 6, 128, 3, 768);
  const torture::Array<float> rows(torture::operands<float>(8 * 500, 126));
  torture::Array<float> out(8 * 500);
  torture::launch(softmax, 8, 128, 0, 4, rows.get(), out.get(), 500);
  torture::compare("cluster.softmax", out);
  const torture::Array<u16> shorts(torture::operands<u16>(8 * 1000, 127));
  torture::Array<u32> bins(8 * 256), words(6 * 64);
  torture::launch(histogram, 8, 256, 0, 4, shorts.get(), bins.get(), 1000);
  torture::compare("cluster.histogram", bins);
  const torture::Array<u32> in(torture::operands<u32>(6 * 64, 128));
  torture::launch(ring, 6, 64, 0, 3, in.get(), words.get(), 5);
  torture::compare("cluster.ring", words);
  test_through<2>("bulk.through 2 stages");
  test_through<4>("bulk.through 4 stages");
  test_tensors();
}

} // namespace clusters
