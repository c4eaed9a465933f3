// SPDX-License-Identifier: Apache-2.0
// A stale pointer is freed after its address was given to a new block. CUDA sees a legal free of the new block, so the
// stale free is no double free; accusing it would be a guess. The mistake shows when the new block's owner frees it:
// that is a double free of the *new* block, and its "first freed here" leads to the stale free.
// With `owner-forgets` the owner never frees: the stale free has done it, and nothing is wrong in what CUDA saw.
//
// unlike-fenced: addresses do not come back
// run:
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@make_new:LINE(alloc-new),"first freed here"@free_stale:LINE(stale),"freed again here"@main:LINE(owner)
// run: owner-forgets
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
#include "answers.h"

constexpr size_t kBytes = 1 << 20;
constexpr int kTries = 64;

static char* make_old()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes));
  TOUCH(block, kBytes);
  return block;
}

static char* make_new()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @alloc-new
  TOUCH(block, kBytes);
  return block;
}

static void free_stale(char* block)
{
  CHECK(cudaFree(block)); // @stale
}

int main(int argc, char** argv)
{
  // A driver may hand out other addresses first: blocks are taken until the old address comes back.
  char* others[kTries];
  int other_count = 0;
  char* old_block = make_old();
  CHECK(cudaFree(old_block));
  char* new_block = make_new();
  while (new_block != old_block && other_count < kTries) {
    others[other_count++] = new_block;
    new_block = make_new();
  }
  for (int i = 0; i < other_count; ++i)
    CHECK(cudaFree(others[i]));
  if (new_block != old_block) {
    std::fprintf(stderr, "this device does not reuse addresses\n");
    return 4;
  }

  free_stale(old_block);
  if (!started_with(argc, argv, "owner-forgets"))
    ANSWERS(cudaErrorInvalidValue, cudaFree(new_block)); // @owner
  return 0;
}
