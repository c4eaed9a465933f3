// SPDX-License-Identifier: Apache-2.0
// A program of a given shape, for what --coalescing costs: kernels that last about as long as
// asked, some number of launches, one or several streams, with or without a wait behind each
// launch.
//
//   coalescing_shapes KERNEL MILLISECONDS LAUNCHES STREAMS waits|runs-on [LOOPS]
//
// KERNEL: strided (global memory, loads 33 words apart), compute (arithmetic and one store a
// thread) or tiles (a product of matrices by tiles in shared memory). Prints LOOPS, which make its
// launches last so long, and the milliseconds of all launches, by the wall clock. With LOOPS it
// does not find them out again, which measuring would disturb.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

constexpr int kWords = 1 << 24, kThreads = 256, kTile = 32, kWidth = 1024;

// `Use` keeps the kernel that finds out how much work a millisecond is apart from the one that is
// measured.
enum Use { kCalibrate, kRun };

template <Use> __global__ void strided(const float* from, float* to, int times) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (int i = 0; i < times; ++i) {
    const unsigned index = static_cast<unsigned>(first + i * step);
    to[index % kWords] = from[index * 33u % kWords] + 1;
  }
}

template <Use> __global__ void compute(const float* from, float* to, int times) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  float a = from[index % kWords], b = a + 1;
  for (int i = 0; i < times * 64; ++i) {
    a = a * 1.0001f + b;
    b = b * 0.9999f - a;
  }
  to[index % kWords] = a + b;
}

template <Use> __global__ void tiles(const float* from, float* to, int times) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile,
            column = blockIdx.x % (kWidth / kTile) * kTile + x;
  float sum = 0;
  for (int i = 0; i < times; ++i) {
    for (int row = y; row < kTile; row += kThreads / kTile) {
      left[row][x] = from[(row * kWidth + i * kTile % kWidth + x) % kWords];
      right[row][x] = from[((i * kTile % kWidth + row) * kWidth + column) % kWords];
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  to[(blockIdx.x * blockDim.x + threadIdx.x) % kWords] = sum;
}

using Kernel = void (*)(const float*, float*, int);
struct Named {
  const char* name;
  Kernel calibrate, run;
};
const Named kKernels[] = {{"strided", strided<kCalibrate>, strided<kRun>},
                          {"compute", compute<kCalibrate>, compute<kRun>},
                          {"tiles", tiles<kCalibrate>, tiles<kRun>}};

float milliseconds_of(Kernel kernel, int blocks, const float* from, float* to, int times) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  kernel<<<blocks, kThreads>>>(from, to, times);
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return milliseconds;
}

// How often the kernel must loop to last so long. A few launches settle the device's clocks.
int find_loops(Kernel kernel, int blocks, const float* from, float* to, double milliseconds) {
  int times = 16;
  float taken = milliseconds_of(kernel, blocks, from, to, times);
  for (int i = 0; i < 6 && taken < 20; ++i) {
    times = taken > 0.2f ? static_cast<int>(static_cast<float>(times) * (25 / taken)) : times * 16;
    taken = milliseconds_of(kernel, blocks, from, to, times);
  }
  return static_cast<int>(times * (milliseconds / taken)) + 1;
}

int main(int argc, char** argv) {
  const Named* kernel = nullptr;
  for (const Named& known : kKernels) {
    if (argc >= 6 && std::strcmp(argv[1], known.name) == 0) kernel = &known;
  }
  if (kernel == nullptr) {
    std::fprintf(
      stderr,
      "usage: coalescing_shapes strided|compute|tiles MILLISECONDS LAUNCHES STREAMS waits|runs-on [LOOPS]\n");
    return 2;
  }
  const double wanted = std::atof(argv[2]);
  const int launches = std::atoi(argv[3]);
  const bool waits = std::strcmp(argv[5], "waits") == 0;
  int multiprocessors = 0;
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const int blocks = multiprocessors * 8;
  float *from = nullptr, *to = nullptr;
  CHECK(cudaMalloc(&from, kWords * sizeof(float)));
  CHECK(cudaMalloc(&to, kWords * sizeof(float)));
  CHECK(cudaMemset(from, 0, kWords * sizeof(float)));

  const int loops =
    argc > 6 ? std::atoi(argv[6]) : find_loops(kernel->calibrate, blocks, from, to, wanted);

  std::vector<cudaStream_t> streams(static_cast<std::size_t>(std::atoi(argv[4])));
  for (cudaStream_t& stream : streams)
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) {
    const cudaStream_t stream = streams[static_cast<std::size_t>(i) % streams.size()];
    kernel->run<<<blocks, kThreads, 0, stream>>>(from, to, loops);
    CHECK(cudaGetLastError());
    if (waits) CHECK(cudaStreamSynchronize(stream));
  }
  CHECK(cudaDeviceSynchronize());
  std::printf(
    "%d %.1f\n", loops,
    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}
