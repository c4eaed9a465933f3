// SPDX-License-Identifier: Apache-2.0
// What malloc and free cost in kernels: the same kernel with plain calls and with logged ones, in
// turns in one process, because from process to process the address of the device heap alone
// changes figures by half. Usage: device_malloc_cost [ROUNDS [MIB]]. Prints one line a setting:
// "<bytes> <blocks> <callers a block> <plain us a malloc> <logged> <plain us a free> <logged>": the
// kernel's time over the number of calls in it, the best of ROUNDS (5) rounds. Run alone, the
// logged calls record nothing. 12 KiB is asked for by fewer threads: the device heap needs
// milliseconds for each then.
//
// MIB (0) of device memory are allocated first, so that the driver puts the heap elsewhere: that
// alone makes calls from many threads up to 1.5 times as dear (docs/measurements.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "check.h"
#include "gpumemtrace/device_calls.h"

namespace {

// Thread t of all callers keeps what its call i got in kept[i * callers of the grid + t].
template <bool kLogged>
__global__ void allocate(void** kept, unsigned callers, unsigned calls, std::size_t bytes) {
  if (threadIdx.x >= callers) return;
  for (unsigned i = 0; i < calls; ++i) {
    void*& block = kept[(i * gridDim.x + blockIdx.x) * callers + threadIdx.x];
    if constexpr (kLogged) block = gpumemtrace_malloc(bytes);
    else block = malloc(bytes);
  }
}

template <bool kLogged>
__global__ void release(void** kept, unsigned callers, unsigned calls) {
  if (threadIdx.x >= callers) return;
  for (unsigned i = 0; i < calls; ++i) {
    void* const block = kept[(i * gridDim.x + blockIdx.x) * callers + threadIdx.x];
    if constexpr (kLogged) gpumemtrace_free(block);
    else free(block);
  }
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

struct Setting {
  std::size_t bytes;
  unsigned blocks, callers, calls;
};

struct Times {
  double allocating = 1e30, releasing = 1e30; // of a kernel, us
};

// One kernel that allocates and one that frees what it got. Without `best` only warms up.
template <bool kLogged>
void run_once(const Setting& s, void** kept, cudaEvent_t begin, cudaEvent_t end, Times* best) {
  const unsigned threads = std::max(s.callers, 32u);
  const double one = microseconds(begin, end, [&] {
    allocate<kLogged><<<s.blocks, threads>>>(kept, s.callers, s.calls, s.bytes);
  });
  const double other = microseconds(
    begin, end, [&] { release<kLogged><<<s.blocks, threads>>>(kept, s.callers, s.calls); });
  if (best != nullptr) *best = {std::min(best->allocating, one), std::min(best->releasing, other)};
}

void measure(const Setting& s, int rounds) {
  const std::size_t all = std::size_t{s.blocks} * s.callers * s.calls;
  void** kept = nullptr;
  cudaEvent_t begin, end;
  CHECK(cudaMalloc(&kept, all * sizeof(void*)));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  Times plain, logged;
  run_once<false>(s, kept, begin, end, nullptr); // makes the heap's free lists
  run_once<true>(s, kept, begin, end, nullptr);
  for (int round = 0; round < rounds; ++round) { // each follows the other as often as itself
    run_once<false>(s, kept, begin, end, &plain);
    run_once<true>(s, kept, begin, end, &logged);
    run_once<true>(s, kept, begin, end, &logged);
    run_once<false>(s, kept, begin, end, &plain);
  }
  const double count = static_cast<double>(all);
  std::printf("%zu %u %u %.4f %.4f %.4f %.4f\n", s.bytes, s.blocks, s.callers,
              plain.allocating / count, logged.allocating / count, plain.releasing / count,
              logged.releasing / count);
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
  measure({64, 1, 1, 256}, rounds);
  measure({64, 1, 32, 64}, rounds);
  measure({64, 1, 256, 16}, rounds);
  measure({64, 128, 1, 16}, rounds);
  for (unsigned callers = 32; callers <= 512; callers *= 2) measure({64, 128, callers, 1}, rounds);
  measure({12 << 10, 1, 1, 64}, rounds);
  measure({12 << 10, 64, 1, 8}, rounds);
  for (unsigned callers = 32; callers <= 128; callers *= 2)
    measure({12 << 10, 32, callers, 1}, rounds);
  CHECK(cudaFree(other));
  return 0;
}
