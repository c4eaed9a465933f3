// SPDX-License-Identifier: Apache-2.0
// How fast memory is written by the bytes that a thread writes at once (1 to 16) and by how often it does so (1 to 16
// times, a block apart): GB/s, and the best of them as a share of what the memory's clock and width allow. Every write
// is in order: narrow ones waste no bytes, but need so many more threads and instructions that these become the limit.
// Words: [MiB that are written, default 64: what exceeds the L2 cache shows the memory].
//
// run: 4
// expect: clean
//
// run: 64
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <iterator>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr unsigned kThreads = 256;
constexpr int kRounds = 3;

// Every byte written is `value`'s; how many bytes there are does not matter to it.
template <typename T>
__device__ T bytes_of(unsigned char value)
{
  T result;
  memset(&result, value, sizeof result);
  return result;
}

template <typename T, unsigned unroll>
__global__ void write(T* to, unsigned char value)
{
  size_t first = size_t{blockIdx.x} * kThreads * unroll + threadIdx.x;
  T element = bytes_of<T>(value);
#pragma unroll
  for (unsigned k = 0; k < unroll; ++k)
    to[first + k * kThreads] = element;
}

__global__ void count_right(const uint4* from, unsigned char value, unsigned* right)
{
  uint4 found = from[size_t{blockIdx.x} * kThreads + threadIdx.x], wanted = bytes_of<uint4>(value);
  bool same = found.x == wanted.x && found.y == wanted.y && found.z == wanted.z && found.w == wanted.w;
  int in_block = __syncthreads_count(same);
  if (threadIdx.x == 0)
    atomicAdd(right, in_block);
}

struct Buffer {
  void* memory;
  size_t bytes;
  unsigned* right; // on the device
  cudaEvent_t begin, end;
  unsigned char value; // of the last write
  bool all_right;
};

static void verify(Buffer& buffer)
{
  unsigned blocks = static_cast<unsigned>(buffer.bytes / sizeof(uint4) / kThreads), right = 0;
  CHECK(cudaMemset(buffer.right, 0, sizeof right));
  count_right<<<blocks, kThreads>>>(static_cast<const uint4*>(buffer.memory), buffer.value, buffer.right);
  CHECK(cudaMemcpy(&right, buffer.right, sizeof right, cudaMemcpyDeviceToHost));
  buffer.all_right &= right == blocks * kThreads;
}

template <typename T, unsigned unroll>
static double gigabytes_a_second(Buffer& buffer)
{
  unsigned blocks = static_cast<unsigned>(buffer.bytes / sizeof(T) / kThreads / unroll);
  float best = 1e9f;
  ++buffer.value;
  for (int round = 0; round < kRounds; ++round) {
    CHECK(cudaEventRecord(buffer.begin));
    write<T, unroll><<<blocks, kThreads>>>(static_cast<T*>(buffer.memory), buffer.value);
    CHECK(cudaEventRecord(buffer.end));
    CHECK(cudaEventSynchronize(buffer.end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, buffer.begin, buffer.end));
    best = std::min(best, milliseconds);
  }
  CHECK(cudaGetLastError());
  verify(buffer);
  return static_cast<double>(buffer.bytes) / best / 1e6;
}

// One line of the table; returns its best figure.
template <typename T>
static double print_row(Buffer& buffer)
{
  const double figures[] = {gigabytes_a_second<T, 1>(buffer), gigabytes_a_second<T, 2>(buffer),
                            gigabytes_a_second<T, 4>(buffer), gigabytes_a_second<T, 8>(buffer),
                            gigabytes_a_second<T, 16>(buffer)};
  std::printf("%7zu", sizeof(T));
  for (double figure : figures)
    std::printf(" %9.1f", figure);
  std::printf("\n");
  return *std::max_element(std::begin(figures), std::end(figures));
}

// Two transfers a clock of each wire, as double-data-rate memory does.
static double peak_gigabytes_a_second()
{
  int kilohertz = 0, bits = 0;
  CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, 0));
  CHECK(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0));
  return 2.0 * kilohertz * 1e3 * bits / 8 / 1e9;
}

int main(int argc, char** argv)
{
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64) << 20;
  Buffer buffer{nullptr, bytes, nullptr, nullptr, nullptr, 0, true};
  CHECK(cudaMalloc(&buffer.memory, bytes));
  CHECK(cudaMalloc(&buffer.right, sizeof *buffer.right));
  CHECK(cudaEventCreate(&buffer.begin));
  CHECK(cudaEventCreate(&buffer.end));
  std::printf("GB/s of writes to %zu MiB of %s, by bytes at once and times a thread\n", bytes >> 20, device.name);
  std::printf("%7s %9d %9d %9d %9d %9d\n", "bytes", 1, 2, 4, 8, 16);
  double best = print_row<unsigned char>(buffer);
  best = std::max(best, print_row<unsigned short>(buffer));
  best = std::max(best, print_row<unsigned>(buffer));
  best = std::max(best, print_row<uint2>(buffer));
  best = std::max(best, print_row<uint4>(buffer));
  double peak = peak_gigabytes_a_second();
  if (peak > 0)
    std::printf("the best is %.1f %% of the peak, %.1f GB/s\n", 100 * best / peak, peak);
  CHECK(cudaEventDestroy(buffer.end));
  CHECK(cudaEventDestroy(buffer.begin));
  CHECK(cudaFree(buffer.right));
  CHECK(cudaFree(buffer.memory));
  return !buffer.all_right;
}
