// SPDX-License-Identifier: Apache-2.0
// What one CUDA call costs, in microseconds: run alone and under a tool, the ratio is the tool's price.
// Usage: call_cost FRAMES THREADS. Prints one line a kind of call: "<call> <frames> <threads> <microseconds>".
// Each figure is the best of several rounds of 20,000 calls made FRAMES functions deep; with several threads, the
// mean over threads of each thread's best round, all threads at work.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int kCalls = 20000;
constexpr int kRounds = 7;

#define CHECK(call)                                                                                                   \
  do {                                                                                                                \
    if (cudaError_t error = (call); error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));                  \
      std::exit(1);                                                                                                   \
    }                                                                                                                 \
  } while (0)

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

double best_microseconds(int frames, cudaStream_t stream, const std::function<void()>& call) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    deeper(frames, [&] {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i) call();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count() / kCalls);
    });
    CHECK(cudaStreamSynchronize(stream));
  }
  return best;
}

struct Result {
  double pair, launch, launch2, launch6, launch16, copy;
};

Result measure(int frames) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void *host, *device;
  CHECK(cudaMallocHost(&host, 1024));
  CHECK(cudaMalloc(&device, 1024));
  Result r{};
  r.pair = best_microseconds(frames, stream, [&] {
    void* block;
    CHECK(cudaMallocAsync(&block, 65536, stream));
    CHECK(cudaFreeAsync(block, stream));
  });
  r.launch = best_microseconds(frames, stream, [&] { nothing<<<1, 32, 0, stream>>>(nullptr); });
  auto* p = static_cast<int*>(device);
  Ten ten;
  std::fill(std::begin(ten.pointer), std::end(ten.pointer), p);
  r.launch2 = best_microseconds(frames, stream, [&] { nothing2<<<1, 32, 0, stream>>>(p, p); });
  r.launch6 = best_microseconds(frames, stream, [&] { nothing6<<<1, 32, 0, stream>>>(p, p, p, p, p, p); });
  r.launch16 = best_microseconds(frames, stream, [&] { nothing16<<<1, 32, 0, stream>>>(p, p, p, p, p, p, ten); });
  r.copy = best_microseconds(frames, stream, [&] {
    CHECK(cudaMemcpyAsync(device, host, 1024, cudaMemcpyHostToDevice, stream));
  });
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  CHECK(cudaStreamDestroy(stream));
  return r;
}

} // namespace

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 10;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  CHECK(cudaFree(nullptr));
  std::vector<Result> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t) workers.emplace_back([&, t] { results[static_cast<std::size_t>(t)] = measure(frames); });
  results[0] = measure(frames);
  for (std::thread& worker : workers) worker.join();
  Result mean{};
  for (const Result& r : results) {
    mean.pair += r.pair / threads;
    mean.launch += r.launch / threads;
    mean.launch2 += r.launch2 / threads;
    mean.launch6 += r.launch6 / threads;
    mean.launch16 += r.launch16 / threads;
    mean.copy += r.copy / threads;
  }
  std::printf("cudaMallocAsync+cudaFreeAsync %d %d %.4f\n", frames, threads, mean.pair);
  std::printf("launch %d %d %.4f\n", frames, threads, mean.launch);
  std::printf("launch-2-pointers %d %d %.4f\n", frames, threads, mean.launch2);
  std::printf("launch-6-pointers %d %d %.4f\n", frames, threads, mean.launch6);
  std::printf("launch-16-pointers %d %d %.4f\n", frames, threads, mean.launch16);
  std::printf("cudaMemcpyAsync-1KiB %d %d %.4f\n", frames, threads, mean.copy);
}
