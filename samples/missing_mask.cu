// SPDX-License-Identifier: Apache-2.0
// A kernel without a test for the threads behind the last value: 50 blocks of 256 threads are
// launched for 12,672 values, and half of the last block stores behind them. CUDA says nothing, since
// the stores stay in the same page of 2 MiB. With --guard the GPU faults. With "clean" they are masked.
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds count=128 message="right behind the end of 49.5 KiB" stacks="accessed here"@add:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(sums)
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect: error kernel-out-of-bounds message="the end of 49.5 KiB" stacks="accessed here"@add:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(sums)
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kValues = 99 * 128;
constexpr int kThreads = 256;

__global__ void add(float value, float* sums, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = value + static_cast<float>(i); // @store
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  constexpr int kBlocks = (kValues + kThreads - 1) / kThreads;
  constexpr std::size_t kBytes = kValues * sizeof(float);
  float* sums = nullptr;
  CHECK(cudaMalloc(&sums, kBytes)); // @sums
  CHECK(cudaMemset(sums, 0, kBytes));
  add<<<kBlocks, kThreads>>>(1, sums, clean ? kValues : kBlocks * kThreads); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<float> host(kValues);
  CHECK(cudaMemcpy(host.data(), sums, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(sums));
  std::printf("%g %g %g ...\n", host[0], host[1], host[2]);
}
