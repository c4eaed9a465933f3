// SPDX-License-Identifier: Apache-2.0
// What one call did with live blocks, in the order in which it named them. Marks the blocks with
// it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/heap/access.h"
#include "analyzer/heap/store/block_store.h"
#include "analyzer/model/event.h"

namespace gmt {

class AccessList {
public:
  using Id = BlockStore::Id;

  explicit AccessList(BlockStore& store) : store_(store) {}

  void clear() { all_.clear(); }
  std::span<const Access> all() const { return all_; }

  // The call names this block. A call that was refused has only tried.
  void add(const Event& e, Id id, Access::Kind access, std::uint64_t address, std::uint64_t bytes,
           unsigned parameter = kNoParameter) {
    static constexpr std::uint16_t kFlags[] = {kWasRead,  kWasWritten, kWasArgument,
                                               kWasBound, 0,           0}; // by access
    Block& block = store_[id];
    if (!e.succeeded()) {
      block.flags |= kWasTried;
      return;
    }
    block.flags |= kFlags[static_cast<unsigned>(access)];
    all_.push_back({&block, access, static_cast<std::uint8_t>(parameter), address, bytes});
  }
  void add_allocation(const Block& block) {
    all_.push_back({.block = &block,
                    .kind = Access::Kind::kAllocated,
                    .address = block.address,
                    .bytes = block.bytes});
  }
  void add_end(const Block& dead) {
    all_.push_back(
      {.block = &dead, .kind = Access::Kind::kEnded, .address = dead.address, .bytes = dead.bytes});
  }

private:
  BlockStore& store_;
  std::vector<Access> all_;
};

} // namespace gmt
