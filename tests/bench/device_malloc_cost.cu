// SPDX-License-Identifier: Apache-2.0
// What malloc and free cost in kernels. Built twice, plain and with <gpumemtrace/device.h> forced in, and run alone and under a
// tool, the difference is the price of logging. Usage: device_malloc_cost [ROUNDS [MIB]]. Prints one line a setting:
// "<bytes> <blocks> <callers a block> <us a malloc> <us a free>": the kernel's time over the number of calls in it, the
// best of ROUNDS (5) rounds. 12 KiB is asked for by fewer threads: the device heap needs milliseconds for each then.
//
// MIB (0) of device memory are allocated first, so that the driver puts the heap elsewhere: that alone makes calls from many
// threads up to 1.5 times as dear (docs/measurements.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

namespace {

#define CHECK(call)                                                                                                   \
  do {                                                                                                                \
    if (cudaError_t error = (call); error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));                  \
      std::exit(1);                                                                                                   \
    }                                                                                                                 \
  } while (0)

// Thread t of all callers keeps what its call i got in kept[i * callers of the grid + t].
__global__ void allocate(void** kept, unsigned callers, unsigned calls, std::size_t bytes) {
  if (threadIdx.x >= callers) return;
  for (unsigned i = 0; i < calls; ++i) {
    kept[(i * gridDim.x + blockIdx.x) * callers + threadIdx.x] = malloc(bytes);
  }
}

__global__ void release(void** kept, unsigned callers, unsigned calls) {
  if (threadIdx.x >= callers) return;
  for (unsigned i = 0; i < calls; ++i) free(kept[(i * gridDim.x + blockIdx.x) * callers + threadIdx.x]);
}

template <typename Launch>
double microseconds(cudaEvent_t begin, cudaEvent_t end, Launch launch) {
  CHECK(cudaEventRecord(begin));
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1000.0;
}

void measure(std::size_t bytes, unsigned blocks, unsigned callers, unsigned calls, int rounds) {
  const std::size_t all = std::size_t{blocks} * callers * calls;
  void** kept = nullptr;
  cudaEvent_t begin, end;
  CHECK(cudaMalloc(&kept, all * sizeof(void*)));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const unsigned threads = std::max(callers, 32u);
  double allocating = 1e30, releasing = 1e30;
  for (int round = 0; round <= rounds; ++round) { // the first one makes the heap's free lists
    const double one = microseconds(begin, end, [&] { allocate<<<blocks, threads>>>(kept, callers, calls, bytes); });
    const double other = microseconds(begin, end, [&] { release<<<blocks, threads>>>(kept, callers, calls); });
    if (round == 0) continue;
    allocating = std::min(allocating, one);
    releasing = std::min(releasing, other);
  }
  const double count = static_cast<double>(all);
  std::printf("%zu %u %u %.4f %.4f\n", bytes, blocks, callers, allocating / count, releasing / count);
  std::fflush(stdout);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaFree(kept));
}

} // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 5;
  const std::size_t before = count > 2 ? std::strtoul(words[2], nullptr, 10) : 0;
  void* other = nullptr;
  if (before != 0) CHECK(cudaMalloc(&other, before << 20));
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, std::size_t{1} << 30));
  measure(64, 1, 1, 256, rounds);
  measure(64, 1, 32, 64, rounds);
  measure(64, 1, 256, 16, rounds);
  measure(64, 128, 1, 16, rounds);
  for (unsigned callers = 32; callers <= 512; callers *= 2) measure(64, 128, callers, 1, rounds);
  measure(12 << 10, 1, 1, 64, rounds);
  measure(12 << 10, 64, 1, 8, rounds);
  for (unsigned callers = 32; callers <= 128; callers *= 2) measure(12 << 10, 32, callers, 1, rounds);
  CHECK(cudaFree(other));
  return 0;
}
