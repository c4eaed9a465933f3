// SPDX-License-Identifier: Apache-2.0
// Where the heap keeps its blocks: live ones in a small pool with one index a space, dead ones in a
// ring of the newest kMaxFreedBlocks, for explaining later mistakes. Regions inside of blocks have
// a ring of their own: those of a training run would push all others out. Counts what is used.
//
// Speed comes from two things. Live blocks stay close together, whatever the number of addresses a
// program has used, and a dying block is copied to the ring's end, so freed memory is only ever
// written in sequence. And dead blocks go into their index lazily, at the first question about
// freed memory: a program without mistakes pays nothing for it. The newest dead block that contains
// an address is by construction the one that was not allocated again there, since live blocks are
// looked for first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/range_map.h"
#include "analyzer/heap/block.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/heap/store/live_index.h"

namespace gmt {

// Regions, as tensors are, of which the newest freed ones are kept
inline constexpr std::size_t kMaxFreedRegions = 250'000;

enum class Space : std::uint8_t {
  kAddress,
  kRegistered,
  kReservation,
  kSubAllocation, // inside blocks of kAddress
  kArray,
  kMipmappedArray,
  kHandle
};
inline constexpr unsigned kSpaces = 7;
inline constexpr std::array<Space, kSpaces> kAllSpaces{
  Space::kAddress, Space::kRegistered,     Space::kReservation, Space::kSubAllocation,
  Space::kArray,   Space::kMipmappedArray, Space::kHandle};

constexpr Space space_of(trace::MemoryKind memory_kind) {
  using enum trace::MemoryKind;
  switch (memory_kind) {
  case kRegistered: return Space::kRegistered;
  case kVmmReservation: return Space::kReservation;
  case kSubAllocation:
  case kTensor: return Space::kSubAllocation;
  case kArray: return Space::kArray;
  case kMipmappedArray: return Space::kMipmappedArray;
  case kVmmHandle:
  case kMulticast: return Space::kHandle;
  default: return Space::kAddress;
  }
}

constexpr Space space_of(trace::FreeFunction function) {
  using enum trace::FreeFunction;
  switch (function) {
  case kHostUnregister: return Space::kRegistered;
  case kArrayDestroy: return Space::kArray;
  case kMipmappedArrayDestroy: return Space::kMipmappedArray;
  case kMemRelease: return Space::kHandle;
  case kAddressFree: return Space::kReservation;
  case kRegionUnregister: return Space::kSubAllocation;
  default: return Space::kAddress;
  }
}

constexpr bool has_ranges(Space space) { return space <= Space::kSubAllocation; }

// Blocks at fixed addresses by number, grown in pieces.
class BlockPool {
public:
  Block& operator[](std::uint32_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const Block& operator[](std::uint32_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  std::uint32_t size() const { return size_; }
  std::uint32_t add(const Block& block) {
    if (size_ / kChunk == chunks_.size()) [[unlikely]]
      make_room();
    (*this)[size_] = block;
    return size_++;
  }

private:
  [[gnu::noinline]] void make_room() { chunks_.push_back(std::make_unique<Block[]>(kChunk)); }

  static constexpr std::uint32_t kChunk = 4096;
  std::vector<std::unique_ptr<Block[]>> chunks_;
  std::uint32_t size_ = 0;
};

class BlockStore {
public:
  using Id = std::uint32_t; // of a live block
  static constexpr Id kNone = UINT32_MAX;
  using Range = LiveIndex::Range;
  using Dead = RangeMap<256>;

  BlockStore() { pool_.add({}); } // number 0 contains no address: where near_ knows nothing

  Block& operator[](Id id) { return pool_[id]; }
  const Block& operator[](Id id) const { return pool_[id]; }

  Id create(const Block& block); // not yet live
  void discard(Id id);           // a block that did not become live, or has been retired
  BlockDetail& detail_of(Block& block);

  bool insert_live(Id id); // false if a live block has this base
  // Makes it live. What lived there has ended unseen, unless the new block is one more reference of
  // it: then the number of that one is the answer.
  Id make_live(Id id);
  bool drop_reference(Id id) { // one of several; false if it is the last
    if (pool_[id].detail == nullptr || pool_[id].detail->references <= 1) return false;
    --detail_of(pool_[id]).references;
    return true;
  }
  Id find_exact(Space space, std::uint64_t begin) const {
    return live_[index_of(space)].find_exact(begin);
  }
  // The live block that contains the address, with its bounds.
  Range find(Space space, std::uint64_t address) const {
    const Id id = find_id(space, address);
    return id != kNone ? range_of(id) : Range{};
  }
  // The same without them.
  Id find_id(Space space, std::uint64_t address) const {
    if (space == Space::kAddress) {
      const Id id = near_[near(address)];
      if (is_surely(pool_[id], address)) return id;
    }
    return search(space, address);
  }
  // The live block of kAddress that contains the address, where that is certain without a search:
  // nearly always. Else null, which says nothing.
  Block* find_near(std::uint64_t address) {
    Block& block = pool_[near_[near(address)]];
    return is_surely(block, address) ? &block : nullptr;
  }
  // The live block of the address space that contains the address (a mapping before its
  // reservation), also a registered range of the host's; null if none does.
  const Block* live_containing(std::uint64_t address) const;
  // Fetch what find_id() looks at first, and some time later the block that it tries first.
  void expect(std::uint64_t address) const { prefetch(&near_[near(address)]); }
  void expect_block(std::uint64_t address) const { prefetch(&pool_[near_[near(address)]]); }
  // Fetches what the allocation or end of a block with this base needs besides.
  void expect_base(std::uint64_t base) const { live_[index_of(Space::kAddress)].expect(base); }
  bool has_live(Space space) const { return live_[index_of(space)].size() != 0; }
  Range range_of(Id id) const { return {pool_[id].address, end_of(pool_[id]), id}; }
  // All live blocks of a space by address. Overlaps, allocations on top of blocks whose release
  // went unseen, are resolved here: the older block ends as reallocated.
  const LiveIndex::Ranges& ordered(Space space) const {
    if (live_[index_of(space)].has_unindexed())
      const_cast<BlockStore*>(this)->settle(space); // see above
    return live_[index_of(space)].ranges();
  }
  template <class Visit> void for_each_live(Space space, Visit visit) const {
    live_[index_of(space)].for_each([&](Id id) { visit(id, pool_[id]); });
  }
  // A handle is a point; a block of unknown size is known at its base only.
  static std::uint64_t end_of(const Block& block) {
    const std::uint64_t bytes =
      has_ranges(space_of(block.memory_kind)) && block.bytes != 0 ? block.bytes : 1;
    return block.address > UINT64_MAX - bytes ? UINT64_MAX : block.address + bytes;
  }

  // The end of a live block; its id is free again. Blocks that ended with their context are all
  // kept.
  struct By { // the call that ended it
    StackId stack;
    std::uint16_t api;
    std::uint64_t order;
  };
  // Returns the dead block, where it stays for a while.
  const Block* retire(Id id, Block::End how, const By& by);
  const Block* retire(Id id, Block::End how, const Event& by) {
    return retire(id, how, By{by.stack, by.via != trace::kNoApi ? by.via : by.api, by.order});
  }
  void end_unseen(Id older, const Block& newer); // another one was allocated on top of it

  const Block* find_dead(Space space, std::uint64_t address) const;
  // A dead block: its context had not ended after all
  void correct_to_freed(Space space, std::uint64_t base);
  const BlockPool& ended_with_context() const { return ended_; }
  // Calls visit(begin, end, block) for each piece of memory whose newest block is dead, by address.
  template <class Visit> void for_each_dead(Space space, Visit visit) const {
    index_pending();
    dead_[index_of(space)].for_each([&](const Dead::Range& range) {
      if (!is_stale(space, range)) visit(range.begin, range.end, dead_block(space, range.value));
    });
  }

  // A launch allocates graph memory, or frees it. What a launch finds allocated it frees first. The
  // node, which makes the block, allocates nothing.
  void count_graph_memory(Id id, bool is_allocated);

  MemoryUse& use() { return use_; }
  const MemoryUse& use() const { return use_; }
  std::uint64_t unseen_frees() const { return unseen_frees_; }

private:
  static constexpr unsigned index_of(Space space) { return static_cast<unsigned>(space); }
  // Programs name the same addresses again and again: the block that was allocated or found last
  // near an address is tried before anything else. If it contains the address it is the answer,
  // since live blocks are disjoint once they are ordered.
  static std::size_t near(std::uint64_t address) {
    return static_cast<std::size_t>(((address >> 12) * 0x9e3779b97f4a7c15ULL) >> (64 - kNearBits));
  }
  // Before all allocations are in order, another block may be on top of one that contains the
  // address.
  bool is_surely(const Block& block, std::uint64_t address) const {
    return contains(block, address) &&
           (block.address == address || !live_[index_of(Space::kAddress)].has_unindexed());
  }
  bool contains(Id id, std::uint64_t address) const { return contains(pool_[id], address); }
  // A live block of kAddress whose size is known.
  static bool contains(const Block& block, std::uint64_t address) {
    return block.address <= address && address < block.address + block.bytes &&
           block.end == Block::End::kAlive && space_of(block.memory_kind) == Space::kAddress;
  }
  Id take_live(Id id); // back to what create() gave
  Id search(Space space, std::uint64_t address) const;
  void settle(Space space);
  static constexpr Id kEnded = Id{1} << 31; // marks numbers of ended_ in the index of dead blocks
  // Once full, the oldest is overwritten.
  struct Ring {
    std::size_t most;
    BlockPool blocks = {};
    std::uint64_t retired = 0;         // into it, ever; the next position is this modulo `most`
    mutable std::uint64_t indexed = 0; // of those, how many are in dead_
  };
  Ring& ring_of(Space space) { return space == Space::kSubAllocation ? regions_ : ring_; }
  const Ring& ring_of(Space space) const {
    return space == Space::kSubAllocation ? regions_ : ring_;
  }
  const Block& dead_block(Space space, Id number) const {
    return number >= kEnded ? ended_[number - kEnded] : ring_of(space).blocks[number];
  }
  void forget(Block& dead);
  const Block* keep(const Block& block); // in its ring
  void index_pending() const;
  void index_pending(const Ring& ring) const;
  void index_dead(const Block& block, Id number) const;
  void sweep(Space space) const;
  bool is_stale(Space space, const Dead::Range& range) const;

  BlockPool pool_;           // live blocks
  std::vector<Id> free_ids_; // their blocks contain no address, or are not alive
  // Of 10,000 live blocks 7 % share their entry with another one, and are searched for whenever
  // that one was named in between.
  static constexpr unsigned kNearBits = 17;
  // By 4 KiB of address
  mutable std::vector<Id> near_ = std::vector<Id>(std::size_t{1} << kNearBits);
  std::deque<BlockDetail> details_;
  std::vector<BlockDetail*> free_details_;
  std::array<LiveIndex, kSpaces> live_;
  std::vector<Id> unsettled_; // settle()'s, kept for its memory
  MemoryUse use_;
  std::uint64_t unseen_frees_ = 0;

  BlockPool ended_;
  Ring ring_{kMaxFreedBlocks}, regions_{kMaxFreedRegions};
  static constexpr std::uint64_t kFreesAhead = 2; // the slot of the next but one is fetched
  mutable std::array<Dead, kSpaces> dead_;
  // Ranges at which forgotten blocks are looked for
  mutable std::array<std::size_t, kSpaces> sweep_at_{};
};

} // namespace gmt
