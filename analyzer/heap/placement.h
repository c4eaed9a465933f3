// SPDX-License-Identifier: Apache-2.0
// On which device a block lies. Most memory is of its context's device; physical memory (VMM) and
// pools name their own device when they are made, and stream-ordered memory comes from a pool: the
// one that the call names, else the one that the stream's device was given (cuDeviceSetMemPool),
// else the device's default pool.
#pragma once

#include <cstdint>

#include "analyzer/cuda_state/cuda_state.h"
#include "analyzer/heap/block.h"

namespace gmt {

struct Placement {
  std::uint16_t slot = 0;     // Block::device_slot
  PoolTable::Handle pool = 0; // 0: the default one of the device
};

Placement placement_of_physical(const event::Allocation& alloc);
Placement placement_of_stream_ordered(const Block& block, PoolTable::Handle named_pool,
                                      const CudaState& cuda);

// Of a new block that the call describes.
inline Placement placement_of(const Block& block, const event::Allocation& alloc,
                              const CudaState& cuda) {
  if (block.memory_kind == trace::MemoryKind::kStreamOrdered)
    return placement_of_stream_ordered(block, alloc.shape->pool, cuda);
  if (block.memory_kind == trace::MemoryKind::kVmmHandle) return placement_of_physical(alloc);
  return {0, alloc.shape->pool};
}

} // namespace gmt
