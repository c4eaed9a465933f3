// SPDX-License-Identifier: Apache-2.0
// A stencil whose last cell has no right neighbour: the kernel reads one value past the end of its
// input. What it reads there lies in the same page of 2 MiB, so CUDA says nothing. With --guard the
// page ends where the input ends, and the GPU faults at the load. With "clean" the last cell stays.
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds message="right behind the end of 16.0 KiB" stacks="accessed here"@smooth:LINE(read),"launched here"@main:LINE(launch),"allocated here"@main:LINE(input)
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect: error kernel-out-of-bounds message="right behind the end of 16.0 KiB" stacks="accessed here"@smooth:LINE(read),"launched here"@main:LINE(launch),"allocated here"@main:LINE(input)
// or: registers no longer hold the address
// expect: error kernel-fault message="its launch was given 2 blocks of memory" stacks="accessed here"@smooth:LINE(read),"launched here"@main:LINE(launch),"allocated here"@main:LINE(input),"allocated here"@main:LINE(output)
// not-checked: leak
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kCells = 4096; // 16 KiB, which is a multiple of the alignment: nothing is behind them

__global__ void smooth(const float* in, float* out, int cells)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= cells) return;
  out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3; // @read
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  constexpr std::size_t kBytes = kCells * sizeof(float);
  std::vector<float> cells(kCells, 1.0f);
  float *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, kBytes)); // @input
  CHECK(cudaMalloc(&out, kBytes)); // @output
  CHECK(cudaMemcpy(in, cells.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(out, cells.data(), kBytes, cudaMemcpyHostToDevice));
  smooth<<<kCells / 256, 256>>>(in, out, clean ? kCells - 1 : kCells); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(cells.data(), out, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  std::printf("%g %g %g ...\n", cells[0], cells[1], cells[2]);
}
