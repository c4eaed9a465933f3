// SPDX-License-Identifier: Apache-2.0
// Who held a device's memory at one moment, where PyTorch's allocator gave it out: tensors by call
// stack, and the free pieces between them.
#pragma once

#include <cstdint>

#include "analyzer/detectors/shared/memory_stock.h"

namespace gmt {

struct TensorStock {
  MemoryStock stock; // its holders are tensors, and its first pool is PyTorch's cache
  std::uint64_t bytes = 0, tensors = 0;
  std::uint64_t free_bytes = 0, free_pieces = 0, largest_piece = 0; // in segments that hold tensors
};

TensorStock tensors_of_device(const Heap& heap, const ProcessFacts& facts, int device);

} // namespace gmt
