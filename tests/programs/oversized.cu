// SPDX-License-Identifier: Apache-2.0
// Large blocks that copies and sets use to a small part, and blocks of the same size that are used further, by a kernel,
// or not at all.
//
// run:
// expect: warning oversized count=2 bytes=8388608 message="Only 128.0 KiB of 8.0 MiB of device memory in 2 blocks allocated by cudaMalloc was ever used: copies and sets reached no more, and no texture or kernel was given a pointer into it." stacks="allocated here"@make:LINE(make)
// run: kernel-elsewhere
// expect: note oversized count=1 bytes=4194304 message="though a kernel may have found one in memory" stacks="allocated here"@make:LINE(make)
// run: kernel
// expect: silent
// run: unread
// env: GPUMEMTRACE_LAUNCH_ARGUMENTS=0
// expect: silent
// run: filled
// expect: silent
// run: one-of-many
// expect: silent
// run: untouched
// expect: warning unused count=1 bytes=4194304
#include "answers.h"

constexpr size_t kBytes = 4 << 20, kPart = 64 << 10;

__global__ void look(const char*) {}

static char* make()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @make
  return block;
}

// Sets the first bytes of a new block, which it frees.
__attribute__((noinline)) static void use(size_t bytes)
{
  char* block = make();
  CHECK(cudaMemset(block, 0, bytes));
  CHECK(cudaFree(block));
}

// The numbers of rounds are known at run time alone, so that no loop is unrolled into several call stacks.
int main(int argc, char** argv)
{
  if (started_with(argc, argv, "")) {
    for (int i = 0; i < 2 * argc; ++i)
      use(kPart);
  } else if (started_with(argc, argv, "filled")) {
    use(kBytes);
  } else if (started_with(argc, argv, "one-of-many")) {
    for (int i = 1; i <= 2 * argc; ++i)
      use(i * kBytes / 4);
  } else {
    char* block = make();
    if (!started_with(argc, argv, "untouched"))
      CHECK(cudaMemset(block, 0, kPart));
    if (started_with(argc, argv, "kernel"))
      look<<<1, 32>>>(block);
    if (started_with(argc, argv, "kernel-elsewhere") || started_with(argc, argv, "unread"))
      look<<<1, 32>>>(nullptr);
    CHECK(cudaFree(block));
  }
  return 0;
}
