// SPDX-License-Identifier: Apache-2.0
// How long malloc and free take in kernels: microseconds for each call, for 64 bytes and 12 KiB, with one thread a block that
// allocates for all and with every thread for itself. The device heap is one for all, so the more threads call at once
// the longer each waits. tests/bench/device_malloc_cost.py compares these figures with and without logging.
// Words: [blocks of the grid]. Output: bytes, calling threads a block, us a malloc, us a free.
//
// device hooks: all calls
// run: 8
// expect: clean
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr size_t kHeap = size_t{1} << 30;

// Threads below `callers` keep what they got in `kept`.
__global__ void allocate(void** kept, unsigned callers, size_t bytes)
{
  if (threadIdx.x < callers)
    kept[blockIdx.x * callers + threadIdx.x] = malloc(bytes);
}

__global__ void release(void** kept, unsigned callers)
{
  if (threadIdx.x < callers)
    free(kept[blockIdx.x * callers + threadIdx.x]);
}

template <typename Launch>
static float milliseconds(Launch launch)
{
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  launch();
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float spent = 0;
  CHECK(cudaEventElapsedTime(&spent, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return spent;
}

static void measure(int blocks, unsigned threads, unsigned callers, size_t bytes)
{
  const size_t calls = size_t{static_cast<unsigned>(blocks)} * callers;
  void** kept = nullptr;
  CHECK(cudaMalloc(&kept, calls * sizeof(void*)));
  float allocating = 0, releasing = 0;
  for (int round = 0; round < 3; ++round) { // the first one makes the heap; the last one counts
    allocating = milliseconds([&] { allocate<<<blocks, threads>>>(kept, callers, bytes); });
    releasing = milliseconds([&] { release<<<blocks, threads>>>(kept, callers); });
  }
  CHECK(cudaFree(kept));
  const float each = 1000.0f / static_cast<float>(calls);
  std::printf("%zu %u %.4f %.4f\n", bytes, callers, allocating * each, releasing * each);
}

int main(int count, char** words)
{
  const int blocks = count > 1 ? std::atoi(words[1]) : 64;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, kHeap));
  for (const size_t bytes : {size_t{64}, size_t{12} << 10}) {
    measure(blocks, 32, 1, bytes);
    for (unsigned threads = 32; threads <= 512; threads *= 2) {
      if (static_cast<size_t>(blocks) * threads * bytes <= kHeap / 4 && (bytes == 64 || threads <= 128))
        measure(blocks, threads, threads, bytes); // large blocks from many threads would take minutes
    }
  }
  return 0;
}
