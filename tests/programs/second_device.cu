// SPDX-License-Identifier: Apache-2.0
// Mistakes on the second device, while the first one works.
// run: leak
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: error leak count=1 bytes=4096 stacks="allocated here"@leak_on:LINE(leaked)
// run: unordered
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: error stream-order count=1 stacks="used here"@unordered:LINE(unordered),"allocated here"@unordered:LINE(ordered)
// run: freed
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// unlike-fenced: the driver ends the program behind its core dump
// expect-simulated: error kernel-use-after-free stacks="accessed here"@fill_held:LINE(held),"launched here"@fault:LINE(launch),"freed here"@fault:LINE(freed),"allocated here"@fault:LINE(block)
// expect-real: error kernel-fault message="kernels that may have been running: fill_held" stacks="reported here"@fault:LINE(waited),"launched here"@fault:LINE(launch),"allocated here"@fault:LINE(holder)
// not-checked: leak
// run: freed-fenced
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// options: --guard
// exit-real: signal 6
// expect: error kernel-use-after-free stacks="accessed here"@fill_held:LINE(held),"launched here"@fault:LINE(launch),"freed here"@fault:LINE(freed),"allocated here"@fault:LINE(block)
// not-checked: leak
// run: overrun-fenced
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// options: --guard
// exit-real: signal 6
// expect: error kernel-out-of-bounds stacks="accessed here"@fill_held:LINE(held),"launched here"@fault:LINE(launch),"allocated here"@fault:LINE(block)
// not-checked: leak
#include "two_devices.h"

struct Holder {
  float* values;
};

__global__ void fill_held(const Holder* holder, float value, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) holder->values[i] = value; // @held
}

static void leak_on(int device)
{
  void* kept = nullptr;
  CHECK(cudaSetDevice(device));
  CHECK(cudaMalloc(&kept, 4096)); // @leaked
  TOUCH(kept, 4096);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
}

// Device 0 uses memory of device 1's pool and does not wait for it.
static void unordered(const cudaStream_t* streams)
{
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 1));
  let_use(pool, 0);
  CHECK(cudaSetDevice(1));
  float* values = nullptr;
  CHECK(cudaMallocAsync(&values, kBytes, streams[1])); // @ordered
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemsetAsync(values, 0, kBytes, streams[0])); // @unordered
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  CHECK(cudaFreeAsync(values, streams[1]));
  CHECK(cudaDeviceSynchronize());
}

// The mistake of device 1's kernel comes while device 0 works.
static void fault(const cudaStream_t* streams, size_t bytes, int count, bool freed)
{
  float *values = nullptr, *others = nullptr;
  Holder* holder = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&others, kBytes));
  for (int i = 0; i < 20; ++i)
    run_fill(others, 1, streams[0]);
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&values, bytes)); // @block
  CHECK(cudaMalloc(&holder, sizeof *holder)); // @holder
  const Holder held{values};
  CHECK(cudaMemcpy(holder, &held, sizeof held, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize()); // a copy from pageable memory may go on behind its call
  run_fill(values, 1, streams[1]);
  CHECK(cudaStreamSynchronize(streams[1]));
  if (freed)
    CHECK(cudaFree(values)); // @freed
  fill_held<<<(count + 255) / 256, 256, 0, streams[1]>>>(holder, 2, count); // @launch
  CHECK(cudaSetDevice(0));
  for (int i = 0; i < 20; ++i)
    run_fill(others, 1, streams[0]);
  CHECK(cudaStreamSynchronize(streams[0])); // its context lives on
  CHECK(cudaFree(others));
  CHECK(cudaSetDevice(1));
  const int answer = cudaStreamSynchronize(streams[1]); // @waited
  std::printf("device 1 answers %d\n", answer);
  if (answer != 0)
    return;
  CHECK(cudaFree(holder));
  if (!freed)
    CHECK(cudaFree(values));
}

int main(int argc, char** argv)
{
  Streams streams;
  if (started_with(argc, argv, "leak"))
    leak_on(1);
  else if (started_with(argc, argv, "unordered"))
    unordered(streams.of_device);
  else if (started_with(argc, argv, "overrun-fenced"))
    fault(streams.of_device, kBytes, kValues + 64, false);
  else
    fault(streams.of_device, size_t{64} << 20, kValues, true);
  return 0;
}
