// SPDX-License-Identifier: Apache-2.0
// Makes the maps of PyTorch's cache while the events of one process pass by: of the moment when
// tensors held most, and of the first refusal. A new peak is looked at only where it is a
// sixty-fourth higher than the one before, so that memory that grows step by step costs little.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analysis/history/cache_map.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"

namespace gmt {

class CacheMaps {
public:
  // The facts must live as long.
  explicit CacheMaps(const ProcessFacts& facts) : facts_(facts) {}

  // An event of a tensor, or what the driver said behind a refusal, before the heap applies it.
  void follow(const Event& e, const Heap& heap, std::uint64_t now);
  std::vector<CacheMap> take(const Heap& heap, std::uint64_t now);

private:
  void look_at_peak(const Heap& heap, std::uint64_t now);
  CacheMap map_of(const Heap& heap, CacheMap::Moment moment, std::uint64_t now);
  std::optional<std::uint64_t> untraced_bytes(const Heap& heap, int device) const;
  bool is_of_cache(StackId stack);

  const ProcessFacts& facts_;
  std::optional<CacheMap> peak_, refusal_;
  std::optional<event::MemoryInfo> info_; // the newest
  std::uint64_t looked_at_ = 0;           // bytes of tensors in the newest map of a peak
  std::vector<signed char> of_cache_;     // by StackId: 1 yes, -1 no, 0 not looked up
};

} // namespace gmt
