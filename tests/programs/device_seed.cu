// SPDX-License-Identifier: Apache-2.0
// A kernel whose blocks need the first one to run before them, and nothing makes them wait for it. It is right in the
// order in which blocks are numbered, and wrong in others. The exit status is 1 if it is wrong.
// run: numbered
// device: simulated
// options: --device-threads 1 --device-seed 0
// expect: clean
// run: mixed
// device: simulated
// options: --device-threads 1 --device-seed 3
// exit: 1
// expect: clean
// run: mixed-otherwise
// device: simulated
// options: --device-threads 1 --device-seed 4
// exit: 1
// expect: clean
#include "answers.h"

constexpr int kBlocks = 64;

__global__ void hand_on(volatile int* first, int* seen)
{
  if (blockIdx.x == 0) *first = 7;
  seen[blockIdx.x] = *first;
}

int main()
{
  int *first, *seen, host[kBlocks];
  CHECK(cudaMalloc(&first, sizeof(int)));
  CHECK(cudaMemset(first, 0, sizeof(int)));
  CHECK(cudaMalloc(&seen, sizeof host));
  hand_on<<<kBlocks, 1>>>(first, seen);
  CHECK(cudaMemcpy(host, seen, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(first));
  CHECK(cudaFree(seen));
  int wrong = 0;
  for (const int value : host) wrong += value != 7;
  return wrong == 0 ? 0 : 1;
}
