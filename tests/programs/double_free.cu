// SPDX-License-Identifier: Apache-2.0
// The second free of a block is refused and reported with all three stacks, whichever function frees.
//
// run:
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@make_rows:LINE(alloc),"first freed here"@drop_rows:LINE(first),"freed again here"@shut_down:LINE(again)
// run: pinned
// expect: error double-free count=1 api=cudaFreeHost stacks="allocated here"@pinned_twice:LINE(pinned-alloc),"first freed here"@pinned_twice:LINE(pinned-first),"freed again here"@pinned_twice:LINE(pinned-again)
// run: async
// expect: error double-free count=1 api=cudaFreeAsync stacks="allocated here"@async_twice:LINE(async-alloc),"first freed here"@async_twice:LINE(async-first),"freed again here"@async_twice:LINE(async-again)
// run: async-then-free
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@freed_by_both:LINE(both-alloc),"first freed here"@freed_by_both:LINE(both-first),"freed again here"@freed_by_both:LINE(both-again)
#include "answers.h"

static float* make_rows()
{
  float* rows = nullptr;
  CHECK(cudaMalloc(&rows, 4096)); // @alloc
  TOUCH(rows, 4096);
  return rows;
}

static void drop_rows(float* rows)
{
  CHECK(cudaFree(rows)); // @first
}

static void shut_down(float* rows)
{
  ANSWERS(cudaErrorInvalidValue, cudaFree(rows)); // @again
}

static void pinned_twice()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, 4096)); // @pinned-alloc
  CHECK(cudaFreeHost(block)); // @pinned-first
  ANSWERS(cudaErrorInvalidValue, cudaFreeHost(block)); // @pinned-again
}

static void async_twice()
{
  void* block = nullptr;
  CHECK(cudaMallocAsync(&block, 4096, nullptr)); // @async-alloc
  CHECK(cudaMemsetAsync(block, 0, 4096, nullptr));
  CHECK(cudaFreeAsync(block, nullptr)); // @async-first
  ANSWERS(cudaErrorInvalidValue, cudaFreeAsync(block, nullptr)); // @async-again
  CHECK(cudaDeviceSynchronize());
}

static void freed_by_both()
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @both-alloc
  TOUCH(block, 4096);
  CHECK(cudaFreeAsync(block, nullptr)); // @both-first
  CHECK(cudaDeviceSynchronize());
  ANSWERS(cudaErrorInvalidValue, cudaFree(block)); // @both-again
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "pinned")) {
    pinned_twice();
  } else if (started_with(argc, argv, "async")) {
    async_twice();
  } else if (started_with(argc, argv, "async-then-free")) {
    freed_by_both();
  } else {
    float* rows = make_rows();
    drop_rows(rows);
    shut_down(rows);
  }
  return 0;
}
