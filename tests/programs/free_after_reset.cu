// SPDX-License-Identifier: Apache-2.0
// cudaDeviceReset ends everything that is alive: a leak that names the reset, and a later free of such a block is
// invalid for the same reason. A block allocated after the reset is an ordinary one.
//
// run:
// expect: error leak bytes=8192 count=1 stacks="allocated here"@make_block:LINE(alloc),"context ended here"@main:LINE(reset)
// expect: error invalid-free count=1 api=cudaFree stacks="allocated here"@make_block:LINE(alloc),"context ended here"@main:LINE(reset),"freed here"@main:LINE(free)
// run: nothing-alive
// expect: clean
#include "answers.h"

static char* make_block(size_t bytes)
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, bytes)); // @alloc
  TOUCH(block, bytes);
  return block;
}

int main(int argc, char** argv)
{
  bool nothing_alive = started_with(argc, argv, "nothing-alive");
  char* block = make_block(8192);
  if (nothing_alive)
    CHECK(cudaFree(block));
  CHECK(cudaDeviceReset()); // @reset
  if (!nothing_alive)
    ANSWERS(cudaErrorInvalidValue, cudaFree(block)); // @free
  char* later = make_block(12288);
  CHECK(cudaFree(later));
  return 0;
}
