// SPDX-License-Identifier: Apache-2.0
// The process dies inside a driver call, here in the third allocation, by order of the simulated device: the report
// names that call, and leaks are not checked.
//
// run:
// device: simulated
// env: GPUMEMTRACE_SIM_ABORT_IN=cuMemAlloc_v2:3
// exit: signal 6
// expect: note unfinished-call count=1 api=cudaMalloc stacks="called here"@take:LINE(alloc)
// not-checked: leak
// run: untouched
// expect: clean
#include "answers.h"

static char* take()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(block, 4096);
  return block;
}

int main()
{
  char* blocks[5];
  for (char*& block : blocks)
    block = take();
  for (char* block : blocks)
    CHECK(cudaFree(block));
  return 0;
}
