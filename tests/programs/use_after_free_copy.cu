// SPDX-License-Identifier: Apache-2.0
// Copies from and sets of memory that was freed before, by cudaFree and in stream order.
//
// run: copy
// expect: error use-after-free count=1 api=cudaMemcpy stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(free),"copied here"@main:LINE(copy)
// run: set
// expect: error use-after-free count=1 api=cudaMemsetAsync stacks="allocated here"@set_after_async_free:LINE(alloc-async),"freed here"@set_after_async_free:LINE(free-async),"set here"@set_after_async_free:LINE(set)
#include "answers.h"

static void set_after_async_free()
{
  char* block = nullptr;
  CHECK(cudaMallocAsync(&block, 4096, nullptr)); // @alloc-async
  CHECK(cudaMemsetAsync(block, 0, 4096, nullptr));
  CHECK(cudaFreeAsync(block, nullptr)); // @free-async
  ANSWERS(cudaErrorInvalidValue, cudaMemsetAsync(block, 1, 4096, nullptr)); // @set
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "set")) {
    set_after_async_free();
    return 0;
  }
  char host[256];
  char* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(block, 4096);
  CHECK(cudaFree(block)); // @free
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(host, block, sizeof host, cudaMemcpyDeviceToHost)); // @copy
  return 0;
}
