// SPDX-License-Identifier: Apache-2.0
// Allocations of zero bytes give nullptr and succeed; copies and sets of zero bytes do nothing. None is a mistake.
//
// run:
// expect: clean
#include "answers.h"

int main()
{
  void *device = nullptr, *pinned = nullptr, *managed = nullptr, *async = nullptr, *block = nullptr;
  char byte = 0;
  CHECK(cudaMalloc(&device, 0));
  CHECK(cudaMallocHost(&pinned, 0));
  CHECK(cudaMallocManaged(&managed, 0));
  CHECK(cudaMallocAsync(&async, 0, nullptr));
  if (device != nullptr || pinned != nullptr || managed != nullptr || async != nullptr)
    return 4;
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
  CHECK(cudaFreeAsync(async, nullptr));

  CHECK(cudaMalloc(&block, 64));
  TOUCH(block, 64);
  CHECK(cudaMemset(block, 0, 0));
  CHECK(cudaMemcpy(block, &byte, 0, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(&byte, static_cast<char*>(block) + 64, 0, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(block));
  return 0;
}
