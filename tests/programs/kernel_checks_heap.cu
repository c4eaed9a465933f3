// SPDX-License-Identifier: Apache-2.0
// --kernel-checks: malloc and free in kernels leave records, though the program was compiled without device_hooks. On the
// simulated device what is found is found by them, too: it leaves the heap to code that logs.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run:
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error device-heap-leak count=3 bytes=48 stacks="allocated here"@keep:LINE(malloc),"launched here"@main:LINE(keep)
// expect: error device-heap-leak count=1 bytes=24 message="allocated by malloc in launch 1 of make(Made**)"
#include "answers.h"

__global__ void keep(int** to) {
  to[threadIdx.x] = static_cast<int*>(malloc(16)); // @malloc
  *to[threadIdx.x] = 1;
}
__global__ void give_back(int** from, int n) {
  if (threadIdx.x < n) free(from[threadIdx.x]);
}
struct Made {
  double values[3];
};
__global__ void make(Made** to) {
  *to = new Made{};
  delete new Made{};
}

int main() {
  void* blocks = nullptr;
  CHECK(cudaMalloc(&blocks, 8 * sizeof(int*)));
  keep<<<1, 8>>>(static_cast<int**>(blocks)); // @keep
  give_back<<<1, 8>>>(static_cast<int**>(blocks), 5);
  make<<<1, 1>>>(static_cast<Made**>(blocks));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(blocks));
  return 0;
}
