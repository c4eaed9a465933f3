// SPDX-License-Identifier: Apache-2.0
// Races that an order of blocks hides where one runs after the other, or that a barrier, an atomic or equal values hide,
// each with its right twin. The right ones are silent in three orders.
//
// compute capability: 90
// run: racy
// device: simulated
// expect: error global-race line=LINE(one_thread_waits)
// expect: error global-race line=LINE(one_lane_waits)
// expect: error global-race line=LINE(row_too_early)
// expect: error global-race line=LINE(not_taken_yet)
// expect: error global-race line=LINE(every_second_barrier)
// expect: error global-race line=LINE(zeroed_by_one_block)
// expect: error global-race line=LINE(bins_zeroed_by_one_block)
// expect: error global-race line=LINE(counter_reset)
// expect: error global-race line=LINE(counted_for_the_cluster)
// expect: error global-race line=LINE(released_to_the_cluster)
// expect: error global-race line=LINE(fence_for_the_cluster)
// expect: error global-race line=LINE(sum_by_volatile)
// expect: error global-race line=LINE(sum_past_the_cache)
// expect: error global-race line=LINE(queue_of_blocks)
// expect: error global-race line=LINE(queue_of_warps)
// expect: error shared-race line=LINE(zeroed_behind_a_barrier_of_the_block)
// expect: error shared-race line=LINE(read_behind_a_barrier_of_the_block)
// expect: error shared-race line=LINE(equal_by_the_data)
// run: right-0
// device: simulated
// expect: clean
// run: right-1
// device: simulated
// options: --device-seed 1
// expect: clean
// run: right-2
// device: simulated
// options: --device-seed 2
// expect: clean
#include <cooperative_groups.h>
#include <cuda/atomic>

#include "race_grid.h" // behind the others, as its names are short

namespace cg = cooperative_groups;

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

__device__ void await(int* flag, int least)
{
  while (atomicAdd(flag, 0) < least) {}
  __threadfence();
}
__device__ void raise(int* flag)
{
  __threadfence();
  atomicAdd(flag, 1);
}

template <bool ok>
__global__ void one_thread_waits(int* a, int* b)
{
  if (B > 1) return;
  if (B == 0) a[64 + T] = T; // @one_thread_waits
  __syncthreads();
  if (B == 0 && T == 0) raise(a);
  if (B == 1 && T == 0) await(a, 1);
  if (ok) __syncthreads();
  if (B == 1) b[T] = a[64 + T];
}

template <bool ok>
__global__ void one_lane_waits(int* a, int* b)
{
  if (B > 1 || T >= 32) return;
  if (B == 0) a[64 + T] = T; // @one_lane_waits
  __syncwarp();
  if (B == 0 && T == 0) raise(a);
  if (B == 1 && T == 0) await(a, 1);
  if (ok) __syncwarp();
  if (B == 1) b[T] = a[64 + T];
}

// Each block makes a row out of the one of the block before it.
template <bool ok>
__global__ void row_too_early(int* a, int* b)
{
  if (T != 0) return;
  for (int i = 0; i < 3; ++i) {
    if (B != 0) await(&a[B - 1], ok ? i + 1 : i);
    const int above = B == 0 ? 0 : a[60 + B * 4 + i];
    a[64 + B * 4 + i] = above + i; // @row_too_early
    raise(&a[B]);
  }
}

template <bool ok>
__global__ void not_taken_yet(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  for (int i = 0; i < 3; ++i) {
    if (B == 0 && ok) await(&a[1], i);
    if (B == 0) a[64] = i; // @not_taken_yet
    if (B == 1) await(&a[0], i + 1);
    if (B == 1) b[i] = a[64];
    raise(&a[B]);
  }
}

template <bool ok>
__global__ void every_second_barrier(int* a, int* b)
{
  for (int i = 0; i < 4; ++i) {
    int* const from = i % 2 == 0 ? a : b;
    int* const to = i % 2 == 0 ? b : a;
    to[I] = from[(I + N) % G] + 1; // @every_second_barrier
    if (ok || i % 2 == 0) cg::this_grid().sync();
    else __syncthreads();
  }
}

template <bool ok>
__global__ void zeroed_by_one_block(int* a, int* b)
{
  if (I == 0) a[0] = 0; // @zeroed_by_one_block
  if (ok) cg::this_grid().sync();
  else __syncthreads();
  atomicAdd(a, 1);
}

template <bool ok>
__global__ void bins_zeroed_by_one_block(int* a, int* b)
{
  if (I < 16) a[I] = 0; // @bins_zeroed_by_one_block
  if (ok) cg::this_grid().sync();
  else __syncthreads();
  atomicAdd(&a[I % 16], 1);
}

template <bool ok>
__global__ void counter_reset(int* a, int* b)
{
  const auto grid = cg::this_grid();
  atomicAdd(a, 1);
  grid.sync();
  const int count = a[0];
  if (ok) grid.sync();
  if (I == 0) a[0] = 0; // @counter_reset
  if (I < count) b[I] = I;
}

template <bool ok>
__global__ void __cluster_dims__(2) counted_for_the_cluster(int* a, int* b)
{
  int* const counter = ok ? a + B / 2 : a;
  asm volatile("red.relaxed.cluster.global.add.s32 [%0], 1;" ::"l"(counter) : "memory"); // @counted_for_the_cluster
}

template <bool ok>
__global__ void __cluster_dims__(2) released_to_the_cluster(int* a, int* b)
{
  if (T != 0 || B == 3) return;
  if (B == 0) a[64] = 4;
  if (B == 0) asm volatile("st.release.cluster.global.s32 [%0], 1;" ::"l"(a) : "memory"); // @released_to_the_cluster
  if (B != (ok ? 1 : 2)) return;
  while (Flag(a[0]).load(cuda::memory_order_acquire) == 0) {}
  b[0] = a[64];
}

template <bool ok>
__global__ void fence_for_the_cluster(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  if (B == 0) a[64] = 4; // @fence_for_the_cluster
  if (B == 0 && ok) asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if (B == 0 && !ok) asm volatile("fence.acq_rel.cluster;" ::: "memory"); // each cluster is a block
  if (B == 0) Flag(a[0]).store(1, cuda::memory_order_relaxed);
  while (B == 1 && Flag(a[0]).load(cuda::memory_order_acquire) == 0) {}
  if (B == 1) b[0] = a[64];
}

template <bool ok>
__global__ void __cluster_dims__(2) zeroed_behind_a_barrier_of_the_block(int* a, int* b)
{
  __shared__ int sum;
  const auto cluster = cg::this_cluster();
  if (T == 0) sum = 0;
  if (ok) cluster.sync();
  else __syncthreads();
  atomicAdd(cluster.map_shared_rank(&sum, 0), 1); // @zeroed_behind_a_barrier_of_the_block
  cluster.sync();
  b[I] = sum;
}

template <bool ok>
__global__ void __cluster_dims__(2) read_behind_a_barrier_of_the_block(int* a, int* b)
{
  __shared__ int sum;
  const auto cluster = cg::this_cluster();
  if (T == 0) sum = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&sum, 0), 1);
  if (ok) cluster.sync();
  else __syncthreads();
  if (cluster.block_rank() == 0) b[I] = sum; // @read_behind_a_barrier_of_the_block
  cluster.sync();
}

// The one of several values is the same as the other in this run alone.
template <bool ok>
__global__ void equal_by_the_data(int* a, int* b)
{
  __shared__ int value;
  if (T == 0) value = 5;
  if (ok) __syncthreads();
  if (T == 32) value = a[0] + 5; // @equal_by_the_data
  __syncthreads();
  b[I] = value;
}

// The last block adds up what all have stored. It reads each value once, so it polls nothing.
template <bool ok>
__global__ void sum_by_volatile(int* a, int* b)
{
  __shared__ bool is_last;
  if (T == 0) {
    a[64 + B] = B; // @sum_by_volatile
    if (ok) __threadfence();
    is_last = atomicAdd(a, 1) == gridDim.x - 1;
    if (ok) __threadfence();
  }
  __syncthreads();
  if (!is_last || T != 0) return;
  int sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += ((volatile int*)a)[64 + i];
  b[0] = sum;
}

template <bool ok>
__global__ void sum_past_the_cache(int* a, int* b)
{
  __shared__ bool is_last;
  if (T == 0) {
    a[64 + B] = B; // @sum_past_the_cache
    if (ok) __threadfence();
    is_last = atomicAdd(a, 1) == gridDim.x - 1;
    if (ok) __threadfence();
  }
  __syncthreads();
  if (is_last && T < gridDim.x) b[T] = __ldcg(&a[64 + T]) * 3;
}

// Blocks take one piece of work after the other, and each piece leaves two more until there are enough.
// a[0]: the next to take, a[1]: behind the last one, a[2]: how many are not done. The first is there from the start.
template <bool ok>
__global__ void queue_of_blocks(int* a, int* b)
{
  __shared__ int taken;
  while (true) {
    if (T == 0) {
      taken = -1;
      const int at = atomicAdd(&a[0], 1);
      while (at != 0 && at < 40 && atomicAdd(&a[64 + at], 0) == 0 && atomicAdd(&a[2], 0) < 20) __nanosleep(20);
      if (at == 0 || (at < 40 && atomicAdd(&a[64 + at], 0) != 0)) taken = at;
      if (ok) __threadfence();
    }
    __syncthreads();
    const int at = taken;
    __syncthreads();
    if (at < 0) return;
    const int value = at == 0 ? 1 : b[64 + at];
    if (T < 2) {
      const int to = atomicAdd(&a[1], 1) + 1;
      if (to < 40) {
        b[64 + to] = value + T; // @queue_of_blocks
        if (ok) __threadfence();
        atomicExch(&a[64 + to], 1);
      }
    }
    __syncthreads();
    if (T == 0) atomicAdd(&a[2], 1);
  }
}

// A warp marks what it takes, and looks what the one before it has left there.
template <bool ok>
__global__ void queue_of_warps(int* a, int* b)
{
  while (true) {
    int at = 0;
    if (T % 32 == 0) at = atomicAdd(a, 1);
    at = __shfl_sync(~0u, at, 0);
    if (at >= 24) return;
    if (ok) b[64 + at * 32 + T % 32] = at;
    else b[64 + at / 2 * 32 + T % 32] = at; // @queue_of_warps
  }
}

template <bool ok>
static void run_all()
{
  run(one_thread_waits<ok>);
  run(one_lane_waits<ok>);
  run(row_too_early<ok>);
  run(not_taken_yet<ok>);
  run(every_second_barrier<ok>);
  run(zeroed_by_one_block<ok>);
  run(bins_zeroed_by_one_block<ok>);
  run(counter_reset<ok>);
  run(counted_for_the_cluster<ok>);
  run(released_to_the_cluster<ok>);
  run(fence_for_the_cluster<ok>);
  run(sum_by_volatile<ok>);
  run(sum_past_the_cache<ok>);
  run(queue_of_blocks<ok>);
  run(queue_of_warps<ok>);
  run(zeroed_behind_a_barrier_of_the_block<ok>);
  run(read_behind_a_barrier_of_the_block<ok>);
  run(equal_by_the_data<ok>);
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "racy")) run_all<false>();
  else run_all<true>();
}
