// SPDX-License-Identifier: Apache-2.0
// Virtual memory (VMM): which mapping holds which physical memory, so that memory whose handle was
// released lives on while it is mapped, and whether any device was ever given access to a mapping.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/heap/store/block_store.h"

namespace gmt {

class VmmMappings {
public:
  using Id = BlockStore::Id;

  explicit VmmMappings(BlockStore& store) : store_(store) {}

  // A mapping of the physical memory with this handle, before it becomes a block. It lies where
  // that memory lies. Returns the memory's allocation (BlockDetail::physical), 0 if the handle is
  // not known.
  std::uint64_t on_mapped(Block& mapping, std::uint64_t handle);
  void on_unmapped(const Block& dead);
  void on_released(const Block& dead_handle);

  // Access was given, or taken. One cuMemSetAccess may cover several mappings that lie side by
  // side.
  void on_access(const Event& use);

  // Live mappings that lie side by side in the range: one cuMemUnmap may cover several.
  std::vector<Id> mappings_in(std::uint64_t begin, std::uint64_t bytes) const;

private:
  struct Physical {
    std::uint64_t mappings = 0;
    bool is_released = false;
    Block released; // the handle's block
  };

  BlockStore& store_;
  std::unordered_map<std::uint64_t, Physical> mapped_; // by the handle's allocation
};

} // namespace gmt
