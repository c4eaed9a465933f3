// SPDX-License-Identifier: Apache-2.0
// Structures passed by value with a field that points to freed memory. Where nothing tells whether the kernel uses the
// field, it is a warning. The simulated device and the fence show a use, so there an unused field is no finding.
//
// unlike-fenced: it has runs of its own with --guard
// run: unused
// expect-simulated: clean
// expect-real: warning use-after-free count=1 message="The launch of sum(float*, Rows) passes in parameter 2 the pointer" stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(free),"launched here"@main:LINE(launch)
// run: unused fenced
// options: --guard
// expect: clean
// run: used
// expect-simulated: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@sum:LINE(use),"launched here"@main:LINE(launch),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// expect-real: warning use-after-free count=1 message="The launch of sum(float*, Rows) passes in parameter 2 the pointer" stacks="allocated here"@main:LINE(alloc),"freed here"@main:LINE(free),"launched here"@main:LINE(launch)
// run: used fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// expect-simulated: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@sum:LINE(use),"launched here"@main:LINE(launch),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// expect-real: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@sum:LINE(use),"launched here"@main:LINE(launch),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// not-checked: leak
// or: the load overwrites the registers that held its address
// expect: error kernel-fault message="its launch was given a pointer into memory that was already freed: 4.0 KiB" stacks="accessed here"@sum:LINE(use),"launched here"@main:LINE(launch),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc),"allocated here"@main:LINE(alloc-result),"allocated here"@main:LINE(alloc-live)
// not-checked: leak
#include "answers.h"

struct Rows {
  int count;
  const float* rows[3];
};

// The loop keeps the compiler from knowing which rows are used.
__global__ void sum(float* result, Rows rows)
{
  float all = 0;
  for (int i = 0; i < rows.count; ++i) all += *rows.rows[i]; // @use
  *result = all;
}

int main(int argc, char** argv)
{
  float *live = nullptr, *block = nullptr, *result = nullptr;
  CHECK(cudaMalloc(&result, sizeof *result)); // @alloc-result
  CHECK(cudaMalloc(&live, 4000)); // @alloc-live
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(live, 4000);
  TOUCH(block, 4096);
  CHECK(cudaFree(block)); // @free
  const Rows rows{started_with(argc, argv, "used") ? 3 : 2, {live, live, block}};
  sum<<<1, 1>>>(result, rows); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  TOUCH(result, sizeof *result);
  CHECK(cudaFree(result));
  CHECK(cudaFree(live));
  return 0;
}
