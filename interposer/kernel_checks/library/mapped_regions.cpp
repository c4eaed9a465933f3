// SPDX-License-Identifier: Apache-2.0
// Memory that is mapped piece by piece at addresses that were reserved for it, and divided into
// regions: PyTorch's expandable segments. Pieces side by side are one block, which grows with each
// new one, and a hole in it makes two.
#include "interposer/kernel_checks/library/mapped_regions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/region_state.h"
#include "interposer/kernel_checks/library/regions.h"
#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {
namespace {

using Reservations = std::map<std::uint64_t, std::uint64_t>; // begins and ends
constinit Lasting<Reservations> reservations;                // with the lock, as the next
constinit Lasting<RangeSet> mapped_pieces;

// With the lock.
Reservations::iterator reservation_at(std::uint64_t address) {
  Reservations& all = *reservations;
  const auto behind = all.upper_bound(address);
  if (behind == all.begin()) return all.end();
  const auto found = std::prev(behind);
  return found->second > address ? found : all.end();
}

// What the one knows of addresses that both have.
void take_over(DividedBlock& to, const DividedBlock& from) {
  const rewriter::Block &ours = to.map.block(), &theirs = from.map.block();
  const std::uint64_t begin = std::max(ours.begin, theirs.begin);
  const std::uint64_t end = std::min(ours.end, theirs.end);
  to.changed.remove(begin, end);
  from.changed.for_each(begin, end,
                        [&](std::uint64_t b, std::uint64_t e) { to.changed.add(b, e); });
  to.map.take_over(from.map, begin, end);
  for (const auto& [slot, region] : from.new_slots) {
    if (region.begin >= begin && region.end <= end) to.new_slots.insert_or_assign(slot, region);
  }
  to.is_captured |= from.is_captured;
}

DividedBlock all_of(const rewriter::Block& block) {
  DividedBlock divided{PoolMap(block, kNoSlot), {}, {}};
  divided.map.own(block.begin, block.end);
  divided.changed.add(block.begin, block.end);
  return divided;
}

std::map<std::uint64_t, DividedBlock>::iterator first_meeting(std::uint64_t begin) {
  auto& blocks = (*all_pools).blocks;
  auto at = blocks.upper_bound(begin);
  if (at != blocks.begin() && std::prev(at)->second.map.block().end > begin) --at;
  return at;
}

// With the lock. What is unmapped is no block any more; the parts beside it are.
std::vector<Region> cut(std::uint64_t begin, std::uint64_t end) {
  auto& blocks = (*all_pools).blocks;
  std::vector<Region> ended;
  std::vector<DividedBlock> parts;
  for (auto at = first_meeting(begin); at != blocks.end() && at->first < end;) {
    const DividedBlock& whole = at->second;
    const rewriter::Block block = whole.map.block();
    for (const rewriter::Block part : {rewriter::Block{block.begin, std::min(begin, block.end)},
                                       rewriter::Block{std::max(end, block.begin), block.end}}) {
      if (part.begin >= part.end) continue;
      take_over(parts.emplace_back(all_of(part)), whole);
    }
    for (const Region& region : whole.map.regions()) {
      if (region.begin < end && region.end > begin) ended.push_back(region);
    }
    at = blocks.erase(at);
  }
  for (DividedBlock& part : parts) blocks.insert_or_assign(part.map.block().begin, std::move(part));
  return ended;
}

void unmap(std::uint64_t begin, std::uint64_t end) noexcept {
  std::vector<Region> ended;
  {
    const Locked lock;
    (*mapped_pieces).remove(begin, end);
    if (has_pools.load(std::memory_order_relaxed)) ended = cut(begin, end);
  }
  for (const Region& region : ended) give_slot(region.slot);
  wait_for_region_writer();
}

} // namespace

std::optional<rewriter::Block> mapped_around(std::uint64_t begin, std::uint64_t end) noexcept {
  const Locked lock;
  const auto reserved = reservation_at(begin);
  if (reserved == (*reservations).end()) return std::nullopt;
  std::optional<rewriter::Block> found;
  (*mapped_pieces)
    .for_each(reserved->first, reserved->second, [&](std::uint64_t b, std::uint64_t e) {
      if (b <= begin && end <= e) found = {b, e};
    });
  const bool is_fit = found && end > begin && first_table().covers(found->begin, found->end) &&
                      has_marks(first_table()) && first_table().flag() != 0;
  // What nobody heard of would be poison.
  if (!is_fit) (*reservations).erase(reserved);
  return is_fit ? found : std::nullopt;
}

// With the lock.
DividedBlock& divide_mapped(const rewriter::Block& block) {
  auto& blocks = (*all_pools).blocks;
  const auto known = blocks.find(block.begin);
  if (known != blocks.end() && known->second.map.block().end == block.end) return known->second;
  DividedBlock whole = all_of(block);
  for (auto at = first_meeting(block.begin); at != blocks.end() && at->first < block.end;) {
    take_over(whole, at->second);
    at = blocks.erase(at);
  }
  return blocks.insert_or_assign(block.begin, std::move(whole)).first->second;
}

void addresses_reserved(std::uint64_t begin, std::uint64_t bytes) noexcept {
  const Locked lock;
  (*reservations)[begin] = begin + bytes;
}

void addresses_given_back(std::uint64_t begin, std::uint64_t bytes) noexcept {
  unmap(begin, begin + bytes);
  const Locked lock;
  (*reservations).erase(begin);
}

void piece_mapped(std::uint64_t begin, std::uint64_t bytes) noexcept {
  const bool is_followed = has_table() && &table() == &first_table();
  const Locked lock;
  if (is_followed) return (*mapped_pieces).add(begin, begin + bytes);
  const auto reserved = reservation_at(begin);
  if (reserved != (*reservations).end()) (*reservations).erase(reserved);
}

void piece_unmapped(std::uint64_t begin, std::uint64_t bytes) noexcept {
  unmap(begin, begin + bytes);
}

void forget_mapped_regions() noexcept {
  const Locked lock;
  (*reservations).clear();
  *mapped_pieces = RangeSet();
}

void abandon_mapped_regions() noexcept {
  reservations.begin_anew();
  mapped_pieces.begin_anew();
}

} // namespace gmt::interposer::kernel_checks
