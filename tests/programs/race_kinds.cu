// SPDX-License-Identifier: Apache-2.0
// Kinds of races in global memory, each as a kernel with its right twin. The right ones are silent in five orders.
// It is one file because it is one list: a kernel of each kind, its twin, and the finding that it must have.
//
// run: racy
// device: simulated
// expect: error global-race line=LINE(neighbours_of_a_block)
// expect: error global-race line=LINE(word_of_the_next_block)
// expect: error global-race line=LINE(counter)
// expect: error global-race line=LINE(counter_of_64_bits)
// expect: error global-race line=LINE(greatest)
// expect: error global-race line=LINE(set_to_zero_and_counted)
// expect: error global-race line=LINE(counted_and_read)
// expect: error global-race line=LINE(neighbours_of_a_warp)
// expect: error global-race line=LINE(barrier_of_half_a_warp)
// expect: error global-race line=LINE(shuffle_as_a_barrier)
// expect: error global-race line=LINE(fence_as_a_barrier)
// expect: error global-race line=LINE(barrier_with_a_count)
// expect: error global-race line=LINE(tree_of_sums)
// expect: error global-race line=LINE(second_barrier_of_a_loop)
// expect: error global-race line=LINE(stencil_over_its_input)
// expect: error global-race line=LINE(read_and_then_written)
// expect: error global-race line=LINE(scan_over_its_input)
// expect: error global-race line=LINE(transposed_over_its_input)
// expect: error global-race line=LINE(several_values_in_a_word)
// expect: error global-race line=LINE(bins)
// expect: error global-race line=LINE(bins_of_blocks_that_are_joined)
// expect: error global-race line=LINE(last_block)
// expect: error global-race line=LINE(flag_without_fences)
// expect: error global-race line=LINE(fence_of_the_block)
// expect: error global-race line=LINE(release_and_acquire)
// expect: error global-race line=LINE(polled_relaxed)
// expect: error global-race line=LINE(handed_on_relaxed)
// expect: error global-race line=LINE(learnt_relaxed)
// expect: error global-race line=LINE(fence_before_the_data)
// expect: error global-race line=LINE(lock_without_fences)
// expect: error global-race line=LINE(beside_the_lock)
// expect: error global-race line=LINE(atomic_of_the_block)
// expect: error global-race line=LINE(slots_that_a_counter_gives)
// expect: error global-race line=LINE(halves_of_a_word)
// expect: error global-race line=LINE(bytes_of_a_word)
// expect: error global-race line=LINE(wide_stores)
// expect: error global-race line=LINE(rows_that_overlap)
// expect: error global-race line=LINE(list)
// expect: error global-race line=LINE(list)
// expect: error global-race line=LINE(tile_of_16)
// expect: error global-race line=LINE(tile_as_a_block)
// expect: error global-race line=LINE(arrival_without_a_wait)
// expect: error global-race line=LINE(pointer_in_memory)
// expect: error global-race line=LINE(variable_of_the_device) message="in memory that no call allocated"
// expect: error global-race line=LINE(grid_of_two_sides)
// run: managed
// device: simulated
// expect: error global-race line=LINE(word_of_the_next_block) message="of managed memory"
// run: mapped
// device: simulated
// expect: error global-race line=LINE(word_of_the_next_block) message="of pinned host memory"
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
#include "answers.h"
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/utility>

namespace cg = cooperative_groups;

__device__ int variable;

// The thread in its block and in the grid, its block, the threads of a block and of the grid
#define T static_cast<int>(threadIdx.x)
#define B static_cast<int>(blockIdx.x)
#define N static_cast<int>(blockDim.x)
#define I (B * N + T)
#define G (N * static_cast<int>(gridDim.x))

template <bool ok>
__global__ void neighbours_of_a_block(int* a, int* b)
{
  a[I] = T;
  if (ok) __syncthreads();
  b[I] = a[I ^ 1 << 5]; // @neighbours_of_a_block
}

template <bool ok>
__global__ void word_of_the_next_block(int* a, int* b)
{
  a[I] = T;
  b[I] = a[ok ? I : (I + N) % G]; // @word_of_the_next_block
}

template <bool ok>
__global__ void counter(int* a, int* b)
{
  if (ok) atomicAdd(a, 1);
  else a[0] += 1; // @counter
}

template <bool ok>
__global__ void counter_of_64_bits(int* a, int* b)
{
  auto* sum = reinterpret_cast<unsigned long long*>(a);
  if (ok) atomicAdd(sum, 1ull);
  else *sum += 1; // @counter_of_64_bits
}

template <bool ok>
__global__ void greatest(int* a, int* b)
{
  if (ok) atomicMax(a, I);
  else if (a[0] < I) a[0] = I; // @greatest
}

template <bool ok>
__global__ void set_to_zero_and_counted(int* a, int* b)
{
  if (T == 0) a[B] = 0; // @set_to_zero_and_counted
  if (ok) __syncthreads();
  atomicAdd(&a[B], 1);
}

template <bool ok>
__global__ void counted_and_read(int* a, int* b)
{
  atomicAdd(&a[B], 1);
  if (ok) __syncthreads();
  b[I] = a[B]; // @counted_and_read
}

template <bool ok>
__global__ void neighbours_of_a_warp(int* a, int* b)
{
  a[I] = T;
  if (ok) __syncwarp();
  b[I] = a[I ^ 1]; // @neighbours_of_a_warp
}

template <bool ok>
__global__ void barrier_of_half_a_warp(int* a, int* b)
{
  a[I] = T;
  __syncwarp(ok ? 0xffffffff : T % 32 < 16 ? 0xffff : 0xffff0000);
  b[I] = a[I ^ 16]; // @barrier_of_half_a_warp
}

template <bool ok>
__global__ void shuffle_as_a_barrier(int* a, int* b)
{
  a[I] = T;
  if (ok) __syncwarp();
  b[I] = __shfl_sync(~0u, T, 3) + a[I ^ 1]; // @shuffle_as_a_barrier
}

template <bool ok>
__global__ void fence_as_a_barrier(int* a, int* b)
{
  a[I] = T;
  if (ok) __syncthreads();
  else __threadfence();
  b[I] = a[I ^ 32]; // @fence_as_a_barrier
}

template <bool ok>
__global__ void barrier_with_a_count(int* a, int* b)
{
  if (T < 32) a[I] = T;
  if (ok || T < 32) asm volatile("bar.sync 1, %0;" ::"r"(ok ? 64 : 32) : "memory");
  if (T >= 32) b[I] = a[I - 32]; // @barrier_with_a_count
}

template <bool ok>
__global__ void tree_of_sums(int* a, int* b)
{
  a[I] = T;
  __syncthreads();
  for (int half = N / 2; half > 0; half /= 2) {
    if (T < half) a[I] += a[I + half]; // @tree_of_sums
    if (ok) __syncthreads();
  }
}

template <bool ok>
__global__ void second_barrier_of_a_loop(int* a, int* b)
{
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    a[I] = T + i; // @second_barrier_of_a_loop
    __syncthreads();
    sum += a[I ^ 32];
    if (ok) __syncthreads();
  }
  b[I] = sum;
}

template <bool ok>
__global__ void stencil_over_its_input(int* a, int* b)
{
  int* to = ok ? b : a;
  const int left = T == 0 ? 0 : a[I - 1];
  to[I] = left + 1; // @stencil_over_its_input
}

template <bool ok>
__global__ void read_and_then_written(int* a, int* b)
{
  const int other = a[I ^ 32];
  if (ok) __syncthreads();
  a[I] = other + 1; // @read_and_then_written
}

template <bool ok>
__global__ void scan_over_its_input(int* a, int* b)
{
  a[I] = T;
  __syncthreads();
  for (int by = 1; by < N; by *= 2) {
    const int left = T < by ? 0 : a[I - by];
    if (ok) __syncthreads();
    a[I] += left; // @scan_over_its_input
    __syncthreads();
  }
}

template <bool ok>
__global__ void transposed_over_its_input(int* a, int* b)
{
  const int row = I / 16, column = I % 16, other = column * 16 + row;
  if (ok && row <= column) return;
  const int mine = a[I], theirs = a[other];
  a[I] = theirs; // @transposed_over_its_input
  if (ok) a[other] = mine;
}

template <bool ok>
__global__ void several_values_in_a_word(int* a, int* b)
{
  if (!ok || I == 0) a[0] = I + 1; // @several_values_in_a_word
}

template <bool ok>
__global__ void bins(int* a, int* b)
{
  if (ok) atomicAdd(&a[I % 16], 1);
  else ++a[I % 16]; // @bins
}

template <bool ok>
__global__ void bins_of_blocks_that_are_joined(int* a, int* b)
{
  if (T < 16) a[64 + B * 16 + T] = T;
  if (T < 16 && ok) atomicAdd(&a[T], a[64 + B * 16 + T]);
  if (T < 16 && !ok) a[T] += a[64 + B * 16 + T]; // @bins_of_blocks_that_are_joined
}

template <bool ok>
__global__ void last_block(int* a, int* b)
{
  __shared__ bool is_last;
  a[1 + I] = T;
  if (ok) __threadfence();
  __syncthreads();
  if (T == 0) is_last = atomicAdd(a, 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last && ok) __threadfence();
  if (is_last) b[T] = a[1 + (I + N) % G]; // @last_block
}

template <bool ok>
__global__ void flag_without_fences(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  if (B == 0) a[1] = 42;
  if (B == 0 && ok) __threadfence();
  if (B == 0) atomicExch(a, 1);
  while (B == 1 && atomicAdd(a, 0) == 0) {}
  if (B == 1 && ok) __threadfence();
  if (B == 1) b[0] = a[1]; // @flag_without_fences
}

template <bool ok>
__global__ void fence_of_the_block(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  if (B == 0) a[1] = 42;
  if (B == 0 && ok) __threadfence();
  if (B == 0 && !ok) __threadfence_block();
  if (B == 0) atomicExch(a, 1);
  while (B == 1 && atomicAdd(a, 0) == 0) {}
  if (B == 1) __threadfence();
  if (B == 1) b[0] = a[1]; // @fence_of_the_block
}

template <bool ok>
__global__ void release_and_acquire(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(a[0]);
  constexpr auto store = ok ? cuda::std::memory_order_release : cuda::std::memory_order_relaxed;
  constexpr auto load = ok ? cuda::std::memory_order_acquire : cuda::std::memory_order_relaxed;
  if (B == 0) a[1] = 42;
  if (B == 0) flag.store(1, store);
  while (B == 1 && flag.load(load) == 0) {}
  if (B == 1) b[0] = a[1]; // @release_and_acquire
}

// The one releases, the other does not acquire.
template <bool ok>
__global__ void polled_relaxed(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(a[0]);
  if (B == 0) a[1] = 42;
  if (B == 0) flag.store(1, cuda::std::memory_order_release);
  while (B == 1 && flag.load(cuda::std::memory_order_relaxed) == 0) {}
  if (B == 1 && ok) cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
  if (B == 1) b[0] = a[1]; // @polled_relaxed
}

// Of three blocks the one in the middle learns that the number is there, and lets the last one know.
template <bool ok>
__global__ void handed_on_relaxed(int* a, int* b)
{
  if (T != 0 || B > 2) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> first(a[0]), second(a[2]);
  if (B == 0) a[1] = 42;
  if (B == 0) first.store(1, cuda::std::memory_order_release);
  while (B == 1 && first.load(cuda::std::memory_order_acquire) == 0) {}
  if (B == 1) second.store(1, ok ? cuda::std::memory_order_release : cuda::std::memory_order_relaxed);
  while (B == 2 && second.load(cuda::std::memory_order_acquire) == 0) {}
  if (B == 2) b[0] = a[1]; // @handed_on_relaxed
}

template <bool ok>
__global__ void learnt_relaxed(int* a, int* b)
{
  if (T != 0 || B > 2) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> first(a[0]), second(a[2]);
  if (B == 0) a[1] = 42;
  if (B == 0) first.store(1, cuda::std::memory_order_release);
  while (B == 1 && first.load(cuda::std::memory_order_relaxed) == 0) {}
  if (B == 1 && ok) __threadfence();
  if (B == 1) second.store(1, cuda::std::memory_order_release);
  while (B == 2 && second.load(cuda::std::memory_order_acquire) == 0) {}
  if (B == 2) b[0] = a[1]; // @learnt_relaxed
}

template <bool ok>
__global__ void fence_before_the_data(int* a, int* b)
{
  if (B > 1) return;
  if (B == 0 && !ok) __threadfence();
  if (B == 0) a[64 + T] = 42;
  if (B == 0 && ok) __threadfence();
  __syncthreads();
  if (B == 0 && T == 0) atomicExch(a, 1);
  while (B == 1 && T == 0 && atomicAdd(a, 0) == 0) {}
  if (B == 1) __threadfence();
  __syncthreads();
  if (B == 1) b[T] = a[64 + (T + 1) % N]; // @fence_before_the_data
}

template <bool ok>
__global__ void lock_without_fences(int* a, int* b)
{
  if (T != 0) return;
  while (atomicCAS(a, 0, 1) != 0) {}
  if (ok) __threadfence();
  a[1] += 1; // @lock_without_fences
  if (ok) __threadfence();
  atomicExch(a, 0);
}

template <bool ok>
__global__ void beside_the_lock(int* a, int* b)
{
  if (T != 0) return;
  if (B == 3 && !ok) a[1] = 7; // @beside_the_lock
  while (atomicCAS(a, 0, 1) != 0) {}
  __threadfence();
  a[1] += 1;
  __threadfence();
  atomicExch(a, 0);
}

template <bool ok>
__global__ void atomic_of_the_block(int* a, int* b)
{
  if (ok) atomicAdd(a, 1);
  else atomicAdd_block(a, 1); // @atomic_of_the_block
}

template <bool ok>
__global__ void slots_that_a_counter_gives(int* a, int* b)
{
  const int slot = atomicAdd(a, 1);
  a[64 + slot] = I;
  b[I] = a[64 + (ok ? slot : (slot + 1) % G)]; // @slots_that_a_counter_gives
}

template <bool ok>
__global__ void halves_of_a_word(int* a, int* b)
{
  auto* halves = reinterpret_cast<short*>(a);
  if (ok || T % 2 == 0) halves[I] = T;
  else a[I / 2] = I; // @halves_of_a_word
}

template <bool ok>
__global__ void bytes_of_a_word(int* a, int* b)
{
  auto* bytes = reinterpret_cast<char*>(a);
  bytes[I] = T;
  if (!ok) a[64 + I] = bytes[I ^ 32]; // @bytes_of_a_word
}

template <bool ok>
__global__ void wide_stores(int* a, int* b)
{
  if (ok) reinterpret_cast<int4*>(a)[I] = {T, 0, 0, 0};
  else *reinterpret_cast<int2*>(a + I / 2 * 2) = {I, 0}; // @wide_stores
}

template <bool ok>
__global__ void rows_that_overlap(int* a, int* b)
{
  for (int i = 0; i < (ok ? 4 : 5); ++i)
    a[I * 4 + i] = I; // @rows_that_overlap
}

template <bool ok>
__global__ void list(int* a, int* b)
{
  int head = a[0], old;
  if (!ok) {
    b[I] = head;
    a[0] = I; // @list
    return;
  }
  old = atomicExch(a + 1, I);
  b[I] = old;
}

template <bool ok>
__global__ void tile_of_16(int* a, int* b)
{
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  a[I] = T;
  if (ok) tile.sync();
  b[I] = a[I ^ 8]; // @tile_of_16
}

template <bool ok>
__global__ void tile_as_a_block(int* a, int* b)
{
  const auto block = cg::this_thread_block();
  a[I] = T;
  if (ok) block.sync();
  else cg::tiled_partition<32>(block).sync();
  b[I] = a[I ^ 32]; // @tile_as_a_block
}

template <bool ok>
__global__ void arrival_without_a_wait(int* a, int* b)
{
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(Barrier) char bytes[sizeof(Barrier)];
  Barrier& barrier = *reinterpret_cast<Barrier*>(bytes);
  if (T == 0) init(&barrier, N);
  __syncthreads();
  a[I] = T;
  auto token = barrier.arrive();
  if (ok) barrier.wait(cuda::std::move(token));
  b[I] = a[I ^ 32]; // @arrival_without_a_wait
  if (!ok) barrier.wait(cuda::std::move(token));
}

template <bool ok>
__global__ void pointer_in_memory(int* a, int* b)
{
  int* const to = *reinterpret_cast<int**>(a + 1022);
  if (T == 0) to[ok ? 16 + B : 16] = B; // @pointer_in_memory
}

template <bool ok>
__global__ void variable_of_the_device(int* a, int* b)
{
  if (ok) atomicAdd(&variable, 1);
  else variable += 1; // @variable_of_the_device
}

template <bool ok>
__global__ void grid_of_two_sides(int* a, int* b)
{
  if (B % 2 == 0) a[I] = T;
  if (B % 2 == 1 && !ok) b[I] = a[I - N]; // @grid_of_two_sides
  if (B % 2 == 1 && ok) b[I] = a[I];
}

constexpr std::size_t kBytes = 2048 * sizeof(int);

// On zeros, four blocks of 64.
static void run(void (*kernel)(int*, int*))
{
  int *a, *b;
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMemset(a, 0, kBytes));
  CHECK(cudaMemset(b, 0, kBytes));
  CHECK(cudaMemcpy(a + 1022, &b, sizeof b, cudaMemcpyHostToDevice));
  kernel<<<4, 64>>>(a, b);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}

template <bool ok>
static void run_on(int* a)
{
  int* b;
  CHECK(cudaMalloc(&b, kBytes));
  word_of_the_next_block<ok><<<4, 64>>>(a, b);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(b));
}

// Memory that the host sees as well, the right kernel first.
static void managed()
{
  int* a;
  CHECK(cudaMallocManaged(&a, kBytes));
  run_on<true>(a);
  run_on<false>(a);
  CHECK(cudaFree(a));
}

static void mapped()
{
  int* a;
  CHECK(cudaMallocHost(&a, kBytes));
  run_on<true>(a);
  run_on<false>(a);
  CHECK(cudaFreeHost(a));
}

template <bool ok>
static void run_all()
{
  run(neighbours_of_a_block<ok>);
  run(word_of_the_next_block<ok>);
  run(counter<ok>);
  run(counter_of_64_bits<ok>);
  run(greatest<ok>);
  run(set_to_zero_and_counted<ok>);
  run(counted_and_read<ok>);
  run(neighbours_of_a_warp<ok>);
  run(barrier_of_half_a_warp<ok>);
  run(shuffle_as_a_barrier<ok>);
  run(fence_as_a_barrier<ok>);
  run(barrier_with_a_count<ok>);
  run(tree_of_sums<ok>);
  run(second_barrier_of_a_loop<ok>);
  run(stencil_over_its_input<ok>);
  run(read_and_then_written<ok>);
  run(scan_over_its_input<ok>);
  run(transposed_over_its_input<ok>);
  run(several_values_in_a_word<ok>);
  run(bins<ok>);
  run(bins_of_blocks_that_are_joined<ok>);
  run(last_block<ok>);
  run(flag_without_fences<ok>);
  run(fence_of_the_block<ok>);
  run(release_and_acquire<ok>);
  run(polled_relaxed<ok>);
  run(handed_on_relaxed<ok>);
  run(learnt_relaxed<ok>);
  run(fence_before_the_data<ok>);
  run(lock_without_fences<ok>);
  run(beside_the_lock<ok>);
  run(atomic_of_the_block<ok>);
  run(slots_that_a_counter_gives<ok>);
  run(halves_of_a_word<ok>);
  run(bytes_of_a_word<ok>);
  run(wide_stores<ok>);
  run(rows_that_overlap<ok>);
  run(list<ok>);
  run(tile_of_16<ok>);
  run(tile_as_a_block<ok>);
  run(arrival_without_a_wait<ok>);
  run(pointer_in_memory<ok>);
  run(variable_of_the_device<ok>);
  run(grid_of_two_sides<ok>);
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "racy")) run_all<false>();
  else if (started_with(argc, argv, "managed")) managed();
  else if (started_with(argc, argv, "mapped")) mapped();
  else run_all<true>();
}
