// SPDX-License-Identifier: Apache-2.0
// Stores so close to their block that no page can be unmapped there: up to 511 bytes behind a fenced
// block, and the bytes in front of it, stay mapped. --guard fills them with a pattern and looks at it
// when the block is freed. Words:
//   slack      stores 8 bytes behind the block
//   underrun   stores 8 bytes in front of the block
//   clean      stores into the block alone
//
// A word with "-fenced" behind it does the same; it gives the run under --guard a name of its own.
//
// unlike-fenced: a store that the executor finds in a kernel, the fence finds by its pattern
// run: clean
// expect: clean
// run: clean-fenced
// options: --guard
// expect: clean
// run: clean-before
// options: --guard before
// expect: clean
// run: slack
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds count=2 message="right behind the end of 3.9 KiB" stacks="accessed here"@fill:LINE(fill),"launched here"@main:LINE(slack),"allocated here"@main:LINE(alloc)
// run: slack-fenced
// options: --guard
// expect: error kernel-out-of-bounds count=1 message="8 bytes" stacks="allocated here"@main:LINE(alloc),"launched here"@main:LINE(whole),"launched here"@main:LINE(slack),"freed here"@main:LINE(free)
// run: underrun-fenced
// options: --guard
// expect: error kernel-out-of-bounds count=1 message="8 bytes" stacks="allocated here"@main:LINE(alloc),"launched here"@main:LINE(whole),"launched here"@main:LINE(underrun),"freed here"@main:LINE(free)
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "check.h"

constexpr int kElements = 1000; // 4,000 bytes: the mapping goes on for 96 bytes behind them

__global__ void fill(float* out, int first, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[first + i] = 1.0f; // @fill
}

int main(int count_of_words, char** words)
{
  const char* word = count_of_words > 1 ? words[1] : "clean";
  float* data = nullptr;
  CHECK(cudaMalloc(&data, kElements * sizeof(float))); // @alloc
  CHECK(cudaMemset(data, 0, kElements * sizeof(float)));
  fill<<<4, 256>>>(data, 0, kElements); // @whole
  if (std::strncmp(word, "slack", 5) == 0) {
    fill<<<1, 32>>>(data, kElements, 2); // @slack
  } else if (std::strncmp(word, "underrun", 8) == 0) {
    fill<<<1, 32>>>(data, -2, 2); // @underrun
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data)); // @free
  std::printf("%s: no error\n", word);
}
