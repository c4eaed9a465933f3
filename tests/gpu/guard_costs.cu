// SPDX-License-Identifier: Apache-2.0
// What --guard costs: the time of an allocation and of a free by size, a kernel's bandwidth and a
// launch. Run it plain and under --guard, and compare the two.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t r = (call);                                                                        \
    if (r) {                                                                                       \
      std::printf("%s: %s\n", #call, cudaGetErrorName(r));                                         \
      std::exit(3);                                                                                \
    }                                                                                              \
  } while (0)

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__global__ void fill(float* out, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = float(i);
}
__global__ void nothing() {}

static void pairs(size_t bytes, int count, bool keep) {
  std::vector<void*> blocks(count);
  double alloc = 0, release = 0;
  if (keep) {
    double t = now();
    for (void*& p : blocks) CHECK(cudaMalloc(&p, bytes));
    alloc = now() - t;
    t = now();
    for (void* p : blocks) CHECK(cudaFree(p));
    release = now() - t;
  } else {
    for (void*& p : blocks) {
      double t = now();
      CHECK(cudaMalloc(&p, bytes));
      alloc += now() - t;
      t = now();
      CHECK(cudaFree(p));
      release += now() - t;
    }
  }
  std::printf("%-10s %9zu bytes: allocation %6.1f us, free %6.1f us\n",
              keep ? "all live" : "one by one", bytes, alloc / count * 1e6, release / count * 1e6);
}

static void ordered(size_t bytes, int count) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  void* p = nullptr;
  double t = now();
  for (int i = 0; i < count; ++i) {
    CHECK(cudaMallocAsync(&p, bytes, stream));
    CHECK(cudaFreeAsync(p, stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  std::printf("in stream  %9zu bytes: pair %6.1f us\n", bytes, (now() - t) / count * 1e6);
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  CHECK(cudaFree(nullptr));
  for (size_t bytes : {size_t(1000), size_t(1) << 20, size_t(2) << 20, size_t(64) << 20}) {
    pairs(bytes, 300, false);
    pairs(bytes, 300, true);
    ordered(bytes, 300);
  }
  size_t n = size_t(256) << 20;
  float* data = nullptr;
  CHECK(cudaMalloc(&data, n * 4));
  for (int round = 0; round < 3; ++round) {
    double t = now();
    for (int i = 0; i < 20; ++i) fill<<<n / 256, 256>>>(data, n);
    CHECK(cudaDeviceSynchronize());
    std::printf("a kernel writes at %.0f GB/s\n", 20.0 * n * 4 / (now() - t) / 1e9);
  }
  double t = now();
  for (int i = 0; i < 20000; ++i) nothing<<<1, 32>>>();
  CHECK(cudaDeviceSynchronize());
  std::printf("launch %.2f us\n", (now() - t) / 20000 * 1e6);
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  std::printf("free %zu MiB of %zu MiB\n", free_bytes >> 20, total >> 20);
  CHECK(cudaFree(data));
  return 0;
}
