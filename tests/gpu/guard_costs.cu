// SPDX-License-Identifier: Apache-2.0
// What --guard costs: the time of an allocation and of a free by size, a kernel's bandwidth and a
// launch. Run it plain and under --guard, and compare the two, as guard_costs.py does. Prints lines
// of three fields, with tabs between: what, a number, its unit. With the word "short" it makes a
// tenth of the calls, for tools that make each of them slow.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

static void print(const char* what, size_t bytes, double value, const char* unit) {
  char size[32] = "";
  if (bytes >= 1 << 20) std::snprintf(size, sizeof size, ", %zu MiB", bytes >> 20);
  else if (bytes != 0) std::snprintf(size, sizeof size, ", %zu bytes", bytes);
  std::printf("%s%s\t%.3f\t%s\n", what, size, value, unit);
  std::fflush(stdout);
}

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
  print(keep ? "cudaMalloc, all live" : "cudaMalloc, one by one", bytes, alloc / count * 1e6, "us");
  print(keep ? "cudaFree, all live" : "cudaFree, one by one", bytes, release / count * 1e6, "us");
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
  print("cudaMallocAsync and cudaFreeAsync", bytes, (now() - t) / count * 1e6, "us");
  CHECK(cudaStreamDestroy(stream));
}

// The best of several rounds: other work on the machine makes one only slower.
static void kernels(int rounds) {
  const size_t n = size_t(256) << 20;
  float* data = nullptr;
  CHECK(cudaMalloc(&data, n * 4));
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    double t = now();
    for (int i = 0; i < rounds; ++i) fill<<<n / 256, 256>>>(data, n);
    CHECK(cudaDeviceSynchronize());
    best = std::max(best, double(rounds) * n * 4 / (now() - t) / 1e9);
  }
  print("a kernel writes 1 GiB", 0, best, "GB/s");
  double least = 1e9;
  const int launches = 1000 * rounds;
  for (int round = 0; round < 5; ++round) {
    double t = now();
    for (int i = 0; i < launches; ++i) nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    least = std::min(least, (now() - t) / launches * 1e6);
  }
  print("launch", 0, least, "us");
  CHECK(cudaFree(data));
}

int main(int argc, char** argv) {
  const bool brief = argc > 1 && std::strcmp(argv[1], "short") == 0;
  const int count = brief ? 30 : 300;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  CHECK(cudaFree(nullptr));
  for (size_t bytes : {size_t(1000), size_t(1) << 20, size_t(2) << 20, size_t(64) << 20}) {
    pairs(bytes, count, false);
    pairs(bytes, count, true);
    ordered(bytes, count);
  }
  kernels(brief ? 2 : 20);
  return 0;
}
