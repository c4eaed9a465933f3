// SPDX-License-Identifier: Apache-2.0
// What one CUDA call costs, in microseconds: run alone and under a tool, the ratio is the tool's
// price. Usage: call_cost FRAMES THREADS [CALL]; with CALL that kind alone. Prints one line a kind
// of call: "<call> <frames> <threads> <microseconds>". Calls are made FRAMES functions deep.
// One thread: the median of seven rounds of 20,000 calls (80,000 pairs, so that a trace grows in
// each round), without the parts in which a neighbour used the core. Several threads: the mean over
// threads of each thread's best round of 5,000 calls, all threads at work, one kind of launch.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "check.h"
#include "quiet_core.h"

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

// Microseconds a call of `calls` made in a row.
double microseconds(int calls, const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count() / calls;
}

double best_microseconds(int frames, int calls, cudaStream_t stream,
                         const std::function<void()>& call) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    deeper(frames, [&] { best = std::min(best, microseconds(calls, call)); });
    CHECK(cudaStreamSynchronize(stream));
  }
  return best;
}

// The mean over the parts of a round, without those that began or ended beside a busy neighbour. A
// core that stays noisy is left, and a machine without a quiet core gives what it has.
double quiet_round(QuietCore& core, int calls, const std::function<void()>& call) {
  constexpr int kPart = 1000;
  double quiet_sum = 0, sum = 0;
  int quiet_parts = 0, parts = 0;
  bool quiet = core.quiet();
  for (const int most = 4 * calls / kPart; quiet_parts * kPart < calls && parts < most; ++parts) {
    const double took = microseconds(kPart, call);
    sum += took;
    const bool quiet_before = quiet;
    quiet = core.quiet();
    if (quiet_before && quiet) {
      quiet_sum += took;
      ++quiet_parts;
    } else if (!quiet_before && !quiet) {
      core.move_on();
    }
  }
  return quiet_parts > 0 ? quiet_sum / quiet_parts : sum / parts;
}

double median_microseconds(QuietCore& core, int frames, int calls, cudaStream_t stream,
                           const std::function<void()>& call) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    deeper(frames, [&] { rounds.push_back(quiet_round(core, calls, call)); });
    CHECK(cudaStreamSynchronize(stream));
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

constexpr const char* kCallNames[] = {"cudaMallocAsync+cudaFreeAsync",
                                      "launch",
                                      "cudaMemcpyAsync-1KiB",
                                      "launch-2-pointers",
                                      "launch-6-pointers",
                                      "launch-16-pointers"};
constexpr std::size_t kAllCalls = std::size(kCallNames);
constexpr std::size_t kCallsOfManyThreads = 3; // the first ones

// Microseconds a call of the kinds whose numbers are given; `core` for a thread that is alone.
std::vector<double> measure(int frames, QuietCore* core, const std::vector<std::size_t>& kinds) {
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
  for (const std::size_t i : kinds) {
    found.push_back(core == nullptr ? best_microseconds(frames, 5000, stream, calls[i])
                                    : median_microseconds(*core, frames, i == 0 ? 80000 : 20000,
                                                          stream, calls[i]));
  }
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  CHECK(cudaStreamDestroy(stream));
  return found;
}

// The kinds to measure: the one that is named, or all that so many threads measure.
std::vector<std::size_t> chosen_kinds(const char* name, int threads) {
  std::vector<std::size_t> kinds;
  const std::size_t all = threads == 1 ? kAllCalls : kCallsOfManyThreads;
  for (std::size_t i = 0; i < kAllCalls; ++i) {
    if (name != nullptr ? std::strcmp(name, kCallNames[i]) == 0 : i < all) kinds.push_back(i);
  }
  if (!kinds.empty()) return kinds;
  std::fprintf(stderr, "call_cost: no call is named '%s'; there are:\n", name);
  for (const char* known : kCallNames) std::fprintf(stderr, "  %s\n", known);
  std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 10;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::vector<std::size_t> kinds = chosen_kinds(argc > 3 ? argv[3] : nullptr, threads);
  CHECK(cudaFree(nullptr));
  std::vector<std::vector<double>> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (std::size_t t = 1; t < results.size(); ++t)
    workers.emplace_back([&, t] { results[t] = measure(frames, nullptr, kinds); });
  if (threads == 1) {
    QuietCore core;
    results[0] = measure(frames, &core, kinds);
  } else {
    results[0] = measure(frames, nullptr, kinds);
  }
  for (std::thread& worker : workers) worker.join();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    double sum = 0;
    for (const std::vector<double>& one : results) sum += one[i];
    std::printf("%s %d %d %.4f\n", kCallNames[kinds[i]], frames, threads, sum / threads);
  }
}
