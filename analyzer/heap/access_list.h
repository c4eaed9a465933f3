// SPDX-License-Identifier: Apache-2.0
// What one call did with live blocks, in the order in which it named them. Marks the blocks with
// it.
#pragma once

#include <cstddef>
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

  void clear() { count_ = 0; }
  std::span<const Access> all() const { return {all_.data(), count_}; }

  // The call names this block. A call that was refused has only tried.
  void add(const Event& e, Id id, Access::Kind access, std::uint64_t address, std::uint64_t bytes,
           unsigned parameter = kNoParameter) {
    if (e.succeeded()) add_accepted(store_[id], access, address, bytes, parameter);
    else store_[id].flags |= kWasTried;
  }
  // The same of a call that CUDA accepted.
  void add_accepted(Block& block, Access::Kind access, std::uint64_t address, std::uint64_t bytes,
                    unsigned parameter = kNoParameter) {
    static constexpr std::uint16_t kFlags[] = {kWasRead,  kWasWritten, kWasArgument,
                                               kWasBound, 0,           0}; // by access
    block.flags |= kFlags[static_cast<unsigned>(access)];
    add({&block, access, static_cast<std::uint8_t>(parameter), address, bytes});
  }
  // Where the next ones are to stand, for as many; filled_to() says how far they do.
  Access* room_for(std::size_t more) {
    if (all_.size() - count_ < more) [[unlikely]]
      all_.resize(2 * all_.size() + more);
    return all_.data() + count_;
  }
  void filled_to(const Access* end) { count_ = static_cast<std::size_t>(end - all_.data()); }
  void add_allocation(const Block& block) {
    add({.block = &block,
         .kind = Access::Kind::kAllocated,
         .address = block.address,
         .bytes = block.bytes});
  }
  void add_end(const Block& dead) {
    add(
      {.block = &dead, .kind = Access::Kind::kEnded, .address = dead.address, .bytes = dead.bytes});
  }

private:
  void add(const Access& access) {
    if (count_ == all_.size()) [[unlikely]]
      make_room();
    all_[count_++] = access;
  }
  [[gnu::noinline]] void make_room() { all_.resize(2 * count_ + kFewest); }

  static constexpr std::size_t kFewest = 16;
  BlockStore& store_;
  std::vector<Access> all_; // the first count_ of them
  std::size_t count_ = 0;
};

} // namespace gmt
