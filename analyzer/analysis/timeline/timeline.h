// SPDX-License-Identifier: Apache-2.0
// The calls of one process, its device memory and its NVTX ranges by their times: what viewers of
// traces draw. Its size is bounded. Times are the trace's own units, from the first call on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis/history/memory_history.h"

namespace gmt {

// How much of a Timeline is kept.
struct TimelineSize {
  std::size_t slices = 0; // at most; 0: no timeline is made
  std::size_t samples = 100'000;
  std::size_t ranges = 100'000;
};

// Many processes share the room that one has.
inline TimelineSize share_of(TimelineSize size, std::size_t processes) {
  if (size.slices == 0 || processes == 0) return size;
  size.slices = std::max<std::size_t>(size.slices / processes, 1);
  size.samples /= processes;
  size.ranges /= processes;
  return size;
}

struct Timeline {
  static constexpr std::uint32_t kNoKernel = ~std::uint32_t{0};

  struct Slice { // one call
    std::uint64_t begin = 0, ticks = 0;
    std::uint64_t bytes = 0; // that it names; 0 where no size matters
    std::uint32_t thread = 0;
    std::uint32_t kernel = kNoKernel; // index into `kernels`, of a launch
    std::uint16_t call = 0;           // index into `calls`
    std::uint16_t result = 0;
    bool is_runtime = false; // the result is a cudaError_t
  };
  using Sample = MemoryHistory::Sample;
  struct Counter {   // of one kind of memory of one device
    int device = -1; // -1: not known
    std::string memory;
    std::vector<Sample> samples;
  };
  struct Thread {
    std::uint32_t number = 0;
    std::string name; // as the program calls it, empty if it has not said so
  };

  double nanoseconds_per_unit = 0;  // 0 if it is not known
  std::uint64_t begin_realtime = 0; // of the first call, ns of CLOCK_REALTIME; 0 if not known
  std::uint64_t begin = 0;          // of the first call, as events have their times
  std::uint64_t end = 0;            // of the last call
  std::vector<std::string> calls, kernels; // the latter as linked
  std::vector<Thread> threads;
  std::vector<Slice> slices; // by begin
  std::uint64_t left_out_slices = 0;
  std::vector<Counter> counters;
  std::uint64_t sample_width = 1; // samples that are nearer than that became one, the highest
  std::vector<MemoryHistory::Range> ranges;
  std::uint64_t left_out_ranges = 0;
};

// Whether one slice is left out before the other: the shorter one, but refused calls last.
bool is_less_important(const Timeline::Slice& a, const Timeline::Slice& b);

} // namespace gmt
