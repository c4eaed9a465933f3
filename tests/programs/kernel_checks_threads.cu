// SPDX-License-Identifier: Apache-2.0
// --kernel-checks and a kernel that uses nearly all registers which a block of 1,024 threads leaves each of them: its checked form,
// which needs more, is launched with as many threads all the same.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistake
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 message="right behind the end of" stacks="accessed here"@mix:LINE(mix),"launched here"@run:LINE(launch),"allocated here"@run:LINE(block)
// run: right
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
#include "answers.h"

constexpr int kThreads = 1024, kValues = 40;

// All values are read before the first one is written, and each depends on all others.
__global__ void mix(const float* from, float* to, int n, float scale) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  float values[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) values[i] = from[i * n + thread] * scale;
#pragma unroll
  for (int turn = 1; turn < kValues; turn *= 2) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) values[i] += values[(i + turn) % kValues];
  }
#pragma unroll
  for (int i = 0; i < kValues; ++i) to[i * n + thread] = values[i]; // @mix
}

static void run(int missing) {
  const int n = 2 * kThreads, bytes = kValues * n * static_cast<int>(sizeof(float));
  float *from = nullptr, *to = nullptr;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes - missing)); // @block
  CHECK(cudaMemset(from, 0, bytes));
  CHECK(cudaMemset(to, 0, bytes - missing));
  mix<<<2, kThreads>>>(from, to, n, 2.0f); // @launch
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

int main(int argc, char** argv) {
  run(started_with(argc, argv, "mistake") ? static_cast<int>(sizeof(float)) : 0);
  return 0;
}
