// SPDX-License-Identifier: Apache-2.0
// Prefix sums need one element more than there are values: the kernel stores sums[0] to sums[count],
// and the program allocates only count of them. CUDA says nothing, since the store stays in the same
// page of 2 MiB. With --guard the GPU faults at the store. With "clean" there is room for the last.
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds message="right behind the end of 8.0 KiB" stacks="accessed here"@write_starts:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(starts)
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect-simulated: error kernel-out-of-bounds message="right behind the end of 8.0 KiB" stacks="accessed here"@write_starts:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(starts)
// expect-real: error kernel-fault message="the only memory that its launch was given is 8.0 KiB" stacks="accessed here"@write_starts:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(starts)
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kRows = 2048;
constexpr int kRowLength = 12;

// Where each row of a matrix begins, and where the last one ends.
__global__ void write_starts(int* starts, int rows, int row_length)
{
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row <= rows) starts[row] = row * row_length; // @store
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  const std::size_t bytes = (kRows + (clean ? 1 : 0)) * sizeof(int);
  int* starts = nullptr;
  CHECK(cudaMalloc(&starts, bytes)); // @starts
  write_starts<<<kRows / 256 + 1, 256>>>(starts, kRows, kRowLength); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<int> host(kRows);
  CHECK(cudaMemcpy(host.data(), starts, kRows * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(starts));
  std::printf("%d %d %d ...\n", host[0], host[1], host[2]);
}
