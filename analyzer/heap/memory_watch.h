// SPDX-License-Identifier: Apache-2.0
// Follows every change of the device memory that is alive, in the order of the changes. The sums
// of MemoryUse and those of a watch that adds up are always equal. Tensors lie inside of blocks
// that are counted, and are reported by themselves.
#pragma once

#include <cstdint>

#include "analyzer/heap/block.h"

namespace gmt {

struct MemoryChange {
  const Block& block; // whose memory it is
  int device = -1;    // ordinal, -1 if it is not known
  std::int64_t bytes = 0;
  std::uint64_t live_bytes = 0; // of all devices, behind the change; of a tensor: of all tensors
};

class MemoryWatch {
public:
  virtual ~MemoryWatch() = default;
  virtual void on_change(const MemoryChange& change) = 0;
  virtual void on_tensor(const MemoryChange&) {}
};

} // namespace gmt
