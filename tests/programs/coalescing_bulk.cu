// SPDX-License-Identifier: Apache-2.0
// A kernel that brings its data by a bulk copy of the tensor memory accelerator (Hopper and later), which no instruction's
// counts hold: that is said, and nothing is claimed about what the copy moved. Of a kernel that loads it nothing is left out.
//
// run: bulk
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// not-checked: memory accesses
// run: plain
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
#include <cuda_runtime.h>

#include "answers.h"

constexpr unsigned kThreads = 256, kBlocks = 4096;

__global__ void add_one_by_bulk(const int* from, int* to)
{
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) int part[kThreads];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(part));
  const unsigned arrived = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(arrived) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(kThreads * 4) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
                 "l"(from + blockIdx.x * kThreads), "r"(kThreads * 4), "r"(arrived)
                 : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; done == 0;) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done)
                 : "r"(arrived)
                 : "memory");
  }
  to[blockIdx.x * kThreads + threadIdx.x] = part[threadIdx.x] + 1;
#else
  to[blockIdx.x * kThreads + threadIdx.x] = from[blockIdx.x * kThreads + threadIdx.x] + 1;
#endif
}

__global__ void add_one(const int* from, int* to)
{
  to[blockIdx.x * kThreads + threadIdx.x] = from[blockIdx.x * kThreads + threadIdx.x] + 1;
}

int main(int argc, char** argv)
{
  int *from = nullptr, *to = nullptr, found[kThreads] = {};
  const size_t bytes = sizeof(int) * kBlocks * kThreads;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMemset(from, 1, bytes));
  if (started_with(argc, argv, "bulk"))
    add_one_by_bulk<<<kBlocks, kThreads>>>(from, to);
  else
    add_one<<<kBlocks, kThreads>>>(from, to);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(found, to + bytes / sizeof(int) - kThreads, sizeof found, cudaMemcpyDeviceToHost));
  for (int value : found)
    ANSWERS(0x01010102, value);
  CHECK(cudaFree(to));
  CHECK(cudaFree(from));
}
