// SPDX-License-Identifier: Apache-2.0
// Launches each kernel of kinds.cu with its mistake, by the runtime.
// every_kind WAY: alone (the default stream, a wait behind each), streams (four, one wait at the
// end), threads (four, each launches all in a stream of its own), graph (captured, launched twice),
// devices (alone on the first two, without malloc in kernels, which is followed on one).
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kinds.cu"

static void check(cudaError_t result, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(result));
  std::exit(3);
}
#define CHECK(call) check(call, __LINE__)

constexpr unsigned kThreads = 32;

struct Blocks {
  int *first = nullptr, *second = nullptr, *old = nullptr;
};

static Blocks allocate() {
  Blocks all;
  CHECK(cudaMalloc(&all.old, 4000));
  CHECK(cudaMalloc(&all.first, 4000));
  CHECK(cudaMalloc(&all.second, 4000));
  // What is before the upper one is known.
  if (all.second < all.first) std::swap(all.first, all.second);
  CHECK(cudaMemset(all.first, 0, 4000));
  CHECK(cudaMemset(all.second, 0, 4000));
  CHECK(cudaFree(all.old));
  return all;
}

static void end(const Blocks& all) {
  CHECK(cudaFree(all.first));
  CHECK(cudaFree(all.second));
}

// `next` gives the stream of a launch, and `behind` is called after each.
template <bool kWithHeap = true, class Next, class Behind>
static void launch_all(const Blocks& all, Next next, Behind behind_each) {
  const auto launch = [&](void (*kernel)(int*, int), int* to, int n, unsigned threads = 1,
                          unsigned bytes = 0) {
    kernel<<<1, threads, bytes, next()>>>(to, n);
    CHECK(cudaGetLastError());
    behind_each();
  };
  launch(behind, all.first, 1024, kThreads);
  launch(before, all.second, 2);
  launch(negative, all.second, -100);
  launch(far, all.first, 3);
  launch(neighbour, all.first, static_cast<int>(all.second - all.first));
  launch(null, nullptr, 3);
  launch(freed, all.old, 10);
  launch(misaligned, all.first, 1);
  launch(of_shared, all.first, 16, kThreads);
  launch(of_dynamic, all.first, 8, kThreads, kThreads * sizeof(int));
  launch(of_local, all.first, 400);
  if (kWithHeap) launch(of_heap, all.first, 17);
}

static void launch_in_stream(const Blocks& all, cudaStream_t stream) {
  launch_all(all, [=] { return stream; }, [] {});
}

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        const Blocks all = allocate();
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        launch_in_stream(all, stream);
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
        end(all);
      });
    for (std::thread& one : threads) one.join();
    return 0;
  }
  if (way == "devices") {
    for (const int device : {0, 1}) {
      CHECK(cudaSetDevice(device));
      const Blocks all = allocate();
      launch_all<false>(all, [] { return cudaStream_t{}; }, [] { CHECK(cudaDeviceSynchronize()); });
      end(all);
    }
    return 0;
  }
  const Blocks all = allocate();
  if (way == "alone")
    launch_all(all, [] { return cudaStream_t{}; }, [] { CHECK(cudaDeviceSynchronize()); });
  if (way == "streams") {
    cudaStream_t streams[4];
    for (cudaStream_t& one : streams) CHECK(cudaStreamCreate(&one));
    unsigned launched = 0;
    launch_all(all, [&] { return streams[launched++ % 4]; }, [] {});
    CHECK(cudaDeviceSynchronize());
    for (cudaStream_t one : streams) CHECK(cudaStreamDestroy(one));
  }
  if (way == "graph") {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_in_stream(all, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
  }
  end(all);
  return 0;
}
