// SPDX-License-Identifier: Apache-2.0
// cudaHostUnregister is the free of cudaHostRegister: twice, of memory that was never registered, and of memory that
// cudaMallocHost pinned.
//
// run: twice
// expect: error double-free count=1 api=cudaHostUnregister stacks="registered here"@main:LINE(register),"first unregistered here"@main:LINE(first),"unregistered again here"@main:LINE(again)
// run: never
// expect: error invalid-free count=1 api=cudaHostUnregister stacks="freed here"@main:LINE(never)
// run: pinned
// expect: error mismatched-free count=1 api=cudaHostUnregister stacks="allocated here"@unregister_pinned:LINE(alloc-pinned),"freed here"@unregister_pinned:LINE(pinned)
#include "answers.h"

alignas(4096) static char memory[8192];

static void unregister_pinned()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, 8192)); // @alloc-pinned
  ANSWERS(cudaErrorInvalidValue, cudaHostUnregister(block)); // @pinned
  CHECK(cudaFreeHost(block));
}

int main(int argc, char** argv)
{
  CHECK(cudaFree(nullptr)); // creates the context
  if (started_with(argc, argv, "twice")) {
    CHECK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault)); // @register
    CHECK(cudaHostUnregister(memory)); // @first
    ANSWERS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(memory)); // @again
  } else if (started_with(argc, argv, "never")) {
    ANSWERS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(memory)); // @never
  } else {
    unregister_pinned();
  }
  return 0;
}
