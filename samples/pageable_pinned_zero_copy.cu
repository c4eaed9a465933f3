// SPDX-License-Identifier: Apache-2.0
// The same vector sum over three kinds of host memory: malloc() copied to the device, cudaMallocHost() copied
// asynchronously, and cudaHostAlloc() mapped into the device's address space, where no copy is needed at all.
// Variants: clean (or no word); wrong-free: the pinned vector goes to cudaFree, which CUDA refuses, so that it
// leaks as well; host-free: the pinned vector goes to the C library's free(), which crashes on it; forgotten:
// cudaFreeHost of the mapped vector is missing.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: wrong-free
// expect: error mismatched-free count=1 api=cudaFree stacks="allocated here"@sum_pinned:LINE(alloc-pinned),"freed here"@sum_pinned:LINE(wrong-free)
// expect: error leak bytes=16384 count=1 stacks="allocated here"@sum_pinned:LINE(alloc-pinned)
// run: host-free
// unlike-fenced-real: the C library notices the wrong free in another way
// exit: signal SIGSEGV
// expect: error mismatched-free count=1 api=free stacks="allocated here"@sum_pinned:LINE(alloc-pinned),"host memory freed here"@sum_pinned:LINE(host-free)
// not-checked: leak
// run: forgotten
// expect: error leak bytes=16384 count=1 stacks="allocated here"@sum_zero_copy:LINE(alloc-mapped)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add_up(const int* values, int count, int* sum)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    atomicAdd(sum, values[i]);
}

// `values` is any pointer that the device can follow; only the sum travels back.
static int sum_on_device(const int* values, cudaStream_t stream)
{
  int* sum = nullptr;
  int result = 0;
  CHECK(cudaMalloc(&sum, sizeof(int)));
  CHECK(cudaMemsetAsync(sum, 0, sizeof(int), stream));
  add_up<<<kCount / 256, 256, 0, stream>>>(values, kCount, sum);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(&result, sum, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(sum));
  return result;
}

static void fill(int* values)
{
  for (int i = 0; i < kCount; ++i)
    values[i] = i % 7;
}

static int sum_pageable(cudaStream_t stream)
{
  int* host = static_cast<int*>(std::malloc(kBytes));
  int* device = nullptr;
  fill(host);
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMemcpy(device, host, kBytes, cudaMemcpyHostToDevice));
  int sum = sum_on_device(device, stream);
  CHECK(cudaFree(device));
  std::free(host);
  return sum;
}

static int sum_pinned(cudaStream_t stream, const char* variant)
{
  int* host = nullptr;
  int* device = nullptr;
  CHECK(cudaMallocHost(&host, kBytes)); // @alloc-pinned
  CHECK(cudaMalloc(&device, kBytes));
  fill(host);
  CHECK(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));
  int sum = sum_on_device(device, stream);
  CHECK(cudaFree(device));
  if (!std::strcmp(variant, "wrong-free"))
    TRY(cudaFree(host)); // @wrong-free
  else if (!std::strcmp(variant, "host-free"))
    std::free(host); // @host-free
  else
    CHECK(cudaFreeHost(host));
  return sum;
}

static int sum_zero_copy(cudaStream_t stream, bool forgotten)
{
  int* host = nullptr;
  int* mapped = nullptr;
  CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocMapped)); // @alloc-mapped
  CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
  fill(host);
  int sum = sum_on_device(mapped, stream);
  if (!forgotten)
    CHECK(cudaFreeHost(host));
  return sum;
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int pageable = sum_pageable(stream);
  int pinned = sum_pinned(stream, variant);
  int zero_copy = sum_zero_copy(stream, !std::strcmp(variant, "forgotten"));
  CHECK(cudaStreamDestroy(stream));
  std::printf("sums: pageable %d, pinned %d, zero copy %d\n", pageable, pinned, zero_copy);

  return !std::strcmp(variant, "clean") && (pageable != pinned || pinned != zero_copy);
}
