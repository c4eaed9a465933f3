// SPDX-License-Identifier: Apache-2.0
// However a program ends by itself, what is alive is a leak; and what the destructor of a static object frees after
// main() is none. The object is made after the first CUDA call, so that it goes before the runtime does; a global one
// would find the runtime gone (error 4, cudaErrorCudartUnloading) and free nothing.
//
// run: return
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: exit
// exit: 5
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: _exit
// exit: 6
// expect: error leak bytes=4096 count=1 stacks="allocated here"@take:LINE(alloc)
// run: destructor
// expect: clean
#include "answers.h"

#include <unistd.h>

static char* take()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(block, 4096);
  return block;
}

struct Owner {
  char* block;
  ~Owner()
  {
    if (cudaFree(block) != cudaSuccess)
      _exit(3);
  }
};

static void static_owner(char* block)
{
  static Owner owner{block};
}

int main(int argc, char** argv)
{
  char* block = take();
  if (started_with(argc, argv, "exit"))
    std::exit(5);
  if (started_with(argc, argv, "_exit"))
    _exit(6);
  if (started_with(argc, argv, "destructor"))
    static_owner(block);
  return 0;
}
