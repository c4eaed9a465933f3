// SPDX-License-Identifier: Apache-2.0
// __managed__ variables: memory that host and device reach at one address, and that nobody allocated. Copies may take
// them for either side's memory.
//
// run:
// expect: clean
// run: past
// device: simulated
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy message="static managed memory" stacks="looked up here","copied here"@main:LINE(past)
#include "answers.h"

constexpr size_t kCount = 64;
__managed__ int counts[kCount];
__managed__ int first;

int main(int argc, char** argv)
{
  constexpr auto kUp = cudaMemcpyHostToDevice, kDown = cudaMemcpyDeviceToHost, kAcross = cudaMemcpyDeviceToDevice;
  int values[kCount] = {1, 2, 3};
  int back[kCount] = {};
  int *block = nullptr, *taken = counts;
  CHECK(cudaMalloc(&block, sizeof values));
  CHECK(cudaMemcpy(taken, values, sizeof values, kUp)); // as the device's
  CHECK(cudaMemcpy(block, taken, sizeof values, kUp)); // as the host's
  CHECK(cudaMemcpy(taken, block, sizeof values, kDown));
  CHECK(cudaMemcpy(taken, block, sizeof values, kAcross));
  CHECK(cudaMemcpy(&first, block, sizeof first, cudaMemcpyDefault));
  CHECK(cudaMemcpyToSymbol(counts, values, sizeof values));
  CHECK(cudaMemcpyFromSymbol(back, counts, sizeof back));
  if (started_with(argc, argv, "past"))
    ANSWERS(cudaErrorInvalidValue, cudaMemcpy(taken + 1, values, sizeof values, kUp)); // @past
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block));
  return first != 1 || counts[1] != 2 || std::memcmp(values, back, sizeof values) != 0;
}
