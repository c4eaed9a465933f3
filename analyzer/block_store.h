// SPDX-License-Identifier: Apache-2.0
// Where the heap keeps its blocks: a pool of 64-byte blocks, one index of live ranges a space, and the newest
// freed blocks for explaining later mistakes. Used by the heap only; knows no CUDA rule.
//
// Freed blocks go into their index lazily, at the first question about freed memory: a program without mistakes
// pays nothing for it. The newest freed block that contains an address is by construction the one that was not
// reborn there, since a live block is looked for first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "analyzer/heap.h"
#include "analyzer/range_map.h"

namespace gmt {

enum class Space : std::uint8_t { kAddress, kRegistered, kReservation, kArray, kMipmappedArray, kHandle };
inline constexpr unsigned kSpaces = 6;
inline constexpr std::array<Space, kSpaces> kAllSpaces{Space::kAddress, Space::kRegistered, Space::kReservation,
                                                       Space::kArray,   Space::kMipmappedArray, Space::kHandle};

Space space_of(trace::Family family);
Space space_of(trace::FreeFunction function);
constexpr bool has_ranges(Space space) { return space <= Space::kReservation; }

class BlockStore {
public:
  using Id = std::uint32_t;
  static constexpr Id kNone = UINT32_MAX;
  using Live = RangeMap<64>;
  using Freed = RangeMap<256>;

  Block& operator[](Id id) { return chunks_[id / kChunk][id % kChunk]; }
  const Block& operator[](Id id) const { return chunks_[id / kChunk][id % kChunk]; }

  Id create(const Block& block); // not yet live
  void discard(Id id);           // a block that did not become live
  BlockDetail& detail_of(Block& block);

  bool insert_live(Id id); // false if it overlaps a live block
  Id first_overlap(Id id) const;
  Id take_live(Space space, std::uint64_t begin) { return live_[static_cast<unsigned>(space)].take(begin); }
  const Live& live(Space space) const { return live_[static_cast<unsigned>(space)]; }

  // The block's end: it has been taken out of the live index. Ended blocks are kept all, freed ones the newest.
  void retire(Id id, Block::End how, const Event& by);
  Id find_freed(Space space, std::uint64_t address) const;
  const Freed& freed(Space space) const;
  const std::vector<Id>& ended_with_context() const { return ended_; }

private:
  static constexpr Id kChunk = 4096;
  void recycle(Id id);
  void index_pending() const;
  void index_freed(Id id) const;
  void sweep(Freed& map) const;
  bool is_stale(const Freed::Range& range) const;

  std::vector<std::unique_ptr<Block[]>> chunks_;
  std::vector<Id> free_ids_;
  Id created_ = 0;
  std::deque<BlockDetail> details_;
  std::vector<BlockDetail*> free_details_;
  std::array<Live, kSpaces> live_;
  std::vector<Id> ended_;

  std::vector<Id> ring_;            // freed blocks; once full, the oldest is overwritten
  std::uint64_t freed_count_ = 0;   // ever; ring position is this modulo kMaxFreed
  mutable std::uint64_t indexed_ = 0; // of freed_count_, how many are in freed_
  mutable std::array<Freed, kSpaces> freed_;
  mutable std::array<std::size_t, kSpaces> sweep_at_{}; // ranges at which forgotten blocks are looked for
};

} // namespace gmt
