// SPDX-License-Identifier: Apache-2.0
// libcu++: a barrier of a block, which is an mbarrier from sm_80 on.
#include <cuda/barrier>

#include "torture.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void block_barrier(int* out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, static_cast<int>(blockDim.x));
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x) * (round + 1);
    barrier.arrive_and_wait();
    out[threadIdx.x] += values[(threadIdx.x + 1) % blockDim.x];
    barrier.arrive_and_wait();
  }
}
#else
__global__ void block_barrier(int*) {}
#endif

int main() {
  torture::Array<int> rounds(64);
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, block_barrier));
  if (attributes.ptxVersion < 80) return torture::finish();
  std::vector<int> want(64);
  for (int t = 0; t < 64; ++t) want[t] = 6 * ((t + 1) % 64);
  block_barrier<<<1, 64>>>(rounds);
  torture::expect("block_barrier", rounds, want);
  return torture::finish();
}
