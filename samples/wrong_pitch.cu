// SPDX-License-Identifier: Apache-2.0
// A matrix with padded rows: a kernel adds the pitch, which is in bytes, to a pointer to float. So
// its rows lie four times as far apart as the matrix has them, and the last ones behind its end.
// CUDA says nothing, since they lie in the same page of 2 MiB. With --guard the GPU faults there.
// With "clean" the kernel adds the pitch to a pointer to char.
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds message="the end of 32.0 KiB of pitched" stacks="accessed here"@fill:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(matrix)
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect: error kernel-out-of-bounds message="the end of 32.0 KiB of pitched" stacks="accessed here"@fill:LINE(store),"launched here"@main:LINE(launch),"allocated here"@main:LINE(matrix)
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kRows = 64;
constexpr int kColumns = 100; // 400 bytes, so that a row takes 512

__device__ float* row_begin(float* matrix, std::size_t pitch, int row, bool clean)
{
  if (clean) return reinterpret_cast<float*>(reinterpret_cast<char*>(matrix) + row * pitch);
  return matrix + row * pitch;
}

__global__ void fill(float* matrix, std::size_t pitch, bool clean)
{
  const int row = blockIdx.x;
  row_begin(matrix, pitch, row, clean)[threadIdx.x] = static_cast<float>(row); // @store
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  constexpr std::size_t kRowBytes = kColumns * sizeof(float);
  float* matrix = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&matrix, &pitch, kRowBytes, kRows)); // @matrix
  CHECK(cudaMemset2D(matrix, pitch, 0, kRowBytes, kRows));
  fill<<<kRows, kColumns>>>(matrix, pitch, clean); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<float> first(kColumns);
  CHECK(cudaMemcpy(first.data(), matrix, kRowBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(matrix));
  std::printf("%g %g %g ...\n", first[0], first[1], first[2]);
}
