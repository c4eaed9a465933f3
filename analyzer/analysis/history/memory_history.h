// SPDX-License-Identifier: Apache-2.0
// How the device memory of one process went over time, and which call stacks held it: what charts
// and flame graphs draw. Its size is bounded, whatever the number of events.
//
// Time is cut into columns of equal width. A column keeps the least and the most that was alive in
// it, so no peak is lost. What each layer of a set held is of the moment at which most was alive in
// the column; so the layers of a set and the rest add up to the column's `high`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/history/cache_map.h"
#include "analyzer/analysis/stack_memory.h"

namespace gmt {

// Calls that are counted by column.
enum class Activity : std::uint8_t { kAllocation, kFree, kCopy, kLaunch, kWait, kFailure };
inline constexpr std::size_t kActivities = static_cast<std::size_t>(Activity::kFailure) + 1;

struct MemoryHistory {
  struct Column {
    std::uint64_t low = 0, high = 0, last = 0; // bytes; `last` at its end
    std::array<std::uint32_t, kActivities> counts{};
  };
  using Step = std::pair<std::uint32_t, std::uint64_t>; // from this column on, these bytes
  struct Layer {
    std::string name;
    StackId stack; // of a layer of stacks
    std::uint64_t most = 0;
    std::vector<Step> steps;
  };
  struct LayerSet {
    std::string by;            // "kind of memory", "library", "call stack", "range"
    std::vector<Layer> layers; // those that once held most
    std::uint64_t other_layers = 0;
  };
  struct Sample {
    std::uint64_t time = 0, bytes = 0; // from this moment on
  };
  struct Failure {
    std::uint64_t time = 0, bytes = 0; // asked for
    StackId stack;
  };
  struct Range { // of NVTX
    std::string name;
    std::uint64_t begin = 0, end = 0;
    std::uint32_t thread = 0, depth = 0;
    bool is_open = false; // at the end of the trace
  };

  // Of all times, in the trace's own units; 0 if their length is not known
  double nanoseconds_per_unit = 0;
  // Of the first column, from the first call on; all other times count from there. It is not 0
  // where only a part of the run was asked for
  std::uint64_t begin = 0;
  bool is_part = false;
  std::uint64_t column_width = 1; // in units
  std::vector<Column> columns;
  std::vector<LayerSet> sets;
  std::uint64_t peak_time = 0;
  std::vector<Sample> around_peak; // every change shortly before and behind it
  std::vector<Failure> failures;   // the first ones
  std::uint64_t more_failures = 0;
  std::vector<Range> ranges; // the longest ones, by their begin
  std::uint64_t more_ranges = 0;
  std::vector<StackMemory> stacks; // those that held or allocated most
  StackMemory other_stacks;        // all others together
  std::uint64_t other_stack_count = 0;
  std::vector<CacheMap> cache_maps; // of PyTorch's cache, by time
};

} // namespace gmt
