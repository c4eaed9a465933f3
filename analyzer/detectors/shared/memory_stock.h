// SPDX-License-Identifier: Apache-2.0
// Who held memory at one moment: call stacks, modules and pools, and what had been freed and in
// which pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/heap/heap.h"

namespace gmt {

inline constexpr int kAnyDevice = -1;

// Memory of the host that the device can reach.
bool is_page_locked(trace::MemoryKind memory_kind);

struct MemoryHolder {
  StackId stack;
  std::uint16_t api = 0;
  std::uint64_t bytes = 0, blocks = 0;
};

// One device's memory, or the host's, at one moment; kAnyDevice counts that of all.
struct MemoryStock {
  HeldMemory held;                   // without its `holders`:
  std::vector<MemoryHolder> holders; // the largest
};

MemoryStock stock_of_device(const Heap& heap, const ProcessFacts& facts, int device);
MemoryStock stock_of_host(const Heap& heap, const ProcessFacts& facts);

} // namespace gmt
