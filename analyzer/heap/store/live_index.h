// SPDX-License-Identifier: Apache-2.0
// The live blocks of one space by address. Most questions name a block's base and are answered by a
// hash table; most others name memory that is none of CUDA's and are answered by counters of coarse
// granules. Only what is left (pointers into the middle of a block) needs an ordered index, so
// blocks enter that one when such a question comes, and one that was allocated and died in between
// never does.
//
// Invariants: the hash table holds every live block; ranges_ holds exactly those whose entry is
// marked indexed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/range_map.h"

namespace gmt {

class LiveIndex {
public:
  using Ranges = RangeMap<64>;
  using Range = Ranges::Range;
  static constexpr std::uint32_t kNone = Ranges::kNone;

  LiveIndex() : table_(64) {}

  std::uint32_t find_exact(std::uint64_t begin) const {
    const Entry& entry = table_[slot_of(begin)];
    return entry.begin == begin ? entry.value : kNone;
  }

  void expect(std::uint64_t begin) const {
    prefetch(&table_[home_of(begin)]);
  } // find_exact() is to come

  // False if a block with this base is here.
  bool insert(std::uint64_t begin, std::uint64_t end, std::uint32_t value);
  std::uint32_t take(std::uint64_t begin, std::uint64_t end); // end as it was given to insert()

  // False only if no live block contains the address.
  bool may_contain(std::uint64_t address) const {
    return size_ != 0 && (huge_ != 0 || granules_[granule_slot(address >> kGranuleBits)] != 0);
  }

  // Blocks that are not in the ordered index yet. The caller, who knows their ends, hands each to
  // index(); false there means an overlap to resolve first.
  bool has_unindexed() const { return has_unindexed_; }
  void take_unindexed(std::vector<std::uint32_t>& values); // instead of what is in it
  bool index(std::uint64_t begin, std::uint64_t end, std::uint32_t value);
  const Ranges& ranges() const { return ranges_; } // complete once nothing is unindexed

  template <class Visit> void for_each(Visit visit) const { // in no order
    for (const Entry& entry : table_) {
      if (entry.value != kNone) visit(entry.value);
    }
  }
  std::size_t size() const { return size_; }

private:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint32_t value = kNone; // empty
    bool indexed = false;
  };
  static constexpr unsigned kGranuleBits = 27; // 128 MiB
  // A block of more is "huge": no filtering while it lives
  static constexpr std::uint64_t kMaxGranules = 1024;
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  static constexpr std::size_t granule_slot(std::uint64_t granule) {
    return (granule * kGolden) >> 52;
  }

  std::size_t home_of(std::uint64_t begin) const { return (begin * kGolden) >> shift_; }
  // The entry of this base, or the empty one where it belongs.
  std::size_t slot_of(std::uint64_t begin) const {
    std::size_t at = home_of(begin);
    while (table_[at].value != kNone && table_[at].begin != begin)
      at = (at + 1) & (table_.size() - 1);
    return at;
  }
  void count_granules(std::uint64_t begin, std::uint64_t end, std::uint32_t change);
  void close_gap(std::size_t at);
  void grow();

  std::vector<Entry> table_; // open addressing, a power of two, at most half full
  unsigned shift_ = 58;      // 64 - log2(table_.size())
  std::size_t size_ = 0;
  std::vector<std::uint64_t> recent_; // bases of allocations; most of them may be dead already
  bool has_unindexed_ = false;        // one was inserted since they were taken
  bool too_many_ = false; // more than recent_ is allowed to hold: look through the table instead
  Ranges ranges_;
  std::array<std::uint32_t, 4096> granules_{};
  std::uint64_t huge_ = 0;
};

} // namespace gmt
