// SPDX-License-Identifier: Apache-2.0
// What calls of the host cost, to be run plain, under gpumemtrace, and with --kernel-checks:
// launches, allocations and frees, and waits. Prints a line for each: name, microseconds a call
// (median of rounds).
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if ((call) != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(cudaGetLastError()));             \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

__global__ void one(int* a) { a[threadIdx.x] = 1; }
__global__ void six(int* a, int* b, int* c, int* d, int* e, int* f) {
  a[threadIdx.x] =
    b[threadIdx.x] + c[threadIdx.x] + d[threadIdx.x] + e[threadIdx.x] + f[threadIdx.x];
}

// The median of rounds of `count` calls, in microseconds a call. What a round has left to do is
// waited for behind it.
template <class Call> void measure(const char* name, int rounds, int count, const Call& call) {
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) { // the first one warms up
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) call();
    const std::chrono::duration<double, std::micro> spent =
      std::chrono::steady_clock::now() - begin;
    CHECK(cudaDeviceSynchronize());
    if (round > 0) times.push_back(spent.count() / count);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  std::printf("%-28s %9.3f us\n", name, times[rounds / 2]);
}

static void allocate(std::size_t bytes) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes));
  CHECK(cudaFree(memory));
}

static void allocate_ordered(std::size_t bytes) {
  void* memory = nullptr;
  CHECK(cudaMallocAsync(&memory, bytes, nullptr));
  CHECK(cudaFreeAsync(memory, nullptr));
}

int main() {
  int* a = nullptr;
  CHECK(cudaMalloc(&a, 1 << 20));
  CHECK(cudaMemset(a, 0, 1 << 20));
  measure("launch, 1 pointer", 25, 500, [&] { one<<<1, 32>>>(a); });
  measure("launch, 6 pointers", 25, 500, [&] { six<<<1, 32>>>(a, a, a, a, a, a); });
  measure("launch and wait", 15, 200, [&] {
    one<<<1, 32>>>(a);
    CHECK(cudaDeviceSynchronize());
  });
  measure("wait, nothing to do", 15, 1000, [] { CHECK(cudaDeviceSynchronize()); });
  measure("pool, 1 KB", 15, 500, [] { allocate_ordered(1 << 10); });
  measure("pool, 16 MB", 15, 500, [] { allocate_ordered(16 << 20); });
  measure("cudaMalloc, cudaFree 1 KB", 15, 200, [] { allocate(1 << 10); });
  measure("cudaMalloc, cudaFree 1 MB", 15, 200, [] { allocate(1 << 20); });
  std::size_t size = 0; // no block has the size of one that was freed before
  measure("cudaMalloc, cudaFree, sizes", 15, 200, [&] { allocate((1 << 20) + (size += 512)); });
  measure("cudaMalloc, cudaFree 100 MB", 15, 20, [] { allocate(100 << 20); });
  CHECK(cudaFree(a));
  return 0;
}
