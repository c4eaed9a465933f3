// SPDX-License-Identifier: Apache-2.0
// Launches that CUDA refuses, for reasons that the report names.
//
// run: shared
// expect: warning api-error count=1 message="transpose" message="65,536 bytes of dynamic shared memory, where 49,152 are allowed without cudaFuncSetAttribute" stacks="failed here"@launch:LINE(launch)
// run: beside
// expect: warning api-error count=1 message="49,152 bytes of dynamic shared memory, where" message="that the kernel declares" stacks="failed here"@main:LINE(beside)
// run: opted-in
// expect: warning api-error count=1 message="98,304 bytes of dynamic shared memory, where 65,536 are allowed" stacks="failed here"@launch:LINE(launch)
// run: advice
// expect: clean
// run: grid
// expect: warning api-error count=1 message="the grid's extent y or z is 0 or more than 65,535" stacks="failed here"@main:LINE(grid)
// run: advice beside
// expect: clean
// run: bounds
// expect: warning api-error count=1 message="a block of 512 threads, where this kernel may have 256, as its __launch_bounds__ say" stacks="failed here"@main:LINE(bounds)
// run: advice bounds
// expect: clean
// run: repeated
// expect: warning api-error count=3000 message="65,536 bytes of dynamic shared memory" stacks="failed here"@launch:LINE(launch)
// run: threads
// expect: warning api-error count=1 message="2,048 threads" stacks="failed here"@main:LINE(threads)
#include "answers.h"

__global__ void transpose(float* out)
{
  extern __shared__ float tile[];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void declares(float* out)
{
  extern __shared__ float tile[];
  __shared__ float own[256];
  own[threadIdx.x] = tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x] + own[threadIdx.x];
}

__global__ void __launch_bounds__(256) bounded(float* out) { out[threadIdx.x % 256] = 1; }

__global__ void __launch_bounds__(512) as_advised(float* out) { out[threadIdx.x % 256] = 1; }

static cudaError_t launch(float* out, unsigned shared)
{
  transpose<<<1, 256, shared>>>(out); // @launch
  return cudaGetLastError();
}

static bool allow(int bytes)
{
  return cudaFuncSetAttribute(transpose, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  float* out = nullptr;
  CHECK(cudaMalloc(&out, 256 * sizeof(float)));
  CHECK(cudaMemset(out, 0, 256 * sizeof(float)));
  cudaError_t answer = cudaErrorInvalidValue;
  if (is("shared")) answer = launch(out, 65536);
  if (is("beside")) {
    declares<<<1, 256, 49152>>>(out); // @beside
    answer = cudaGetLastError();
  }
  if (is("opted-in") && allow(65536)) answer = launch(out, 98304);
  if (is("threads")) {
    transpose<<<1, 2048, 1024>>>(out); // @threads
    answer = cudaGetLastError();
  }
  if (is("grid")) {
    transpose<<<dim3(1, 70000), 256, 1024>>>(out); // @grid
    answer = cudaGetLastError();
  }
  if (is("bounds")) {
    bounded<<<1, 512>>>(out); // @bounds
    answer = cudaGetLastError();
  }
  for (int i = 0; is("repeated") && i < 3000; ++i) answer = launch(out, 65536);
  if (is("advice")) {
    const char* of = argc > 2 ? argv[2] : "";
    if (std::strcmp(of, "beside") == 0) {
      CHECK(cudaFuncSetAttribute(declares, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152));
      declares<<<1, 256, 49152>>>(out);
    } else if (std::strcmp(of, "bounds") == 0) {
      as_advised<<<1, 512>>>(out);
    } else {
      CHECK(allow(65536) ? launch(out, 65536) : cudaErrorUnknown);
    }
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaFree(out));
  return answer == cudaErrorInvalidValue ? 0 : 4;
}
