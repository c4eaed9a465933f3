// SPDX-License-Identifier: Apache-2.0
// What programs with two devices share: kernels over memory that either device has, and streams of both, which reach
// each other's memory.
#pragma once

#include "answers.h"

#include <vector>

constexpr int kValues = 1 << 16;
constexpr size_t kBytes = kValues * sizeof(float);

__global__ void add(float* to, const float* from, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

__global__ void fill(float* to, float value, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = value;
}

inline void run_fill(float* to, float value, cudaStream_t stream)
{
  fill<<<kValues / 256, 256, 0, stream>>>(to, value, kValues);
  CHECK(cudaGetLastError());
}

inline void run_add(float* to, const float* from, cudaStream_t stream)
{
  add<<<kValues / 256, 256, 0, stream>>>(to, from, kValues);
  CHECK(cudaGetLastError());
}

inline void must_hold(const float* values, float expected)
{
  std::vector<float> got(kValues);
  CHECK(cudaMemcpy(got.data(), values, kBytes, cudaMemcpyDeviceToHost));
  for (float value : got)
    ANSWERS(static_cast<int>(expected), static_cast<int>(value));
}

inline void let_use(cudaMemPool_t pool, int device)
{
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, device};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  CHECK(cudaMemPoolSetAccess(pool, &access, 1));
}

// What comes behind in the one stream waits for what the other one has now, whosever they are.
inline void let_wait(cudaStream_t stream, cudaStream_t other)
{
  cudaEvent_t done = nullptr;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK(cudaEventRecord(done, other));
  CHECK(cudaStreamWaitEvent(stream, done, 0));
  CHECK(cudaEventDestroy(done));
}

inline void reach_each_other()
{
  for (int device = 0; device < 2; ++device) {
    int possible = 0;
    CHECK(cudaDeviceCanAccessPeer(&possible, device, 1 - device));
    CHECK(!possible);
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
  }
}

// One of each device. The device that is current afterwards is 0.
struct Streams {
  cudaStream_t of_device[2] = {};

  Streams()
  {
    reach_each_other();
    for (int device = 1; device >= 0; --device) {
      CHECK(cudaSetDevice(device));
      CHECK(cudaStreamCreateWithFlags(&of_device[device], cudaStreamNonBlocking));
    }
  }
  ~Streams()
  {
    for (cudaStream_t stream : of_device)
      (void)cudaStreamDestroy(stream); // its context may be dead
  }
};
