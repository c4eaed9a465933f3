// SPDX-License-Identifier: Apache-2.0
// An assert in a kernel that does not hold. CUDA prints its text for each thread and answers "assert"
// (710) to all later calls; which launch it was, CUDA does not say. With --guard or --core-dump the
// report names the line and the launch. With "clean" the assert holds.
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// exit-simulated: 3
// exit-real: 3
// expect-real: error kernel-fault message="cudaErrorAssert (710)" stacks="reported here"@main,"launched here"@main:LINE(launch),"allocated here"@main
// expect-simulated: error kernel-assert message="values[i] >= 0" stacks="failed here"@roots:LINE(assert),"launched here"@main:LINE(launch)
// not-checked: leak
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// expect: error kernel-assert message="values[i] >= 0" stacks="failed here"@roots:LINE(assert),"launched here"@main:LINE(launch)
// not-checked: leak
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kValues = 1024;

__global__ void roots(float* values)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(values[i] >= 0); // @assert
  values[i] = sqrtf(values[i]);
}

int main(int count_of_words, char** words)
{
  const bool clean = count_of_words > 1 && std::strcmp(words[1], "clean") == 0;
  std::vector<float> host(kValues, 4.0f);
  if (!clean) host[700] = -1;
  float* values = nullptr;
  CHECK(cudaMalloc(&values, kValues * sizeof(float)));
  CHECK(cudaMemcpy(values, host.data(), kValues * sizeof(float), cudaMemcpyHostToDevice));
  roots<<<kValues / 256, 256>>>(values); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), values, kValues * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(values));
  std::printf("%g %g ...\n", host[0], host[1]);
}
