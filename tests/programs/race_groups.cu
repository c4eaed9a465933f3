// SPDX-License-Identifier: Apache-2.0
// What barriers in two halves, roles of a pipeline, clusters and groups of threads order, beside race_libraries.cu: kernels
// that rely on nothing else give the right result, and no race is reported in five orders.
//
// compute capability: 90
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
#include <cuda/annotated_ptr>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/utility>
#include <new>

#pragma nv_diag_suppress 20054 // objects in shared memory, as the manual has it

namespace cg = cooperative_groups;
constexpr int kBlocks = 4, kThreads = 64, kNumbers = kBlocks * kThreads;

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;
using Semaphore = cuda::counting_semaphore<cuda::thread_scope_device, 2>;
using Latch = cuda::latch<cuda::thread_scope_device>;
using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

struct Objects {
  Semaphore semaphore{2};
  Latch latch{kBlocks};
};

struct Memory {
  Objects* objects;
  int *scratch, *numbers; // numbers: the results, of which each must be its index
};

__device__ int self() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int next() { return (self() + kThreads) % kNumbers; } // the same thread of the next block

__global__ void make(Memory m) { new (m.objects) Objects; }

__global__ void grid_in_two_halves(Memory m)
{
  auto grid = cg::this_grid();
  m.scratch[self()] = self();
  auto token = grid.barrier_arrive();
  const int meanwhile = self() * 2; // of this thread alone
  grid.barrier_wait(cuda::std::move(token));
  m.numbers[next()] = m.scratch[next()] + 0 * meanwhile;
}

__global__ void __cluster_dims__(2, 1, 1) cluster_in_two_halves(Memory m)
{
  __shared__ int values[kThreads];
  auto cluster = cg::this_cluster();
  values[threadIdx.x] = self();
  cluster.barrier_arrive();
  cluster.barrier_wait();
  const unsigned other = cluster.block_rank() ^ 1;
  const int theirs = *cluster.map_shared_rank(&values[threadIdx.x], other);
  cluster.sync(); // before the other block ends
  m.numbers[(blockIdx.x ^ 1) * kThreads + threadIdx.x] = theirs;
}

__global__ void __cluster_dims__(2, 1, 1) counted_in_a_cluster(Memory m)
{
  __shared__ int count;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) count = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&count, 0), 1);
  cluster.sync();
  const int all = *cluster.map_shared_rank(&count, 0);
  cluster.sync();
  m.numbers[self()] = self() + all - 2 * kThreads;
}

// Half of the threads leave a barrier for good.
__global__ void arrive_and_drop(Memory m)
{
  __shared__ BlockBarrier barrier;
  __shared__ int values[kThreads];
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  values[threadIdx.x] = self();
  if (threadIdx.x >= kThreads / 2) return barrier.arrive_and_drop();
  barrier.arrive_and_wait();
  for (int i : {static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.x) + kThreads / 2})
    m.numbers[blockIdx.x * kThreads + i] = values[i];
  barrier.arrive_and_wait();
}

// Two barriers for each of two stages: full and empty.
__global__ void full_and_empty(Memory m)
{
  __shared__ BlockBarrier full[2], empty[2];
  __shared__ int stage[2][32];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], kThreads);
    init(&empty[threadIdx.x], kThreads);
  }
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < 4; ++i) {
      if (i >= 2) empty[i % 2].arrive_and_wait();
      stage[i % 2][lane] = i * 100 + lane;
      (void)full[i % 2].arrive();
    }
  } else {
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
      full[i % 2].arrive_and_wait();
      sum += stage[i % 2][31 - lane];
      if (i < 2) (void)empty[i % 2].arrive();
    }
    for (int k : {0, 32}) m.numbers[blockIdx.x * kThreads + lane + k] = blockIdx.x * kThreads + lane + k + sum - 600 - 4 * (31 - lane);
  }
}

// Of a pipeline's threads half produce and half consume.
__global__ void roles(Memory m)
{
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int staged[2][kThreads / 2];
  const auto block = cg::this_thread_block();
  const bool produces = threadIdx.x < kThreads / 2;
  m.scratch[self()] = self();
  block.sync();
  auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % (kThreads / 2), first = blockIdx.x * kThreads;
  for (int i = 0; i < 4; ++i) {
    if (produces) {
      pipe.producer_acquire();
      cuda::memcpy_async(&staged[i % 2][lane], &m.scratch[first + i % 2 * (kThreads / 2) + lane], sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      m.numbers[first + i % 2 * (kThreads / 2) + (lane ^ 3)] = staged[i % 2][lane ^ 3];
      pipe.consumer_release();
    }
  }
}

__global__ void copies_by_tiles(Memory m)
{
  __shared__ int staged[2][kThreads];
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const int begin = threadIdx.x / 32 * 32;
  m.scratch[self()] = self();
  block.sync();
  for (int i : {0, 1})
    cg::memcpy_async(tile, &staged[i][begin], &m.scratch[blockIdx.x * kThreads + begin], 32 * sizeof(int));
  cg::wait_prior<1>(tile);
  const int one = staged[0][threadIdx.x ^ 21];
  cg::wait(tile);
  m.numbers[self()] = (one + staged[1][threadIdx.x ^ 21]) / 2 ^ 21;
}

__global__ void scans_of_groups(Memory m)
{
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int before = cg::inclusive_scan(tile, 1) - 1;
  const auto half = cg::tiled_partition<16>(tile);
  const int most = cg::reduce(half, before, cg::greater<int>());
  m.numbers[self()] = self() + before - static_cast<int>(tile.thread_rank()) + most % 16 - 15;
}

__global__ void one_of_a_group(Memory m)
{
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int first = cg::invoke_one_broadcast(tile, [&] { return atomicAdd(&m.scratch[0], 32); });
  m.numbers[self()] = self() + first % 32;
}

// The counter's last value is read behind all who have added to it.
__global__ void counted_by_a_scan(Memory m)
{
  __shared__ cuda::atomic<int, cuda::thread_scope_block> used;
  if (threadIdx.x == 0) new (&used) cuda::atomic<int, cuda::thread_scope_block>(0);
  __syncthreads();
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int at = cg::exclusive_scan_update(tile, used, 1);
  m.scratch[blockIdx.x * kThreads + at] = at;
  __syncthreads();
  m.numbers[self()] = self() + used.load(cuda::memory_order_relaxed) - kThreads + m.scratch[self()] - static_cast<int>(threadIdx.x);
}

__global__ void by_annotated_pointers(Memory m)
{
  const cuda::annotated_ptr<int, cuda::access_property::persisting> scratch(m.scratch);
  scratch[self()] = self();
  __syncthreads();
  const cuda::annotated_ptr<const int, cuda::access_property::streaming> read(m.scratch);
  m.numbers[self()] = read[self() ^ 35] ^ 35;
}

// Two at a time count, and each stores to a place of its own.
__global__ void under_a_counting_semaphore(Memory m)
{
  if (threadIdx.x == 0) {
    m.objects->semaphore.acquire();
    Flag(m.scratch[0]).fetch_add(1, cuda::memory_order_relaxed);
    m.objects->semaphore.release();
  }
  m.numbers[self()] = self();
}

// Those who count a latch down need not wait for it.
__global__ void counted_down(Memory m)
{
  m.scratch[self()] = self();
  __syncthreads();
  if (threadIdx.x == 0) {
    m.objects->latch.count_down();
    if (blockIdx.x == 0) m.objects->latch.wait();
  }
  __syncthreads();
  if (blockIdx.x != 0) return;
  for (int i = threadIdx.x; i < kNumbers; i += kThreads) m.numbers[i] = m.scratch[i];
}

static void check_numbers(const Memory& m)
{
  int numbers[kNumbers];
  CHECK(cudaMemcpy(numbers, m.numbers, sizeof numbers, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kNumbers; ++i) ANSWERS(i, numbers[i]);
}

int main()
{
  Memory m{};
  CHECK(cudaMalloc(&m.objects, sizeof *m.objects));
  CHECK(cudaMalloc(&m.scratch, kNumbers * sizeof(int)));
  CHECK(cudaMalloc(&m.numbers, kNumbers * sizeof(int)));
  for (const auto kernel : {grid_in_two_halves, cluster_in_two_halves, counted_in_a_cluster, arrive_and_drop, full_and_empty, roles,
                            copies_by_tiles, scans_of_groups, one_of_a_group, counted_by_a_scan, by_annotated_pointers,
                            under_a_counting_semaphore, counted_down}) {
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
