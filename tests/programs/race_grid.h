// SPDX-License-Identifier: Apache-2.0
// For programs that are lists of kernels with and without a race: short names of a thread's place, and how a kernel runs.
#pragma once

#include "answers.h"

// The thread in its block and in the grid, its block, the threads of a block and of the grid
#define T static_cast<int>(threadIdx.x)
#define B static_cast<int>(blockIdx.x)
#define N static_cast<int>(blockDim.x)
#define I (B * N + T)
#define G (N * static_cast<int>(gridDim.x))

// On zeros, four blocks of 64.
inline void run(void (*kernel)(int*, int*))
{
  constexpr std::size_t kBytes = 2048 * sizeof(int);
  int *a, *b;
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMemset(a, 0, kBytes));
  CHECK(cudaMemset(b, 0, kBytes));
  void* arguments[] = {&a, &b};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), dim3(4), dim3(64), arguments));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}
