// SPDX-License-Identifier: Apache-2.0
// What a kernel keeps in local memory. An array that is indexed at run time finds no registers: each thread writes its 64
// elements there and reads each of them twice. Local memory is laid out so that neighbouring threads are neighbours there, so
// each of these takes a warp 4 sectors: 192 accesses of 2,048 warps make 48 MiB. With constant indices the same sums stay in
// registers, and nothing is said.
//
// run: indexed
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: note local-spill bytes=50331648 message="(1,572,864 sectors by 2 instructions" line=LINE(read)
// run: indexed some
// device: gpu
// options: --coalescing --coalescing-launches=2
// expect: note local-spill bytes=201326592 message="measured in 2 of 4 launches" line=LINE(read)
// run: constant
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
#include <cuda_runtime.h>

#include "answers.h"

constexpr unsigned kThreads = 256, kBlocks = 256, kElements = 64;

// Which elements are summed is not known before the kernel runs.
__global__ void sum_indexed(const unsigned* order, unsigned* sums)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x, elements[kElements], sum = 0;
#pragma unroll 1
  for (unsigned k = 0; k < kElements; ++k)
    elements[order[k]] = i + k;
#pragma unroll 1
  for (unsigned k = 0; k < 2 * kElements; ++k)
    sum += elements[order[k % kElements] ^ 1] * k; // @read
  sums[i] = sum;
}

__global__ void sum_constant(const unsigned* order, unsigned* sums)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x, sum = 0;
#pragma unroll
  for (unsigned k = 0; k < 2 * kElements; ++k)
    sum += (i + (k % kElements ^ 1)) * k + order[k % kElements] - k % kElements;
  sums[i] = sum;
}

int main(int argc, char** argv)
{
  void (*kernel)(const unsigned*, unsigned*) = started_with(argc, argv, "indexed") ? sum_indexed : sum_constant;
  const unsigned launches = argc > 2 ? 4 : 1;
  unsigned order[kElements], *device_order = nullptr, *sums = nullptr, expected = 0, found[2] = {};
  for (unsigned k = 0; k < kElements; ++k)
    order[k] = k;
  for (unsigned k = 0; k < 2 * kElements; ++k)
    expected += (k % kElements ^ 1) * k;
  CHECK(cudaMalloc(&device_order, sizeof order));
  CHECK(cudaMalloc(&sums, kBlocks * kThreads * sizeof *sums));
  CHECK(cudaMemcpy(device_order, order, sizeof order, cudaMemcpyHostToDevice));
  for (unsigned i = 0; i < launches; ++i) {
    kernel<<<kBlocks, kThreads>>>(device_order, sums);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost));
  ANSWERS(expected, found[0]); // of thread 0
  CHECK(cudaFree(sums));
  CHECK(cudaFree(device_order));
}
