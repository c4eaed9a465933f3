// SPDX-License-Identifier: Apache-2.0
// Who held a device's memory at one moment, where PyTorch's allocator gave it out: tensors by call
// stack, and the free pieces between them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/detectors/shared/memory_stock.h"

namespace gmt {

struct TensorStock {
  MemoryStock stock; // its holders are tensors, and its first pool is PyTorch's cache
  std::uint64_t bytes = 0, tensors = 0;
  std::uint64_t free_bytes = 0, free_pieces = 0, largest_piece = 0; // in segments that hold tensors
  struct Pieces {
    std::uint64_t least = 0; // a power of 2: they have as many bytes, and less than twice as many
    std::uint64_t pieces = 0, bytes = 0;
  };
  std::vector<Pieces> by_size; // those with most bytes first

  // Of what one call stack made, the half or more that no call has been given for longest: of the
  // stack for which that is longest, if it is known. Stacks that hold little do not count.
  struct Idle {
    StackId stack;
    std::uint64_t bytes = 0, tensors = 0;
    std::uint64_t ticks = 0; // 0: not known, since graphs use tensors that nothing names
  };
  Idle idle;

  // Segments that are as large as what was asked for, and have a few small tensors in them.
  struct Broken {
    std::uint64_t segments = 0, bytes = 0, held_bytes = 0, largest_tensor = 0;
  };
  Broken broken;
  bool are_expandable = false; // the segments: PyTorch maps them piece by piece
};

struct TensorRequest {
  int device = kAnyDevice;
  std::uint64_t bytes = 0;
  std::uint64_t time = 0; // Event::time
};
TensorStock tensors_of_device(const Heap& heap, const ProcessFacts& facts,
                              const TensorRequest& asked);

} // namespace gmt
