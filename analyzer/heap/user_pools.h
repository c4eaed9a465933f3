// SPDX-License-Identifier: Apache-2.0
// Pools that register themselves by NVTX's memory extension: where they lie, and the end of their
// regions. Regions are blocks in a space of their own, inside blocks of the address space.
//
// A region ends when the pool takes it back, when the pool is reset, and, as something that was
// never given back, when the pool is unregistered or the memory behind it goes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/heap/store/block_store.h"

namespace gmt {

struct UserPool { // 0 bytes if it did not say where
  std::uint64_t begin = 0, bytes = 0;
  bool contains(std::uint64_t address) const { return address - begin < bytes; }
};

class UserPools {
public:
  using Id = BlockStore::Id;

  explicit UserPools(BlockStore& store) : store_(store) {}

  void on_life(const Event& e); // of a pool, accepted
  void on_region() { has_regions_ = true; }
  // That memory has gone
  void end_regions_inside(const Event& e, std::uint64_t begin, std::uint64_t bytes);

  bool has_regions() const { return has_regions_; }     // there has been one
  const UserPool* find_at(std::uint64_t address) const; // null if no pool lies there

private:
  void end(const Event& e, Block::End how, std::vector<Id> regions);
  void end_regions_of(const Event& e, Block::End how, std::uint64_t handle);

  BlockStore& store_;
  std::unordered_map<std::uint64_t, UserPool> pools_; // by handle
  bool has_regions_ = false;
};

} // namespace gmt
