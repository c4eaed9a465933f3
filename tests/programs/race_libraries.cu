// SPDX-License-Identifier: Apache-2.0
// What libcu++ and cooperative groups order: kernels that rely on nothing else give the right result, and no race is
// reported in five orders.
//
// run: order-0
// device: simulated
// options: --device-seed 0
// expect: clean
// run: order-1
// device: simulated
// options: --device-seed 1
// expect: clean
// run: order-2
// device: simulated
// options: --device-seed 2
// expect: clean
// run: order-3
// device: simulated
// options: --device-seed 3
// expect: clean
// run: order-4
// device: simulated
// options: --device-seed 4
// expect: clean
#include "answers.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/utility>
#include <new>

#pragma nv_diag_suppress 20054 // pipeline_shared_state in shared memory, as the manual has it

namespace cg = cooperative_groups;
constexpr int kBlocks = 4, kThreads = 64, kNumbers = kBlocks * kThreads;

using Semaphore = cuda::binary_semaphore<cuda::thread_scope_device>;
using Atomic = cuda::atomic<int, cuda::thread_scope_device>;
using Latch = cuda::latch<cuda::thread_scope_device>;
using Barrier = cuda::barrier<cuda::thread_scope_device>;

struct Objects {
  Semaphore semaphore{1};
  Atomic flag{0}, sum{0};
  Latch latch{kBlocks};
  Barrier barrier{kBlocks};
};

struct Memory {
  Objects* objects;
  int *scratch, *numbers; // numbers: the results, of which the host knows what they must be
};

__device__ int self() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int next() { return (self() + kThreads) % kNumbers; } // the same thread of the next block

__global__ void make(Memory m) { new (m.objects) Objects; }

__global__ void block_sync(Memory m)
{
  const auto block = cg::this_thread_block();
  m.scratch[self()] = self();
  block.sync();
  m.numbers[self()] = m.scratch[self() - threadIdx.x + kThreads - 1 - threadIdx.x] + 2 * threadIdx.x - kThreads + 1;
}

__global__ void tile_sync(Memory m)
{
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  m.scratch[self()] = self();
  tile.sync();
  m.numbers[self()] = m.scratch[self() ^ 5] ^ 5;
}

__global__ void tile_reduce(Memory m)
{
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  m.numbers[self()] = cg::reduce(tile, static_cast<int>(tile.thread_rank()), cg::greater<int>()) + self() - 31;
}

__global__ void tile_scan(Memory m)
{
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  m.numbers[self()] = cg::exclusive_scan(tile, 1) + self() - static_cast<int>(tile.thread_rank());
}

__global__ void grid_sync(Memory m)
{
  m.scratch[self()] = self();
  cg::this_grid().sync();
  const int theirs = m.scratch[next()];
  cg::this_grid().sync();
  m.scratch[next()] = theirs; // another block's word
  cg::this_grid().sync();
  m.numbers[self()] = m.scratch[self()];
}

__global__ void coalesced(Memory m)
{
  int first = 0;
  if (threadIdx.x % 2 == 0) {
    const auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0)
      first = m.objects->sum.fetch_add(static_cast<int>(active.size()), cuda::memory_order_relaxed);
    first = active.shfl(first, 0);
  }
  m.numbers[self()] = self() + 0 * first;
}

__global__ void labelled(Memory m)
{
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto same = cg::labeled_partition(tile, static_cast<int>(tile.thread_rank() % 3));
  const int first = cg::reduce(same, static_cast<int>(tile.thread_rank()), cg::less<int>());
  m.numbers[self()] = self() + first - static_cast<int>(tile.thread_rank() % 3);
}

__global__ void group_copy(Memory m)
{
  __shared__ int staged[kThreads];
  const auto block = cg::this_thread_block();
  m.scratch[self()] = self();
  block.sync();
  cg::memcpy_async(block, staged, m.scratch + blockIdx.x * kThreads, sizeof staged);
  cg::wait(block);
  m.numbers[self()] = staged[threadIdx.x ^ 33] ^ 33;
}

__global__ void reduce_into(Memory m)
{
  __shared__ cuda::atomic<int, cuda::thread_scope_block> sum;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0)
    new (&sum) cuda::atomic<int, cuda::thread_scope_block>(0);
  block.sync();
  cg::reduce_update_async(cg::tiled_partition<32>(block), sum, 1, cg::plus<int>());
  block.sync();
  m.numbers[self()] = self() + sum.load(cuda::memory_order_relaxed) - kThreads;
}

__global__ void barrier_of_blocks(Memory m)
{
  m.scratch[self()] = self();
  __syncthreads();
  if (threadIdx.x == 0)
    m.objects->barrier.arrive_and_wait();
  __syncthreads();
  m.numbers[next()] = m.scratch[next()];
}

__global__ void latch_of_blocks(Memory m)
{
  m.scratch[self()] = self();
  __syncthreads();
  if (threadIdx.x == 0)
    m.objects->latch.arrive_and_wait();
  __syncthreads();
  m.numbers[next()] = m.scratch[next()];
}

__global__ void under_a_semaphore(Memory m)
{
  if (threadIdx.x == 0) {
    m.objects->semaphore.acquire();
    for (int i = 0; i < kNumbers; ++i)
      m.numbers[i] += blockIdx.x == 0 ? i : 0; // zeros before
    m.objects->semaphore.release();
  }
}

// Blocks begin in their order on a GPU, and all of these fit.
__global__ void atomic_wait(Memory m)
{
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i < kNumbers; i += kThreads)
      m.scratch[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
      m.objects->flag.store(1, cuda::memory_order_release);
      m.objects->flag.notify_all();
    }
  } else if (threadIdx.x == 0) {
    m.objects->flag.wait(0, cuda::memory_order_acquire);
  }
  __syncthreads();
  m.numbers[self()] = m.scratch[self()];
}

__global__ void fences(Memory m)
{
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      for (int i = 0; i < kNumbers; ++i)
        m.scratch[i] = i;
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      m.objects->flag.store(1, cuda::memory_order_relaxed);
    }
    while (m.objects->flag.load(cuda::memory_order_relaxed) == 0) {}
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }
  __syncthreads();
  m.numbers[self()] = m.scratch[self()];
}

__global__ void stages(Memory m)
{
  constexpr int kStages = 2;
  __shared__ int staged[kStages][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const auto block = cg::this_thread_block();
  m.scratch[self()] = self();
  block.sync();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int i = 0; i < 2 * kStages; ++i) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, staged[i % kStages], m.scratch + blockIdx.x * kThreads, sizeof staged[0], pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    m.numbers[self()] = staged[i % kStages][threadIdx.x ^ 31] ^ 31;
    pipe.consumer_release();
  }
}

static void check_numbers(const Memory& m)
{
  int numbers[kNumbers];
  CHECK(cudaMemcpy(numbers, m.numbers, sizeof numbers, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kNumbers; ++i)
    ANSWERS(i, numbers[i]);
}

int main()
{
  Memory m{};
  CHECK(cudaMalloc(&m.objects, sizeof *m.objects));
  CHECK(cudaMalloc(&m.scratch, kNumbers * sizeof(int)));
  CHECK(cudaMalloc(&m.numbers, kNumbers * sizeof(int)));
  for (const auto kernel : {block_sync, tile_sync, tile_reduce, tile_scan, grid_sync, coalesced, labelled, group_copy,
                            reduce_into, barrier_of_blocks, latch_of_blocks, under_a_semaphore, atomic_wait, fences,
                            stages}) {
    CHECK(cudaMemset(m.numbers, 0, kNumbers * sizeof(int)));
    CHECK(cudaMemset(m.scratch, 0, kNumbers * sizeof(int)));
    make<<<1, 1>>>(m);
    void* arguments[] = {&m};
    CHECK(cudaLaunchCooperativeKernel(kernel, dim3(kBlocks), dim3(kThreads), arguments, 0, nullptr));
    check_numbers(m);
  }
  CHECK(cudaFree(m.objects));
  CHECK(cudaFree(m.scratch));
  CHECK(cudaFree(m.numbers));
}
