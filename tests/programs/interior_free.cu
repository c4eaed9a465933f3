// SPDX-License-Identifier: Apache-2.0
// Freeing a pointer into the middle of a block is refused; the block stays alive and can be freed properly.
//
// run:
// expect: error invalid-free count=1 api=cudaFree stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(interior)
// run: leave
// expect: error invalid-free count=1 api=cudaFree stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(interior)
// expect: error leak bytes=4096 count=1 stacks="allocated here"@main:LINE(alloc)
#include "answers.h"

int main(int argc, char** argv)
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(block, 4096);
  ANSWERS(cudaErrorInvalidValue, cudaFree(block + 16)); // @interior
  if (!started_with(argc, argv, "leave"))
    CHECK(cudaFree(block));
  return 0;
}
