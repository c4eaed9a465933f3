// SPDX-License-Identifier: Apache-2.0
// Measuring with --coalescing must not make the program wait for its kernels, nor change what it does. Each run hangs
// or fails otherwise: a kernel spins until another one, launched after it, lets it go (next-launch), or until the host
// does (host); launches are captured under the strictest mode and replayed (capture); the device is reset between
// launches (reset); launches come from several threads (threads); the program dies while figures are open (abort).
//
// run: next-launch
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: clean
// run: host
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: clean
// run: capture
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: clean
// run: reset
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: clean
// run: next-launch 6
// device: gpu
// options: --counters --coalescing-launches=all
// expect: clean
// run: threads
// device: gpu
// options: --coalescing
// expect: clean
// run: abort
// device: gpu
// options: --coalescing --coalescing-launches=all
// exit: signal 6
// expect: clean
// not-checked: leak
// run: next-launch 200
// device: gpu
// options: --coalescing
// expect: clean
#include "answers.h"

#include <thread>
#include <vector>

constexpr unsigned kCount = 1u << 16, kThreads = 256;

__global__ void add_one(int* values) { values[blockIdx.x * kThreads + threadIdx.x] += 1; }

__global__ void wait_until(volatile int* flag, int value)
{
  while (*flag != value) {
  }
}

__global__ void set(volatile int* flag, int value) { *flag = value; }

static int* make_values()
{
  int* values = nullptr;
  CHECK(cudaMalloc(&values, kCount * sizeof(int)));
  CHECK(cudaMemset(values, 0, kCount * sizeof(int)));
  return values;
}

static void launch_add(int* values, cudaStream_t stream)
{
  add_one<<<kCount / kThreads, kThreads, 0, stream>>>(values);
  CHECK(cudaGetLastError());
}

// Every value was raised as often as add_one was launched. Frees them.
static void check_and_free(int* values, int launches)
{
  std::vector<int> found(kCount);
  CHECK(cudaMemcpy(found.data(), values, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(values));
  for (int value : found) {
    if (value != launches) {
      std::fprintf(stderr, "%d launches raised a value to %d\n", launches, value);
      std::exit(1);
    }
  }
}

struct Streams {
  cudaStream_t first = nullptr, second = nullptr;
  Streams()
  {
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  }
  ~Streams()
  {
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(first));
  }
};

// All kernels have run once before one waits: loading a kernel's code may wait for those that run.
static void load_kernels(int* flag, int* values)
{
  set<<<1, 1>>>(flag, 0);
  wait_until<<<1, 1>>>(flag, 0);
  launch_add(values, nullptr);
  CHECK(cudaDeviceSynchronize());
}

static void next_launch(int rounds)
{
  int* values = make_values();
  int* flag = nullptr;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  load_kernels(flag, values);
  {
    Streams streams;
    for (int round = 1; round <= rounds; ++round) {
      wait_until<<<1, 1, 0, streams.first>>>(flag, round);
      launch_add(values, streams.first);
      set<<<1, 1, 0, streams.second>>>(flag, round);
      CHECK(cudaStreamSynchronize(streams.first));
    }
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaFree(flag));
  check_and_free(values, rounds + 1);
}

static void host()
{
  constexpr int kLaunches = 200;
  int* values = make_values();
  int* flag = nullptr;
  CHECK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
  load_kernels(flag, values);
  {
    Streams streams;
    wait_until<<<1, 1, 0, streams.first>>>(flag, 1);
    for (int i = 0; i < kLaunches; ++i)
      launch_add(values, streams.second);
    *static_cast<volatile int*>(flag) = 1;
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaFreeHost(flag));
  check_and_free(values, kLaunches + 1);
}

static void capture()
{
  constexpr int kInGraph = 5, kReplays = 10;
  int* values = make_values();
  launch_add(values, nullptr);
  CHECK(cudaDeviceSynchronize());
  {
    Streams streams;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    CHECK(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < kInGraph; ++i)
      launch_add(values, streams.first);
    CHECK(cudaStreamEndCapture(streams.first, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    for (int i = 0; i < kReplays; ++i)
      CHECK(cudaGraphLaunch(ready, streams.first));
    CHECK(cudaStreamSynchronize(streams.first));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
  }
  check_and_free(values, 1 + kInGraph * kReplays);
}

static void reset()
{
  for (int round = 0; round < 3; ++round) {
    int* values = make_values();
    launch_add(values, nullptr);
    launch_add(values, nullptr);
    check_and_free(values, 2);
    CHECK(cudaDeviceReset());
  }
}

static void threads()
{
  constexpr int kLaunches = 500;
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([] {
      int* values = make_values();
      cudaStream_t stream = nullptr;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      CHECK(cudaDeviceSynchronize()); // the memset was in another stream
      for (int launch = 0; launch < kLaunches; ++launch)
        launch_add(values, stream);
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaStreamDestroy(stream));
      check_and_free(values, kLaunches);
    });
  }
  for (std::thread& thread : all)
    thread.join();
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "next-launch"))
    next_launch(argc > 2 ? std::atoi(argv[2]) : 1);
  else if (started_with(argc, argv, "host"))
    host();
  else if (started_with(argc, argv, "capture"))
    capture();
  else if (started_with(argc, argv, "reset"))
    reset();
  else if (started_with(argc, argv, "threads"))
    threads();
  else if (started_with(argc, argv, "abort")) {
    launch_add(make_values(), nullptr);
    std::abort();
  }
  return 0;
}
