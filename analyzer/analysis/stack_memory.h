// SPDX-License-Identifier: Apache-2.0
// What each call stack allocated and held. StackUse is what is known while the trace is read,
// StackMemory is the same with the frames, for the formats that show it. Sizes are bytes.
#pragma once

#include <cstdint>

#include "analyzer/model/finding.h"

namespace gmt {

struct StackUse {
  StackId stack;
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::uint64_t peak_bytes = 0; // of device memory, at the process's peak
  std::uint64_t live_bytes = 0; // at the end, of any memory
};

struct StackMemory {
  CallStack stack = {}; // its frames are filled in with the symbols
  std::uint64_t allocations = 0, allocated_bytes = 0, peak_bytes = 0, live_bytes = 0;
  std::uint64_t tensor_peak_bytes = 0; // of PyTorch's tensors, when they held most

  void add(const StackUse& use) {
    allocations += use.allocations;
    allocated_bytes += use.allocated_bytes;
    peak_bytes += use.peak_bytes;
    live_bytes += use.live_bytes;
  }
};

} // namespace gmt
