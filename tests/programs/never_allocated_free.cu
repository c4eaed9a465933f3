// SPDX-License-Identifier: Apache-2.0
// Pointers that CUDA never gave out: of the stack and of malloc().
//
// run: stack
// expect: error invalid-free count=1 api=cudaFree stacks="freed here"@free_stack:LINE(stack)
// run: heap
// expect: error invalid-free count=1 api=cudaFree stacks="freed here"@free_heap:LINE(heap)
// run: host-function
// expect: error invalid-free count=1 api=cudaFreeHost stacks="freed here"@free_heap_as_pinned:LINE(host)
#include "answers.h"

static void free_stack()
{
  char buffer[64] = {};
  ANSWERS(cudaErrorInvalidValue, cudaFree(buffer)); // @stack
}

static void free_heap()
{
  void* block = std::malloc(4096);
  ANSWERS(cudaErrorInvalidValue, cudaFree(block)); // @heap
  std::free(block);
}

static void free_heap_as_pinned()
{
  void* block = std::malloc(4096);
  ANSWERS(cudaErrorInvalidValue, cudaFreeHost(block)); // @host
  std::free(block);
}

int main(int argc, char** argv)
{
  CHECK(cudaFree(nullptr)); // creates the context
  if (started_with(argc, argv, "stack"))
    free_stack();
  else if (started_with(argc, argv, "heap"))
    free_heap();
  else
    free_heap_as_pinned();
  return 0;
}
