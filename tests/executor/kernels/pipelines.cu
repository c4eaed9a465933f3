// SPDX-License-Identifier: Apache-2.0
// Copies that go on while threads work, by the classes of libcu++: pipelines with roles and
// without, a barrier that counts bytes, and sums that come into another block's memory.
#include "torture.h"

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

#include <algorithm>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using u64 = std::uint64_t;

// Half of the threads bring tiles, the others take them.
__global__ void by_roles(const int4* in, int4* out, int tiles) {
  constexpr int kDepth = 2, kHalf = 64;
  __shared__ int4 stage[kDepth][kHalf];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kDepth> state;
  const bool brings = threadIdx.x < kHalf;
  auto pipe =
    cuda::make_pipeline(cg::this_thread_block(), &state,
                        brings ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int i = threadIdx.x % kHalf;
  for (int t = 0; t < tiles; ++t) {
    const int at = (blockIdx.x * tiles + t) * kHalf + i;
    if (brings) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stage[t % kDepth][i], in + at, cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      const int4 v = stage[t % kDepth][kHalf - 1 - i];
      out[at] = make_int4(v.w, v.z, v.y, v.x);
      pipe.consumer_release();
    }
  }
}

// Sums of five, of tiles that the block brings while it works on the one before. The last is
// ragged.
__global__ void by_all(const float* in, float* out, int n) {
  constexpr int kTile = 128, kEdge = 2, kRow = kTile + 2 * kEdge;
  __shared__ float tiles[2][kRow];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const auto bring = [&](int begin, int slot) {
    pipe.producer_acquire();
    const int from = max(begin - kEdge, 0), to = min(begin + kTile + kEdge, n);
    cuda::memcpy_async(block, tiles[slot] + (from - (begin - kEdge)), in + from,
                       sizeof(float) * (to - from), pipe);
    pipe.producer_commit();
  };
  const int step = gridDim.x * kTile;
  int begin = blockIdx.x * kTile, slot = 0;
  if (begin < n) bring(begin, slot);
  for (; begin < n; begin += step, slot ^= 1) {
    if (begin + step < n) bring(begin + step, slot ^ 1);
    pipe.consumer_wait();
    const int i = begin + static_cast<int>(threadIdx.x);
    float sum = 0;
    for (int k = -kEdge; k <= kEdge; ++k)
      if (i < n && i + k >= 0 && i + k < n) sum += tiles[slot][threadIdx.x + kEdge + k];
    if (i < n) out[i] = sum;
    pipe.consumer_release();
  }
}

// One thread brings a tile; the barrier waits for all threads and for the bytes.
__global__ void counted_bytes(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  constexpr int kTile = 512, kRounds = 3;
  __shared__ alignas(128) int tile[kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int r = 0; r < kRounds; ++r) {
    const int at = (blockIdx.x * kRounds + r) * kTile;
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
      cuda::device::memcpy_async_tx(tile, in + at, cuda::aligned_size_t<16>(sizeof tile), barrier);
      token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
    } else {
      token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    for (int i = threadIdx.x; i < kTile; i += blockDim.x) out[at + i] = tile[kTile - 1 - i];
    __syncthreads();
  }
}

// Each block of a cluster adds its numbers to those of the first one, by a bulk reduction.
__global__ void __cluster_dims__(4, 1, 1) sums_there(int* out) {
  constexpr int kCount = 128;
  __shared__ alignas(128) int mine[kCount], total[kCount];
  __shared__ alignas(8) u64 object;
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int i = threadIdx.x;
  mine[i] = i * static_cast<int>(rank + 1) - 50;
  total[i] = 1000;
  if (i == 0) {
    ptx::mbarrier_init(&object, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    if (rank == 0)
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &object,
                                     4 * sizeof mine);
  }
  ptx::fence_proxy_async(ptx::space_shared);
  cluster.sync();
  if (i == 0)
    ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_add,
                              cluster.map_shared_rank(total, 0), mine, sizeof mine,
                              cluster.map_shared_rank(&object, 0));
  if (rank == 0) {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &object, 0)) {
    }
    out[blockIdx.x / 4 * kCount + i] = total[i];
  }
  cluster.sync();
}

// A number goes round a ring of blocks, and grows: st.async brings it, and counts at its receiver.
__global__ void __cluster_dims__(8, 1, 1) round_ring(const int* in, int* out) {
  __shared__ alignas(8) u64 object;
  __shared__ int got[32];
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % 8;
  const int i = threadIdx.x;
  const auto receive = [&] {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &object, 0)) {
    }
    return got[i];
  };
  if (i == 0) {
    ptx::mbarrier_init(&object, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &object,
                                   sizeof got);
  }
  cluster.sync();
  int sum = in[global_index()];
  if (rank != 0) sum += receive();
  ptx::st_async(cluster.map_shared_rank(got + i, next), sum,
                cluster.map_shared_rank(&object, next));
  if (rank == 0) out[blockIdx.x / 8 * 32 + i] = receive();
  cluster.sync();
}

void test_roles() {
  constexpr int kBlocks = 4, kTiles = 7, kHalf = 64;
  const auto words = torture::numbers<int>(kBlocks * kTiles * kHalf * 4, 1);
  const torture::Array<int> in(words);
  const torture::Array<int> out(words.size());
  by_roles<<<kBlocks, 2 * kHalf>>>(reinterpret_cast<const int4*>(in.get()),
                                   reinterpret_cast<int4*>(out.get()), kTiles);
  std::vector<int> want = words; // each tile backwards
  for (auto tile = want.begin(); tile != want.end(); tile += kHalf * 4)
    std::reverse(tile, tile + kHalf * 4);
  torture::expect("pipeline by roles", out, want);
}

void test_all() {
  constexpr int kCount = 5001;
  const auto numbers = torture::numbers_below<float>(kCount, 2, 64);
  const torture::Array<float> in(numbers), out(kCount);
  by_all<<<5, 128>>>(in, out, kCount);
  std::vector<float> want(kCount);
  for (int i = 0; i < kCount; ++i)
    for (int k = std::max(i - 2, 0); k <= std::min(i + 2, kCount - 1); ++k) want[i] += numbers[k];
  torture::expect("pipeline of all", out, want);
}

void test_bytes() {
  constexpr int kTiles = 6, kTile = 512;
  const auto numbers = torture::numbers<int>(kTiles * kTile, 3);
  const torture::Array<int> in(numbers), out(kTiles * kTile);
  counted_bytes<<<2, 64>>>(in, out);
  std::vector<int> want = numbers;
  for (auto tile = want.begin(); tile != want.end(); tile += kTile)
    std::reverse(tile, tile + kTile);
  torture::expect("counted bytes", out, want);
}

void test_clusters() {
  const torture::Array<int> totals(2 * 128), rounds(2 * 32);
  sums_there<<<8, 128>>>(totals);
  std::vector<int> want(2 * 128);
  for (int i = 0; i < 2 * 128; ++i) want[i] = 1000 + i % 128 * 10 - 200;
  torture::expect("sums in another block", totals, want);
  const auto numbers = torture::numbers_below<int>(16 * 32, 4, 1000);
  const torture::Array<int> in(numbers);
  round_ring<<<16, 32>>>(in, rounds);
  std::vector<int> sums(2 * 32);
  for (int i = 0; i < 16 * 32; ++i) sums[i / 256 * 32 + i % 32] += numbers[i];
  torture::expect("round a ring", rounds, sums);
}

int main() {
  test_roles();
  test_all();
  test_bytes();
  test_clusters();
  return torture::finish();
}
