// SPDX-License-Identifier: Apache-2.0
// A function whose last act is a call leaves no frame in optimised code. "tail call" stands in its place; where every
// function has its frame, and in place of a kernel, it does not stand.
//
// run:
// expect-O2: error leak count=1 tail-calls=1 stacks="allocated here"@main:LINE(make-rows)
// expect-O0: error leak count=1 tail-calls=0 stacks="allocated here"@last_act:LINE(last-act)
// expect: error leak count=1 tail-calls=0 stacks="allocated here"@first_act:LINE(first-act)
// run: kernel
// expect: error use-after-free count=1 tail-calls=0 stacks="launched here"@main:LINE(launch),"allocated here"@main:LINE(alloc),"freed here"@main:LINE(free)
#include "answers.h"

// "noipa" keeps the functions as they are written.
[[gnu::noinline, gnu::noipa]] cudaError_t last_act(void** rows)
{
  return cudaMalloc(rows, 4096); // @last-act
}

[[gnu::noinline, gnu::noipa]] cudaError_t make_rows(void** rows)
{
  return last_act(rows);
}

[[gnu::noinline, gnu::noipa]] cudaError_t first_act(void** rows)
{
  CHECK(cudaMalloc(rows, 8192)); // @first-act
  return cudaMemset(*rows, 0, 8192);
}

__global__ void read_rows(const int* rows)
{
  if (rows == nullptr)
    printf("no rows\n");
}

int main(int argc, char** argv)
{
  void* rows = nullptr;
  if (started_with(argc, argv, "kernel")) {
    CHECK(cudaMalloc(&rows, 4096)); // @alloc
    TOUCH(rows, 4096);
    CHECK(cudaFree(rows)); // @free
    read_rows<<<1, 1>>>(static_cast<int*>(rows)); // @launch
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return 0;
  }
  CHECK(make_rows(&rows)); // @make-rows
  TOUCH(rows, 4096);
  CHECK(first_act(&rows));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
