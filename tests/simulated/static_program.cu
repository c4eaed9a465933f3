// SPDX-License-Identifier: Apache-2.0
// A program with the runtime linked in, as nvcc builds by default. The simulated device cannot
// serve it: this program reports the error its runtime gives and ends with 3, which
// check_static_runtime.sh expects.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void kernel() {}

int main() {
  void* pointer = nullptr;
  const cudaError_t error = cudaMalloc(&pointer, 100);
  std::printf("cudaMalloc: %d %s\n", static_cast<int>(error), cudaGetErrorString(error));
  kernel<<<1, 1>>>();
  std::printf("launch: %d\n", static_cast<int>(cudaGetLastError()));
  return error == cudaSuccess ? 0 : 3;
}
