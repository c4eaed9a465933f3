// SPDX-License-Identifier: Apache-2.0
// What two files of one program (-rdc=true) each have of their own by the same name: texts of
// printf, variables, constants, functions and kernels. NUMBER is 1 or 2; the longer things are the
// second file's.
#pragma once

#include <cstdio>

namespace {

#if NUMBER == 1
#define TEXT "one"
#else
#define TEXT "the second file, whose text is longer than a line of the first one could ever be: two"
#endif

__device__ int tally = NUMBER;
__device__ int filled[NUMBER == 1 ? 4 : 4000] = {10 * NUMBER};
__constant__ int table[4] = {NUMBER, 20 * NUMBER, 300 * NUMBER, 4000 * NUMBER};
__device__ const char* const words[] = {TEXT, "and " TEXT};
__managed__ int shared_with_host = 7 * NUMBER;

__device__ __noinline__ int own(int index) { return table[index] + tally + filled[0]; }

__global__ void same_name(int* out) {
  __shared__ int buffer[NUMBER == 1 ? 32 : 1024];
  buffer[threadIdx.x] = own(static_cast<int>(threadIdx.x));
  tally += 1;
  out[threadIdx.x] = buffer[threadIdx.x] + shared_with_host;
  printf("%s, %s\n", TEXT, words[1]);
}

// 1 + own's: table[i] + tally + filled[0], and what the host shares.
inline bool is_right() {
  int* out = nullptr;
  int host[4] = {}, counted = 0;
  cudaMalloc(&out, sizeof host);
  shared_with_host += 1;
  same_name<<<1, 1>>>(out);
  cudaMemcpy(host, out, sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&counted, tally, sizeof counted);
  cudaFree(out);
  return host[0] == NUMBER + NUMBER + 10 * NUMBER + 7 * NUMBER + 1 && counted == NUMBER + 1 &&
         shared_with_host == 7 * NUMBER + 1;
}

} // namespace
