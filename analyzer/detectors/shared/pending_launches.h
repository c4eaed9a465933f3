// SPDX-License-Identifier: Apache-2.0
// Launches of kernels and graphs of which the simulated device will perhaps say what they used: at
// once, or with --late when they run. Until then they wait here, with what was known at the call.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/detectors/shared/memory_work.h"
#include "analyzer/heap/heap.h"

namespace gmt {

class PendingLaunches {
public:
  using Works = std::vector<std::pair<MemoryWork, Block>>;

  // A launch: `inferred` is what its arguments say of it.
  void add(const MemoryWork& launch, Works inferred);
  // What the device said of a launch, once that is complete: its uses by block, or those inferred.
  Works on_accesses(const Event& e, const Heap& heap);
  // Of launches that have waited for too long, or of all at the end: those inferred.
  Works overdue();
  Works rest();

private:
  static constexpr std::size_t kMost = 4096;    // as many as --late keeps
  static constexpr std::size_t kMostRows = 128; // of a launch; the device says at most 64
  struct Pending {
    MemoryWork launch;
    Works inferred;
    std::vector<event::UsedRows> rows; // so far
  };
  static Works by_block(const Pending& pending, const event::Execution& said, const Heap& heap);

  std::map<std::uint64_t, Pending> pending_; // by the order of the call
};

} // namespace gmt
