// SPDX-License-Identifier: Apache-2.0
// Races of kinds that public collections of tests for race checkers have, each with its right twin: scopes, locks, flags,
// shared memory that is used again, overlapping stores, missing barriers. The right ones are silent in five orders. It is one
// file because it is one list, as race_patterns.cu is.
//
// compute capability: 90
// run: racy
// device: simulated
// expect: error shared-race line=LINE(last_warp)
// expect: error global-race line=LINE(lock_of_the_block)
// expect: error global-race line=LINE(taken_for_the_block)
// expect: error global-race line=LINE(double_checked)
// expect: error global-race line=LINE(unlocked_by_a_store)
// expect: error global-race line=LINE(under_such_a_lock)
// expect: error shared-race line=LINE(tile_of_a_loop)
// expect: error shared-race line=LINE(bit_fields)
// expect: error global-race line=LINE(pixels_of_three)
// expect: error global-race line=LINE(marked_once)
// expect: error global-race line=LINE(pulled)
// expect: error shared-race line=LINE(sum_read_by_all)
// expect: error shared-race line=LINE(shared_bins)
// expect: error shared-race line=LINE(base_of_a_warp)
// expect: error shared-race line=LINE(arrived_too_early)
// expect: error shared-race line=LINE(used_before_the_wait)
// expect: error shared-race line=LINE(bins_of_a_cluster)
// expect: error global-race line=LINE(last_block_unsynced)
// expect: error shared-race line=LINE(last_without_a_barrier)
// expect: warning kernel-uninitialized-read line=LINE(last_without_a_barrier)
// expect: error global-race line=LINE(fragments)
// expect: error shared-race line=LINE(storage_used_again)
// expect: error global-race line=LINE(pair_and_half)
// expect: error global-race line=LINE(memory_of_the_heap)
// expect: error global-race line=LINE(used_as_handed)
// expect: error global-race line=LINE(freed_as_handed)
// expect: error global-race line=LINE(time_as_a_barrier)
// expect: error global-race line=LINE(index_twice)
// expect: error global-race line=LINE(red_and_black)
// expect: error global-race line=LINE(add_by_hand)
// expect: error shared-race line=LINE(minimum_of_a_block)
// expect: error global-race line=LINE(size_is_reset)
// expect: error global-race line=LINE(scopes_of_two_kinds)
// expect: error shared-race line=LINE(vote_as_a_barrier)
// expect: error global-race line=LINE(body_and_mass)
// expect: error global-race line=LINE(petersons_lock)
// expect: error global-race line=LINE(jumped)
// run: right-0
// device: simulated
// options: --device-seed 0
// expect: clean
// run: right-1
// device: simulated
// options: --device-seed 1
// expect: clean
// run: right-2
// device: simulated
// options: --device-seed 2
// expect: clean
// run: right-3
// device: simulated
// options: --device-seed 3
// expect: clean
// run: right-4
// device: simulated
// options: --device-seed 4
// expect: clean
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_fp16.h>
#include <mma.h>

#include "race_grid.h" // behind the others, as its names are short

#pragma nv_diag_suppress 20054 // a cuda::barrier in shared memory, as the manual has it

namespace cg = cooperative_groups;

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

// The last warp sums without barriers, as old samples do.
template <bool ok>
__global__ void last_warp(int* a, int* b)
{
  __shared__ int sums[64];
  sums[T] = I + 1;
  __syncthreads();
  if (T < 32) {
    for (int step = 32; step > 0; step /= 2) {
      const int more = T < step ? sums[T + step] : 0; // @last_warp
      if (ok) __syncwarp();
      sums[T] += more;
      if (ok) __syncwarp();
    }
    if (T == 0) b[B] = sums[0];
  }
}

// A lock that holds among threads of a block, used by all blocks.
template <bool ok>
__global__ void lock_of_the_block(int* a, int* b)
{
  if (T != 0) return;
  if (ok) {
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(a[0]);
    while (lock.exchange(1, cuda::memory_order_acquire) != 0) {}
    b[0] += 1;
    lock.store(0, cuda::memory_order_release);
  } else {
    cuda::atomic_ref<int, cuda::thread_scope_block> lock(a[0]);
    while (lock.exchange(1, cuda::memory_order_acquire) != 0) {} // @taken_for_the_block
    b[0] += 1; // @lock_of_the_block
    lock.store(0, cuda::memory_order_release);
  }
}

// Who finds it made has not acquired what was made.
template <bool ok>
__global__ void double_checked(int* a, int* b)
{
  if (T != 0) return;
  if (Flag(a[0]).load(ok ? cuda::memory_order_acquire : cuda::memory_order_relaxed) != 2) {
    int none = 0;
    if (Flag(a[0]).compare_exchange_strong(none, 1, cuda::memory_order_relaxed)) {
      a[8] = 42; // @double_checked
      Flag(a[0]).store(2, cuda::memory_order_release);
    } else {
      while (Flag(a[0]).load(ok ? cuda::memory_order_acquire : cuda::memory_order_relaxed) != 2) {}
    }
  }
  b[B] = a[8];
}

// The lock is given back by a plain store, which is no atomic's partner.
template <bool ok>
__global__ void unlocked_by_a_store(int* a, int* b)
{
  if (T != 0) return;
  while (atomicCAS(a, 0, 1) != 0) {}
  __threadfence();
  b[0] += 1; // @under_such_a_lock
  __threadfence();
  if (ok) atomicExch(a, 0);
  else a[0] = 0; // @unlocked_by_a_store
}

// The next turn fills the tile that others still read.
template <bool ok>
__global__ void tile_of_a_loop(int* a, int* b)
{
  extern __shared__ int unused[];
  __shared__ int tile[64];
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[T] = a[i * 64 + T] + i; // @tile_of_a_loop
    __syncthreads();
    for (int k = 0; k < 64; ++k) sum += tile[k];
    if (ok) __syncthreads();
  }
  b[I] = sum;
}

// Two threads change bits of one word.
struct Bits { unsigned low : 4, high : 4; };
struct Bytes { unsigned char low, high; };
template <bool ok>
__global__ void bit_fields(int* a, int* b)
{
  __shared__ Bits bits[32];
  __shared__ Bytes bytes[32];
  if (T < 32) { bits[T] = {}; bytes[T] = {}; }
  __syncthreads();
  if (ok) {
    if (T < 32) bytes[T].low = T & 15;
    else bytes[T - 32].high = T & 15;
  } else {
    if (T < 32) bits[T].low = T & 15;
    else bits[T - 32].high = T & 15; // @bit_fields
  }
  __syncthreads();
  b[I] = ok ? bytes[T % 32].low + bytes[T % 32].high : bits[T % 32].low + bits[T % 32].high;
}

// One thread stores a byte more than its pixel has.
template <bool ok>
__global__ void pixels_of_three(int* a, int* b)
{
  unsigned char* const image = reinterpret_cast<unsigned char*>(a);
  const int at = I * 3;
  image[at] = I;
  image[at + 1] = I + 1;
  image[at + 2] = I + 2;
  if (!ok && T % 64 == 63 && I + 1 < G) image[at + 3] = 255; // @pixels_of_three
}

// A node is taken by who finds it without a mark.
template <bool ok>
__global__ void marked_once(int* a, int* b)
{
  const int node = I % 100;
  bool is_first;
  if (ok) is_first = atomicExch(&a[node], 1) == 0;
  else {
    is_first = a[node] == 0;
    a[node] = I + 1; // @marked_once
  }
  if (is_first) b[atomicAdd(&b[1000], 1)] = node;
}

// Each reads what its neighbours change in the same turn.
template <bool ok>
__global__ void pulled(int* a, int* b)
{
  int* const to = ok ? b : a;
  int most = I;
  for (int k = 1; k < 5; ++k) most = max(most, a[(I + k * 31) % G]);
  to[I] = most; // @pulled
}

// All read the sum, with no barrier behind the last step.
template <bool ok>
__global__ void sum_read_by_all(int* a, int* b)
{
  __shared__ int sums[64];
  sums[T] = I;
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (T < step) sums[T] += sums[T + step];
    if (ok || step > 1) __syncthreads();
  }
  b[I] = sums[0]; // @sum_read_by_all
}

template <bool ok>
__global__ void shared_bins(int* a, int* b)
{
  __shared__ int bins[8];
  if (T < 8) bins[T] = 0;
  __syncthreads();
  if (ok) atomicAdd(&bins[I % 7], 1);
  else bins[I % 7]++; // @shared_bins
  __syncthreads();
  if (T < 8) b[B * 8 + T] = bins[T];
}

// One lane gets room for its warp, and the others read where.
template <bool ok>
__global__ void base_of_a_warp(int* a, int* b)
{
  __shared__ int base[2];
  if (T % 32 == 0) base[T / 32] = atomicAdd(a, 32);
  if (ok) __syncwarp();
  b[base[T / 32] + T % 32] = I; // @base_of_a_warp
}

// The producers arrive at the named barrier before they store.
template <bool ok>
__global__ void arrived_too_early(int* a, int* b)
{
  __shared__ int data[32];
  if (T < 32) {
    if (ok) data[T] = I;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    if (!ok) data[T] = I;
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    b[I] = data[T - 32]; // @arrived_too_early
  }
}

// Who has arrived at a cuda::barrier has not waited for it.
template <bool ok>
__global__ void used_before_the_wait(int* a, int* b)
{
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int data[64];
  if (T == 0) init(&barrier, N);
  __syncthreads();
  data[T] = I;
  auto token = barrier.arrive();
  int sum = 0;
  if (!ok) sum = data[T ^ 40]; // @used_before_the_wait
  barrier.wait(std::move(token));
  if (ok) sum = data[T ^ 40];
  b[I] = sum;
}

// Atomics on the other block's bins, which that reads.
template <bool ok>
__global__ void __cluster_dims__(2, 1, 1) bins_of_a_cluster(int* a, int* b)
{
  __shared__ int bins[8];
  auto cluster = cg::this_cluster();
  if (T < 8) bins[T] = 0;
  cluster.sync();
  int* const there = cluster.map_shared_rank(bins, cluster.block_rank() ^ 1);
  atomicAdd(&there[T % 8], 1);
  if (ok) cluster.sync();
  else __syncthreads();
  if (T < 8) b[B * 8 + T] = bins[T]; // @bins_of_a_cluster
  cluster.sync();
}

// One thread counts its block before the others have stored.
template <bool ok>
__global__ void last_block_unsynced(int* a, int* b)
{
  __shared__ bool is_last;
  a[64 + I] = I; // @last_block_unsynced
  __threadfence();
  if (ok) __syncthreads();
  if (T == 0) is_last = atomicAdd(a, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (is_last && T == 0) {
    __threadfence();
    int sum = 0;
    for (int i = 0; i < G; ++i) sum += a[64 + i];
    b[0] = sum;
  }
}

// One thread tells the others that theirs is the last block.
template <bool ok>
__global__ void last_without_a_barrier(int* a, int* b)
{
  __shared__ bool is_last;
  a[64 + I] = I;
  __threadfence();
  __syncthreads();
  if (T == 0) is_last = atomicAdd(a, 1) == static_cast<int>(gridDim.x) - 1;
  if (ok) __syncthreads();
  if (is_last) b[T] = T; // @last_without_a_barrier
}

// Tiles of matrices that lie too near each other.
template <bool ok>
__global__ void fragments(int* a, int* b)
{
  using namespace nvcuda;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, static_cast<float>(I / 32));
  float* const to = reinterpret_cast<float*>(b) + I / 32 * (ok ? 256 : 240);
  if (I / 32 < 4) wmma::store_matrix_sync(to, sum, 16, wmma::mem_row_major); // @fragments
}

// CUB wants a barrier before its storage is used again.
template <bool ok>
__global__ void storage_used_again(int* a, int* b)
{
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(I);
  if (ok) __syncthreads();
  const int sum2 = Reduce(storage).Sum(I * 2 + 1); // @storage_used_again
  if (T == 0) b[B] = sum + sum2;
}

// An atomic on two halves, and a store to one of them.
template <bool ok>
__global__ void pair_and_half(int* a, int* b)
{
  __half2* const pairs = reinterpret_cast<__half2*>(a);
  __half* const halves = reinterpret_cast<__half*>(ok ? b : a);
  if (B == 0) atomicAdd(&pairs[T], __half2(1.0f, 0.0f)); // @pair_and_half
  if (B == 1) halves[2 * T + 1] = 2.0f;
}

// A block makes memory, and hands it to another one without fences.
__device__ int* handed;
template <bool ok>
__global__ void memory_of_the_heap(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  if (B == 0) {
    int* const made = static_cast<int*>(malloc(64));
    *made = 5; // @memory_of_the_heap
    handed = made;
    if (ok) __threadfence();
    atomicExch(a, 1);
  } else {
    while (atomicAdd(a, 0) == 0) {}
    if (ok) __threadfence();
    b[0] = *handed; // @used_as_handed
    free(handed); // @freed_as_handed
  }
}

// To wait for some time orders nothing.
template <bool ok>
__global__ void time_as_a_barrier(int* a, int* b)
{
  if (T != 0) return;
  a[B] = B + 1; // @time_as_a_barrier
  if (ok) {
    cg::this_grid().sync();
  } else {
    const long long begin = clock64();
    while (clock64() - begin < 10000) {}
  }
  b[B] = a[(B + 1) % 4];
}

// A permutation that has one index twice.
template <bool ok>
__global__ void index_twice(int* a, int* b)
{
  const int at = !ok && I == 200 ? 17 : I;
  b[at] = I; // @index_twice
}

// The colours of two blocks do not fit each other.
template <bool ok>
__global__ void red_and_black(int* a, int* b)
{
  for (int colour = 0; colour < 2; ++colour) {
    const int mine = ok ? I % 2 : T % 2 ^ (B & 1);
    if (mine == colour && I > 0 && I + 1 < G) a[I] = (a[I - 1] + a[I + 1]) / 2 + I; // @red_and_black
    cg::this_grid().sync();
  }
}

// A sum by compare-and-swap, or by a load and a store.
template <bool ok>
__global__ void add_by_hand(int* a, int* b)
{
  double* const sum = reinterpret_cast<double*>(a);
  if (ok) {
    unsigned long long* const at = reinterpret_cast<unsigned long long*>(sum);
    unsigned long long old = atomicAdd(at, 0ull), assumed;
    do {
      assumed = old;
      old = atomicCAS(at, assumed, __double_as_longlong(1.0 + __longlong_as_double(assumed)));
    } while (assumed != old);
  } else *sum = *sum + 1.0; // @add_by_hand
}

// One thread sets what all lower.
template <bool ok>
__global__ void minimum_of_a_block(int* a, int* b)
{
  __shared__ int least;
  if (T == 0) least = 1 << 30; // @minimum_of_a_block
  if (ok) __syncthreads();
  atomicMin(&least, I * 37 % 101);
  __syncthreads();
  b[B] = least;
}

// One block sets the size of the next list to zero while others count.
template <bool ok>
__global__ void size_is_reset(int* a, int* b)
{
  for (int level = 0; level < 3; ++level) {
    int* const count = ok ? &a[level + 1] : &a[(level + 1) % 2];
    if (!ok && I == 0) *count = 0; // @size_is_reset
    if (!ok) __syncthreads();
    atomicAdd(count, 1);
    cg::this_grid().sync();
    b[I] += *count;
    cg::this_grid().sync();
  }
}

// Atomics of the device and of the block on one counter.
template <bool ok>
__global__ void scopes_of_two_kinds(int* a, int* b)
{
  if (ok || B % 2 == 0) atomicAdd(&a[T], 1); // @scopes_of_two_kinds
  else atomicAdd_block(&a[T], 1);
}

// A vote of the warp orders nothing, and __syncthreads_or() does.
template <bool ok>
__global__ void vote_as_a_barrier(int* a, int* b)
{
  __shared__ int data[64];
  data[T] = I; // @vote_as_a_barrier
  if (ok) __syncthreads_or(I);
  else __any_sync(~0u, I);
  b[I] = data[T ^ 1];
}

// A part of a structure is stored, and all of it loaded at once.
struct Body { float at[3]; float mass; };
template <bool ok>
__global__ void body_and_mass(int* a, int* b)
{
  Body* const bodies = reinterpret_cast<Body*>(a);
  if (B == 0) bodies[T].mass = 2.0f; // @body_and_mass
  if (ok) cg::this_grid().sync();
  if (B == 1) {
    const float4 all = reinterpret_cast<const float4*>(bodies)[T];
    b[T] = static_cast<int>(all.x + all.w);
  }
}

// Peterson's lock without fences.
template <bool ok>
__global__ void petersons_lock(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  if (ok) {
    Flag mine(a[B]), other(a[1 - B]), turn(a[2]);
    mine.store(1, cuda::memory_order_seq_cst);
    turn.store(1 - B, cuda::memory_order_seq_cst);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    while (other.load(cuda::memory_order_seq_cst) == 1 && turn.load(cuda::memory_order_seq_cst) == 1 - B) {}
    b[0] += 1;
    mine.store(0, cuda::memory_order_release);
  } else {
    volatile int* const v = a;
    v[B] = 1;
    v[2] = 1 - B;
    while (v[1 - B] == 1 && v[2] == 1 - B) {}
    b[0] += 1; // @petersons_lock
    v[B] = 0;
  }
}

// Pointers are doubled where they are.
template <bool ok>
__global__ void jumped(int* a, int* b)
{
  a[I] = I == 0 ? 0 : I - 1;
  b[I] = 0;
  cg::this_grid().sync();
  for (int k = 0; k < 3; ++k) {
    const int to = a[a[I]];
    if (ok) cg::this_grid().sync();
    a[I] = to; // @jumped
    cg::this_grid().sync();
  }
}

template <bool ok>
static void run_all()
{
  run(last_warp<ok>);
  run(lock_of_the_block<ok>);
  run(double_checked<ok>);
  run(unlocked_by_a_store<ok>);
  run(tile_of_a_loop<ok>);
  run(bit_fields<ok>);
  run(pixels_of_three<ok>);
  run(marked_once<ok>);
  run(pulled<ok>);
  run(sum_read_by_all<ok>);
  run(shared_bins<ok>);
  run(base_of_a_warp<ok>);
  run(arrived_too_early<ok>);
  run(used_before_the_wait<ok>);
  run(bins_of_a_cluster<ok>);
  run(last_block_unsynced<ok>);
  run(last_without_a_barrier<ok>);
  run(fragments<ok>);
  run(storage_used_again<ok>);
  run(pair_and_half<ok>);
  run(memory_of_the_heap<ok>);
  run(time_as_a_barrier<ok>);
  run(index_twice<ok>);
  run(red_and_black<ok>);
  run(add_by_hand<ok>);
  run(minimum_of_a_block<ok>);
  run(size_is_reset<ok>);
  run(scopes_of_two_kinds<ok>);
  run(vote_as_a_barrier<ok>);
  run(body_and_mass<ok>);
  run(petersons_lock<ok>);
  run(jumped<ok>);
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "racy")) run_all<false>();
  else run_all<true>();
}
