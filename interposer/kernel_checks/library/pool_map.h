// SPDX-License-Identifier: Apache-2.0
// What a block of memory is divided into by pools: the parts that pools have, the regions that
// these gave out, and those that came back. And the entries of the table that this makes.
// Book-keeping alone.
//
// A byte is valid if it is a region's, or if it is no pool's and was not given back. An entry says
// how many bytes of a granule are valid from its first: where more than one region lies in a
// granule, it goes up to the end of the last one. So an entry may miss a mistake and never makes
// one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "interposer/kernel_checks/library/blocks.h"
#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

// Addresses; neighbours are joined.
class RangeSet {
public:
  void add(std::uint64_t begin, std::uint64_t end);
  void remove(std::uint64_t begin, std::uint64_t end);
  // visit(begin, end) for the parts that lie in these addresses, in their order.
  template <class Visit>
  void for_each(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin()) --at;
    for (; at != ranges_.end() && at->first < end; ++at) {
      const std::uint64_t from = std::max(begin, at->first), to = std::min(end, at->second);
      if (from < to) visit(from, to);
    }
  }

private:
  std::map<std::uint64_t, std::uint64_t> ranges_; // begins and ends
};

struct Region {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t slot = kNoSlot; // of the table, for its bounds
};

class PoolMap {
public:
  PoolMap(const rewriter::Block& block, std::uint32_t slot) : block_(block), slot_(slot) {}

  const rewriter::Block& block() const { return block_; }

  void own(std::uint64_t begin, std::uint64_t end); // a pool has these
  // It has them no longer; its regions, which are none then.
  std::vector<Region> disown(std::uint64_t begin, std::uint64_t end);
  // Regions that the new one meets, which the pool said nothing of, are none any more.
  std::vector<Region> give_out(const Region& region);
  std::optional<Region> give_back(std::uint64_t begin); // none: no region begins there
  std::vector<Region> give_all_back(std::uint64_t begin, std::uint64_t end);
  std::vector<Region> regions() const;
  // What the other one knows of these addresses, which both have, instead of what this one does.
  // Regions that lie there in part are left out.
  void take_over(const PoolMap& other, std::uint64_t begin, std::uint64_t end);

  // Of the granules that hold these addresses of the block.
  std::vector<std::int16_t> entries(std::uint64_t begin, std::uint64_t end) const;

private:
  std::vector<Region> take(std::uint64_t begin, std::uint64_t end);

  rewriter::Block block_;
  std::uint32_t slot_;
  RangeSet owned_, given_back_;
  std::map<std::uint64_t, Region> regions_; // by their begins; no two meet
};

} // namespace gmt::interposer::kernel_checks
