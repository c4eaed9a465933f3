// SPDX-License-Identifier: Apache-2.0
// What one CUDA call costs, in microseconds: run alone and under a tool, the ratio is the tool's
// price. Usage: call_cost FRAMES THREADS [pairs]; with "pairs" the first kind alone. Prints one
// line a kind of call: "<call> <frames> <threads> <microseconds>". Each figure is the best of
// several rounds of 20,000 calls made FRAMES functions deep (80,000 pairs, so that a trace grows in
// each round); with several threads (5,000 calls a round, one kind of launch) the mean over threads
// of each thread's best round, all threads at work.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "check.h"

namespace {

constexpr int kRounds = 7;

__global__ void nothing(int*) {}
__global__ void nothing2(int*, int*) {}
__global__ void nothing6(int*, int*, int*, int*, int*, int*) {}
struct Ten {
  int* pointer[10];
};
__global__ void nothing16(int*, int*, int*, int*, int*, int*, Ten) {}

// Calls f() from `frames` functions deeper; the asm keeps the compiler from making a loop of it.
__attribute__((noinline)) void deeper(int frames, const std::function<void()>& f) {
  if (frames <= 0) return f();
  deeper(frames - 1, f);
  asm volatile("" ::: "memory");
}

double best_microseconds(int frames, int calls, cudaStream_t stream,
                         const std::function<void()>& call) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    deeper(frames, [&] {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) call();
      const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count() / calls);
    });
    CHECK(cudaStreamSynchronize(stream));
  }
  return best;
}

constexpr const char* kCallNames[] = {"cudaMallocAsync+cudaFreeAsync",
                                      "launch",
                                      "cudaMemcpyAsync-1KiB",
                                      "launch-2-pointers",
                                      "launch-6-pointers",
                                      "launch-16-pointers"};
constexpr std::size_t kAllCalls = std::size(kCallNames);
constexpr std::size_t kCallsOfManyThreads = 3; // the first ones

// Microseconds a call, in the order of kCallNames.
std::vector<double> measure(int frames, bool alone, std::size_t kinds) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void *host, *device;
  CHECK(cudaMallocHost(&host, 1024));
  CHECK(cudaMalloc(&device, 1024));
  auto* p = static_cast<int*>(device);
  Ten ten;
  std::fill(std::begin(ten.pointer), std::end(ten.pointer), p);
  const std::function<void()> calls[kAllCalls] = {
    [&] {
      void* block;
      CHECK(cudaMallocAsync(&block, 65536, stream));
      CHECK(cudaFreeAsync(block, stream));
    },
    [&] { nothing<<<1, 32, 0, stream>>>(nullptr); },
    [&] { CHECK(cudaMemcpyAsync(device, host, 1024, cudaMemcpyHostToDevice, stream)); },
    [&] { nothing2<<<1, 32, 0, stream>>>(p, p); },
    [&] { nothing6<<<1, 32, 0, stream>>>(p, p, p, p, p, p); },
    [&] { nothing16<<<1, 32, 0, stream>>>(p, p, p, p, p, p, ten); },
  };
  std::vector<double> found;
  for (std::size_t i = 0; i < kinds; ++i) {
    const int alone_calls = i == 0 ? 80000 : 20000;
    found.push_back(best_microseconds(frames, alone ? alone_calls : 5000, stream, calls[i]));
  }
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  CHECK(cudaStreamDestroy(stream));
  return found;
}

} // namespace

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 10;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::size_t kinds = argc > 3 ? 1 : threads == 1 ? kAllCalls : kCallsOfManyThreads;
  CHECK(cudaFree(nullptr));
  std::vector<std::vector<double>> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (std::size_t t = 1; t < results.size(); ++t)
    workers.emplace_back([&, t] { results[t] = measure(frames, false, kinds); });
  results[0] = measure(frames, threads == 1, kinds);
  for (std::thread& worker : workers) worker.join();
  for (std::size_t call = 0; call < results[0].size(); ++call) {
    double sum = 0;
    for (const std::vector<double>& one : results) sum += one[call];
    std::printf("%s %d %d %.4f\n", kCallNames[call], frames, threads, sum / threads);
  }
}
