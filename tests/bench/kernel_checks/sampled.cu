// SPDX-License-Identifier: Apache-2.0
// A program of some seconds with kernels of which checks cost most and least, to be run plain, with
// --kernel-checks and with --kernel-checks-sample: how much longer does the whole of it take? One
// kernel, which comes late and seldom, has a mistake. Prints the seconds.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if ((call) != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(cudaGetLastError()));             \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

__global__ void product(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y,
            column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ void stencil(const float* from, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) to[i] = 0.25F * from[i - 1] + 0.5F * from[i] + 0.25F * from[i + 1];
}

__global__ void scale(float* a, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= by;
}

__global__ void close(float* a, int n) {
  if (threadIdx.x == 0) a[n] = 1; // one behind the end, in memory of no block
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 4000;
  constexpr int kSide = 512, kCount = 1 << 20;
  constexpr int kFew = 25;
  float *a, *b, *c, *x, *y, *few;
  CHECK(cudaMalloc(&few, kFew * sizeof(float)));
  for (float** matrix : {&a, &b, &c}) CHECK(cudaMalloc(matrix, kSide * kSide * sizeof(float)));
  for (float** vector : {&x, &y}) CHECK(cudaMalloc(vector, kCount * sizeof(float)));
  for (float* matrix : {a, b, c}) CHECK(cudaMemset(matrix, 0, kSide * kSide * sizeof(float)));
  for (float* vector : {x, y}) CHECK(cudaMemset(vector, 0, kCount * sizeof(float)));
  product<<<dim3(kSide / 16, kSide / 16), dim3(16, 16)>>>(a, b, c, kSide); // loads the code
  CHECK(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    product<<<dim3(kSide / 16, kSide / 16), dim3(16, 16)>>>(a, b, c, kSide);
    for (int i = 0; i < 10; ++i) {
      stencil<<<kCount / 256, 256>>>(x, y, kCount);
      std::swap(x, y);
    }
    scale<<<kCount / 256, 256>>>(x, kCount, 1.5F);
    if (round % 500 == 499) close<<<1, 32>>>(few, kFew);
    if (round % 10 == 9) CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%d rounds: %.3f s\n", rounds, spent.count());
  for (float* memory : {a, b, c, x, y, few}) CHECK(cudaFree(memory));
  return 0;
}
