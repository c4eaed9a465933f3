// SPDX-License-Identifier: Apache-2.0
// How PyTorch's cache grows: the segments that it takes from CUDA, behind the first tensor. That it
// grows with its tensors says nothing. Where it grows and they do not, what was freed is not used
// again: its pieces are too small for what comes next, or lie in a pool or stream of their own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/live_series.h"
#include "analyzer/heap/block.h"

namespace gmt {

class CacheGrowth {
public:
  struct Site { // that segments were made for
    StackId stack;
    std::uint64_t bytes = 0, segments = 0;           // alive
    std::uint64_t most_bytes = 0, most_segments = 0; // at once
    std::uint16_t api = trace::kNoApi;
  };
  struct Found {
    LiveSeries::Rise rise;
    std::uint64_t bytes = 0; // alive behind the newest segment
    std::uint64_t segments = 0;
    int device = -1;         // of the newest segment
    std::vector<Site> sites; // those with most bytes first
  };

  explicit CacheGrowth(const ProcessFacts& facts) : facts_(facts) {}
  // The library that has the allocator. With the backend cudaMallocAsync its allocations are
  // tensors.
  static bool is_module_of_cache(std::string_view module);
  void on_allocated(const Block& block, int device);
  void on_freed(const Block& block);
  // If it goes on to the end of the program's work, whose last call has `last_order`, and tensors
  // were never more than half of it.
  std::optional<Found> find(std::uint64_t last_order, std::uint64_t peak_of_tensors) const;
  const LiveSeries& series() const { return series_; }

private:
  bool is_segment(StackId stack);

  const ProcessFacts& facts_;
  LiveSeries series_;
  int device_ = -1;
  std::unordered_map<std::uint32_t, bool> is_of_cache_; // by StackId
  std::map<std::uint32_t, Site> sites_;                 // by StackId
};

} // namespace gmt
