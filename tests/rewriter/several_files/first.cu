// SPDX-License-Identifier: Apache-2.0
// The kernel is here, the access that leaves the block in second.cu.
#include <cstdio>

__device__ extern int table[8];
__device__ int element(const int* from, int i);

__global__ void use(const int* from, int* to, int n) {
  to[threadIdx.x] = element(from, threadIdx.x) + table[threadIdx.x % 8] + n;
}

int main() {
  int *from = nullptr, *to = nullptr, on_host[64] = {};
  cudaMalloc(&from, 60 * sizeof(int)); // four too few
  cudaMalloc(&to, sizeof on_host);
  cudaMemset(from, 0, 60 * sizeof(int));
  use<<<1, 64>>>(from, to, 1);
  cudaMemcpy(on_host, to, sizeof on_host, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", on_host[1], on_host[59]);
  cudaFree(from);
  cudaFree(to);
}
