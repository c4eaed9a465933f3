// SPDX-License-Identifier: Apache-2.0
// Kernels in which all that runs waits for what no thread does: barriers of grids and clusters, locks, flags, mbarriers,
// pipelines, elected threads. Each hangs in a run of its own, and all right twins end in one.
//
// compute capability: 90
// unlike-fenced: a mapping may be shared with another process, which could change what a kernel polls
// run: left_the_grid
// device: simulated
// expect: error kernel-hang count=1 message="a barrier of the grid that others never reach"
// not-checked: leak
// run: turns_of_the_grid
// device: simulated
// expect: error kernel-hang count=1 message="a barrier of the grid that others never reach"
// not-checked: leak
// run: never_unlocked
// device: simulated
// expect: error kernel-hang count=1 line=LINE(never_unlocked) message="polls memory"
// not-checked: leak
// run: crossed_locks
// device: simulated
// expect: error kernel-hang count=1 line=LINE(crossed_locks) message="polls memory"
// not-checked: leak
// run: counted_too_far
// device: simulated
// expect: error kernel-hang count=1 line=LINE(counted_too_far) message="polls memory"
// not-checked: leak
// run: elected_arrive
// device: simulated
// expect: error kernel-hang count=1 line=LINE(elected_arrive) message="waits for 1 arrival more"
// not-checked: leak
// run: pipeline_one_short
// device: simulated
// expect: error kernel-hang count=1 message="waits for 1 arrival more"
// not-checked: leak
// run: expects_one_more
// device: simulated
// expect: error kernel-hang count=1 message="waits for 1 arrival more"
// not-checked: leak
// run: named_for_both
// device: simulated
// expect: error kernel-hang count=4 line=LINE(named_for_both) message="at a barrier for more threads than there are"
// not-checked: leak
// run: half_of_a_warp
// device: simulated
// expect: error kernel-hang count=1 line=LINE(half_of_a_warp) message="polls memory"
// not-checked: leak
// run: never_started
// device: simulated
// expect: error kernel-hang count=1 line=LINE(never_started) message="blocks wait for others that cannot start"
// not-checked: leak
// run: right
// device: simulated
// expect: clean
// run: right-3
// device: simulated
// options: --device-seed 3 --device-threads 2
// expect: clean
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <cstdint>
#include <new>

#include "answers.h"

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 64;
constexpr auto kBlock = cuda::thread_scope_block;

// A block is gone before the barrier of the grid.
template <bool ok>
__global__ void left_the_grid(int* a)
{
  if (!ok && blockIdx.x == 2) return;
  a[blockIdx.x * kThreads + threadIdx.x] = 1;
  cg::this_grid().sync(); // @left_the_grid
}

// One block makes a turn more than the others.
template <bool ok>
__global__ void turns_of_the_grid(int* a)
{
  const int turns = ok || blockIdx.x != 3 ? 3 : 4;
  for (int turn = 0; turn < turns; ++turn) {
    a[blockIdx.x * kThreads + threadIdx.x] = turn;
    cg::this_grid().sync(); // @turns_of_the_grid
  }
}

// The block that has got the lock keeps it.
template <bool ok>
__global__ void never_unlocked(int* a)
{
  if (threadIdx.x != 0) return;
  while (atomicCAS(a, 0, 1) != 0) {} // @never_unlocked
  __threadfence();
  a[1] += 1;
  __threadfence();
  if (ok || blockIdx.x != 0) atomicExch(a, 0);
}

// Two blocks take two locks in different orders, and both have got their first one.
template <bool ok>
__global__ void crossed_locks(int* a)
{
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  const int first = ok ? 0 : blockIdx.x;
  while (atomicCAS(&a[first], 0, 1) != 0) {}
  if (!ok) {
    atomicAdd(&a[2], 1);
    while (atomicAdd(&a[2], 0) < 2) {}
  }
  while (atomicCAS(&a[1 - first], 0, 1) != 0) {} // @crossed_locks
  __threadfence();
  a[3] += 1;
  __threadfence();
  atomicExch(&a[1 - first], 0);
  atomicExch(&a[first], 0);
}

// A count that is never reached.
template <bool ok>
__global__ void counted_too_far(int* a)
{
  if (threadIdx.x != 0) return;
  if (blockIdx.x != 0) {
    atomicAdd(a, 1);
    return;
  }
  while (atomicAdd(a, 0) < (ok ? kBlocks - 1 : kBlocks)) {} // @counted_too_far
  a[1] = 1;
}

// An elected thread of each warp arrives, in two warps; the mbarrier waits for three.
template <bool ok>
__global__ void elected_arrive(int* a)
{
  __shared__ std::uint64_t bar;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(ok ? 2 : 3));
  __syncthreads();
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; @p mbarrier.arrive.shared.b64 _, [%0]; }" ::"r"(address)
               : "memory");
  unsigned is_over = 0;
  while (is_over == 0)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(is_over)
                 : "r"(address) // @elected_arrive
                 : "memory");
  a[blockIdx.x * kThreads + threadIdx.x] = 1;
}

// One thread leaves out one of its copies.
template <bool ok>
__global__ void pipeline_one_short(int* a)
{
  using State = cuda::pipeline_shared_state<kBlock, 2>;
  __shared__ alignas(State) char storage[sizeof(State)];
  __shared__ int buffer[2][kThreads];
  auto pipe = cuda::make_pipeline(cg::this_thread_block(), reinterpret_cast<State*>(storage));
  for (int i = 0; i < 4; ++i) {
    if (ok || i != 2 || threadIdx.x != 5) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[i % 2][threadIdx.x], &a[i * kThreads + threadIdx.x], sizeof(int), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    a[512 + blockIdx.x * kThreads + threadIdx.x] += buffer[i % 2][threadIdx.x];
    pipe.consumer_release();
  }
}

template <bool ok>
__global__ void expects_one_more(int* a)
{
  using Barrier = cuda::barrier<kBlock>;
  __shared__ alignas(Barrier) char storage[sizeof(Barrier)];
  auto* barrier = reinterpret_cast<Barrier*>(storage);
  if (threadIdx.x == 0) new (barrier) Barrier(ok ? kThreads : kThreads + 1);
  __syncthreads();
  barrier->arrive_and_wait();
  a[blockIdx.x * kThreads + threadIdx.x] = 1;
}

// A barrier for 64 threads that one warp of 32 comes to.
template <bool ok>
__global__ void named_for_both(int* a)
{
  if (ok || threadIdx.x < 32) asm volatile("barrier.sync.aligned 1, 64;" ::: "memory"); // @named_for_both
  a[blockIdx.x * kThreads + threadIdx.x] = 1;
}

// Half of a warp waits for a flag, in front of the barrier at which the other half raises none.
template <bool ok>
__global__ void half_of_a_warp(int* a)
{
  volatile int* flag = a;
  if (threadIdx.x >= 32) return;
  if (ok && threadIdx.x == 0) *flag = 1;
  if (threadIdx.x >= 16)
    while (*flag == 0) {} // @half_of_a_warp
  __syncwarp();
  a[kThreads + blockIdx.x * kThreads + threadIdx.x] = 1;
}

// All blocks but the last wait for it, and are more than a device has room for; or all wait for the first.
template <bool ok>
__global__ void never_started(int* a)
{
  if (threadIdx.x != 0) return;
  const unsigned awaited = ok ? 0 : gridDim.x - 1;
  if (blockIdx.x == awaited) atomicExch(a, 1);
  while (atomicAdd(a, 0) == 0) {} // @never_started
}

static void launch(void (*kernel)(int*), int* a)
{
  void* arguments[] = {&a};
  CHECK(cudaMemset(a, 0, 4096));
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), dim3(kBlocks), dim3(kThreads), arguments));
}

int main(int argc, char** argv)
{
  int* a;
  CHECK(cudaMalloc(&a, 4096));
  CHECK(cudaMemset(a, 0, 4096));
  const bool ok = started_with(argc, argv, "right") || started_with(argc, argv, "right-3");
#define KIND(kernel)                                                                                                   \
  if (ok) launch(kernel<true>, a);                                                                                     \
  else if (started_with(argc, argv, #kernel)) launch(kernel<false>, a)
  KIND(left_the_grid);
  KIND(turns_of_the_grid);
  KIND(never_unlocked);
  KIND(crossed_locks);
  KIND(counted_too_far);
  KIND(elected_arrive);
  KIND(pipeline_one_short);
  KIND(expects_one_more);
  KIND(named_for_both);
  KIND(half_of_a_warp);
  if (ok) {
    CHECK(cudaMemset(a, 0, 4096));
    never_started<true><<<600, 1024>>>(a);
  } else if (started_with(argc, argv, "never_started")) {
    never_started<false><<<600, 1024>>>(a);
  }
  const cudaError_t result = cudaDeviceSynchronize();
  if (ok) CHECK(cudaFree(a));
  return result == (ok ? cudaSuccess : cudaErrorLaunchTimeout) ? 0 : 1;
}
