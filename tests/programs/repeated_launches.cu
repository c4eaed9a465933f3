// SPDX-License-Identifier: Apache-2.0
// Launches whose arguments are those of an earlier launch. The trace holds such arguments once; what is wrong with one
// launch is still found at that launch alone, and 2,000 others in between change nothing.
//
// run:
// expect: error use-after-free count=1 message="passes as parameter 2 the pointer" stacks="launched here"@main:LINE(freed),"allocated here"@main:LINE(alloc),"freed here"@main:LINE(free)
// expect: error use-after-free count=1 message="passes as parameter 1 the pointer" stacks="launched here"@main:LINE(other),"allocated here"@main:LINE(alloc),"freed here"@main:LINE(free)
#include "answers.h"

#include <vector>

// It touches no memory: on a GPU the mistakes must not end the program.
__global__ void join(const float*, const float*) {}

int main()
{
  float *first = nullptr, *second = nullptr;
  CHECK(cudaMalloc(&first, 2000 * sizeof(float)));
  CHECK(cudaMalloc(&second, 2000 * sizeof(float))); // @alloc
  TOUCH(first, 2000 * sizeof(float));
  TOUCH(second, 2000 * sizeof(float));
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 1000; ++i) {
      join<<<1, 1>>>(first + i, second);
      join<<<1, 1>>>(second + i, first);
    }
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(second)); // @free
  join<<<1, 1>>>(first, first + 1);
  join<<<1, 1>>>(first + 7, second); // @freed
  join<<<1, 1>>>(second + 999, first); // @other
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(first));
}
