// SPDX-License-Identifier: Apache-2.0
// Allocations that cannot succeed: as much as the device has in all, and more than any device has. The program goes on
// with what it holds.
//
// run: total
// expect: warning out-of-memory count=1 api=cudaMalloc stacks="failed here"@take_all:LINE(total),"held here"@main
// run: absurd
// expect: warning out-of-memory count=1 api=cudaMalloc stacks="failed here"@take_too_much:LINE(absurd),"held here"@main
#include "answers.h"

static void take_all()
{
  void* block = nullptr;
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  ANSWERS(cudaErrorMemoryAllocation, cudaMalloc(&block, total)); // @total
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
  else
    take_too_much();
  CHECK(cudaFree(held));
  return 0;
}
