// SPDX-License-Identifier: Apache-2.0
// c = a + b with one element a thread and with four, all of 64 MiB. The four of a thread lie a block apart, so that in
// each step the threads of a warp ask for neighbours: four loads are on their way at once and nothing is wasted.
// Variant "neighbours": the four of a thread lie side by side, so that a warp's 128 bytes come from 16 sectors instead
// of four. Words: [one|four|neighbours [counted: the same]]. Output: the best time of three and what it moved.
// run:
// expect: clean
// run: one
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: one counted
// device: gpu
// options: --counters --coalescing-launches=all
// expect: silent
// counted: add_one
// run: four
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
// run: neighbours
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=4 cause=array-of-structs line=LINE(a)
// expect: warning uncoalesced ratio=4 cause=array-of-structs line=LINE(b)
// expect: warning uncoalesced ratio=4 cause=array-of-structs line=LINE(c)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr unsigned kCount = 16u << 20;
constexpr unsigned kThreads = 256, kUnroll = 4;

__device__ float a_of(unsigned i) { return static_cast<float>(i % 1024); }
__device__ float b_of(unsigned i) { return static_cast<float>(i / 1024); }

__global__ void fill(float* a, float* b)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  a[i] = a_of(i);
  b[i] = b_of(i);
}

__global__ void add_one(float* c, const float* a, const float* b)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  c[i] = a[i] + b[i];
}

__global__ void add_four(float* c, const float* a, const float* b)
{
  unsigned first = blockIdx.x * kThreads * kUnroll + threadIdx.x;
  float sums[kUnroll];
#pragma unroll
  for (unsigned k = 0; k < kUnroll; ++k)
    sums[k] = a[first + k * kThreads] + b[first + k * kThreads];
#pragma unroll
  for (unsigned k = 0; k < kUnroll; ++k)
    c[first + k * kThreads] = sums[k];
}

__global__ void add_four_neighbours(float* c, const float* a, const float* b)
{
  unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kUnroll;
#pragma unroll
  for (unsigned k = 0; k < kUnroll; ++k) {
    float x = a[first + k]; // @a
    float y = b[first + k]; // @b
    c[first + k] = x + y; // @c
  }
}

__global__ void count_right(const float* c, unsigned* right)
{
  unsigned i = blockIdx.x * kThreads + threadIdx.x;
  int in_block = __syncthreads_count(c[i] == a_of(i) + b_of(i));
  if (threadIdx.x == 0)
    atomicAdd(right, in_block);
}

template <typename Launch>
static float best_milliseconds(Launch launch)
{
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  float best = 1e9f;
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::min(best, milliseconds);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return best;
}

int main(int argc, char** argv)
{
  const char* how = argc > 1 ? argv[1] : "four";
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  // The simulated device's times mean nothing.
  bool kernels_run = std::strcmp(device.name, "gpumemtrace simulated device") != 0;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  unsigned *device_right = nullptr, right = 0;
  CHECK(cudaMalloc(&a, kCount * sizeof(float)));
  CHECK(cudaMalloc(&b, kCount * sizeof(float)));
  CHECK(cudaMalloc(&c, kCount * sizeof(float)));
  CHECK(cudaMalloc(&device_right, sizeof right));
  CHECK(cudaMemset(device_right, 0, sizeof right));
  fill<<<kCount / kThreads, kThreads>>>(a, b);
  float milliseconds = best_milliseconds([&] {
    if (std::strcmp(how, "one") == 0)
      add_one<<<kCount / kThreads, kThreads>>>(c, a, b);
    else if (std::strcmp(how, "neighbours") == 0)
      add_four_neighbours<<<kCount / kThreads / kUnroll, kThreads>>>(c, a, b);
    else
      add_four<<<kCount / kThreads / kUnroll, kThreads>>>(c, a, b);
    CHECK(cudaGetLastError());
  });
  count_right<<<kCount / kThreads, kThreads>>>(c, device_right);
  CHECK(cudaMemcpy(&right, device_right, sizeof right, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_right));
  CHECK(cudaFree(c));
  CHECK(cudaFree(b));
  CHECK(cudaFree(a));
  std::printf("%s: %u of %u right\n", how, right, kCount);
  if (kernels_run)
    std::printf("%.3f ms, %.0f GB/s\n", milliseconds, 3.0 * kCount * sizeof(float) / milliseconds / 1e6);
  return right != kCount;
}
