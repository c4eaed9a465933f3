// SPDX-License-Identifier: Apache-2.0
// What free() of ordinary memory costs, in nanoseconds a malloc and free of 64 bytes: run alone and under gpumemtrace,
// the difference is the hook's price. Budget: 2 ns.
// Usage: free_cost. Prints one line for each number of pinned blocks alive: "free <pinned blocks> <nanoseconds>".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int kPairs = 4096;
constexpr int kRounds = 3000;

double best_nanoseconds() {
  static void* blocks[kPairs];
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (void*& block : blocks) block = std::malloc(64); // other addresses each, as programs have
    for (void* block : blocks) std::free(block);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kPairs);
  }
  return best;
}

} // namespace

int main() {
  std::vector<void*> pinned;
  for (const std::size_t count : {0, 1, 100, 1000}) {
    while (pinned.size() < count) {
      void* block = nullptr;
      if (cudaMallocHost(&block, 4096) != cudaSuccess) return 1;
      pinned.push_back(block);
    }
    std::printf("free %zu %.2f\n", count, best_nanoseconds());
  }
  for (void* block : pinned) cudaFreeHost(block);
}
