// SPDX-License-Identifier: Apache-2.0
// A program that ends while CUPTI measures: it never calls anything that waits, but sees by a flag in mapped memory that its
// kernel is done. What was measured is read when the process exits. If the kernel still runs then (busy), it is not waited for.
//
// run: done
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in its only launch" line=LINE(load)
// expect: error leak bytes=4194304 count=1 stacks="allocated here":LINE(from)
// expect: error leak bytes=4194304 count=1 stacks="allocated here":LINE(to)
// expect: error leak bytes=4 count=1
// run: done by-exit
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 message="in its only launch" line=LINE(load)
// expect: error leak bytes=4194304 count=1 stacks="allocated here":LINE(from)
// expect: error leak bytes=4194304 count=1 stacks="allocated here":LINE(to)
// expect: error leak bytes=4 count=1
// run: busy
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: error leak bytes=4194304 count=1 stacks="allocated here":LINE(from)
// expect: error leak bytes=4194304 count=1 stacks="allocated here":LINE(to)
// expect: error leak bytes=4 count=1
// not-checked: memory accesses
#include <cuda_runtime.h>

#include <unistd.h>

#include "answers.h"

constexpr unsigned kThreads = 256, kBlocks = 4096, kStride = 32;
constexpr long long kLongest = 5'000'000'000; // cycles: some seconds

__device__ unsigned blocks_done;

// The last block raises the flag, or spins for long.
__global__ void add_far(const int* from, int* to, volatile int* flag, bool spins)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  int far = from[i % (kBlocks * kThreads / kStride) * kStride]; // @load
  to[i] += far;
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&blocks_done, 1u) != kBlocks - 1)
    return;
  for (long long began = clock64(); spins && clock64() - began < kLongest;) {
  }
  *flag = 1;
}

int main(int argc, char** argv)
{
  int *from = nullptr, *to = nullptr, *flag = nullptr;
  const size_t bytes = sizeof(int) * kBlocks * kThreads;
  CHECK(cudaMalloc(&from, bytes)); // @from
  CHECK(cudaMalloc(&to, bytes)); // @to
  CHECK(cudaMemset(from, 1, bytes));
  CHECK(cudaMemset(to, 0, bytes));
  CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
  volatile int* raised = flag;
  *raised = 0;
  const bool busy = started_with(argc, argv, "busy");
  add_far<<<kBlocks, kThreads>>>(from, to, flag, busy);
  CHECK(cudaGetLastError());
  while (!busy && *raised == 0) {
  }
  usleep(100'000); // the flag is raised a little before the kernel ends
  if (argc > 2)
    std::exit(0);
}
