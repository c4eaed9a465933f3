// SPDX-License-Identifier: Apache-2.0
// Eight streams that pass one block each through copies, a kernel and events: correct, so nothing is to be reported.
//
// run:
// expect: clean
#include "answers.h"

constexpr int kStreams = 8;
constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void increment(int* values)
{
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main()
{
  cudaStream_t streams[kStreams];
  cudaEvent_t done[kStreams];
  int *host = nullptr, *blocks[kStreams];
  CHECK(cudaMallocHost(&host, kStreams * kBytes));
  std::memset(host, 0, kStreams * kBytes);
  for (int i = 0; i < kStreams; ++i) {
    CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done[i]));
    CHECK(cudaMalloc(&blocks[i], kBytes));
  }
  for (int i = 0; i < kStreams; ++i) {
    int* part = host + i * kCount;
    if (i > 0)
      CHECK(cudaStreamWaitEvent(streams[i], done[i - 1], 0));
    CHECK(cudaMemcpyAsync(blocks[i], part, kBytes, cudaMemcpyHostToDevice, streams[i]));
    increment<<<kCount / 128, 128, 0, streams[i]>>>(blocks[i]);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(part, blocks[i], kBytes, cudaMemcpyDeviceToHost, streams[i]));
    CHECK(cudaEventRecord(done[i], streams[i]));
  }
  float milliseconds = 0;
  CHECK(cudaEventSynchronize(done[kStreams - 1]));
  CHECK(cudaEventElapsedTime(&milliseconds, done[0], done[kStreams - 1]));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kStreams; ++i) {
    CHECK(cudaFree(blocks[i]));
    CHECK(cudaEventDestroy(done[i]));
    CHECK(cudaStreamDestroy(streams[i]));
  }
  CHECK(cudaFreeHost(host));
  return 0;
}
