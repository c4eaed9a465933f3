// SPDX-License-Identifier: Apache-2.0
// Allocations that cannot succeed: as much as the device has in all, and more than any device has. The program goes on
// with what it holds, or asks for less until it gets it, which is a note.
//
// run: total
// expect: warning out-of-memory count=1 api=cudaMalloc stacks="failed here"@take_all:LINE(total),"held here"@main
// run: less
// expect: note out-of-memory count=2 api=cudaMalloc message="asked again, CUDA gave" stacks="failed here"@take_what_there_is:LINE(less),"held here"@main
// run: absurd
// expect: warning out-of-memory count=1 api=cudaMalloc stacks="failed here"@take_too_much:LINE(absurd),"held here"@main
#include "answers.h"

__global__ void use(void*) {}

static void take_all()
{
  void* block = nullptr;
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  ANSWERS(cudaErrorMemoryAllocation, cudaMalloc(&block, total)); // @total
}

static void take_what_there_is()
{
  void* block = nullptr;
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  int tries = 0;
  for (size_t bytes = free_bytes / 8 * 14; block == nullptr; bytes = bytes / 3 * 2) {
    if (cudaMalloc(&block, bytes) != cudaSuccess) { // @less
      ANSWERS(cudaErrorMemoryAllocation, cudaGetLastError());
      ++tries;
    }
  }
  if (tries != 2) exit(4);
  use<<<1, 1>>>(block);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block));
}

static void take_too_much()
{
  void* block = nullptr;
  ANSWERS(cudaErrorMemoryAllocation, cudaMalloc(&block, size_t{1} << 60)); // @absurd
}

int main(int argc, char** argv)
{
  void* held = nullptr;
  CHECK(cudaMalloc(&held, 1 << 20));
  TOUCH(held, 1 << 20);
  if (started_with(argc, argv, "total"))
    take_all();
  else if (started_with(argc, argv, "less"))
    take_what_there_is();
  else
    take_too_much();
  CHECK(cudaFree(held));
  return 0;
}
