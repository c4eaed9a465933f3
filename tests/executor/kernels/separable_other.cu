// SPDX-License-Identifier: Apache-2.0
// Second source of the program `separable`.
#include "separable.h"

__device__ int shared_counter = 7;
__device__ int shared_table[8] = {0, 11, 22, 33, 44, 55, 66, 77};
__constant__ float shared_factor = 2.5F;

static __device__ int own = 1000;
static __device__ __noinline__ int helper(int x) { return x + own; }

__device__ int from_other_file(int x) { return calls_back(x) + 1; }

static __device__ int doubled(int x) { return 2 * x; }
static __device__ int negated(int x) { return -x; }
__device__ SharedFunction shared_functions[2] = {doubled, negated};

__global__ void other_file(int* out, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) out[i] = helper(i) + in_both_files(i);
}

void launch_other(int* out, int n) { other_file<<<1, 128>>>(out, n); }
