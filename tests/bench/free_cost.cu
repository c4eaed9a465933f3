// SPDX-License-Identifier: Apache-2.0
// What free() and realloc() of ordinary memory cost, in nanoseconds a malloc and free of 64 bytes,
// and a realloc that stays: run alone and under gpumemtrace, the difference is the hook's price.
// Budget: 2 ns. Usage: free_cost. Prints for each number of pinned blocks alive: "free <pinned
// blocks> <nanoseconds>", "realloc ...".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int kPairs = 4096;
constexpr int kRounds = 3000;

void* blocks[kPairs];

double best_realloc() {
  for (void*& block : blocks) block = std::malloc(64);
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (void*& block : blocks) block = std::realloc(block, 64);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kPairs);
  }
  for (void* block : blocks) std::free(block);
  return best;
}

double best_nanoseconds() {
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
    std::printf("realloc %zu %.2f\n", count, best_realloc());
  }
  for (void* block : pinned) cudaFreeHost(block);
}
