// SPDX-License-Identifier: Apache-2.0
// Memory that is mapped piece by piece at addresses that were reserved for it, and divided into
// regions: PyTorch's expandable segments. Pieces side by side are one block, which grows with each
// new one. When a piece is given back, nothing of its reservation is followed any more.
#include "interposer/kernel_checks/library/mapped_regions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
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

template <class Visit> void for_each_block(std::uint64_t begin, std::uint64_t end, Visit visit) {
  auto& blocks = (*all_pools).blocks;
  for (auto at = first_meeting(begin); at != blocks.end() && at->first < end; ++at)
    visit(at->second);
}

// All of a reservation counts as right from now on: at once, and once more behind what streams have
// still to write, as where a graph uses memory.
void stop_following(std::uint64_t address) noexcept {
  constexpr char kReason[] =
    "PyTorch's expandable segments count as right from when a piece of one was given back";
  std::vector<rewriter::Block> unknown;
  {
    const Locked lock;
    const auto reserved = reservation_at(address);
    if (reserved == (*reservations).end()) return;
    for_each_block(reserved->first, reserved->second, [&](DividedBlock& divided) {
      divided.is_captured = true;
      unknown.push_back(divided.map.block());
    });
    (*reservations).erase(reserved);
  }
  if (unknown.empty()) return;
  wait_for_region_writer();
  forget_now(unknown);
  note_unchecked("", kReason, 0);
}

} // namespace

std::optional<rewriter::Block> mapped_around(std::uint64_t begin, std::uint64_t end) noexcept {
  std::optional<rewriter::Block> found;
  {
    const Locked lock;
    const auto reserved = reservation_at(begin);
    if (reserved == (*reservations).end()) return std::nullopt;
    (*mapped_pieces)
      .for_each(reserved->first, reserved->second, [&](std::uint64_t b, std::uint64_t e) {
        if (b <= begin && end <= e) found = {b, e};
      });
  }
  const bool is_fit = found && end > begin && first_table().covers(found->begin, found->end) &&
                      has_marks(first_table()) && first_table().flag() != 0;
  if (is_fit) return found;
  stop_following(begin);
  return std::nullopt;
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
  piece_unmapped(begin, bytes);
  std::vector<Region> ended;
  {
    const Locked lock;
    for_each_block(begin, begin + bytes, [&](const DividedBlock& divided) {
      const std::vector<Region> regions = divided.map.regions();
      ended.insert(ended.end(), regions.begin(), regions.end());
    });
    auto& blocks = (*all_pools).blocks;
    blocks.erase(blocks.lower_bound(begin), blocks.lower_bound(begin + bytes));
  }
  for (const Region& region : ended) give_slot(region.slot);
}

void piece_mapped(std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (!has_table() || &table() != &first_table()) return stop_following(begin);
  const Locked lock;
  (*mapped_pieces).add(begin, begin + bytes);
}

void piece_unmapped(std::uint64_t begin, std::uint64_t bytes) noexcept {
  stop_following(begin);
  const Locked lock;
  (*mapped_pieces).remove(begin, begin + bytes);
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
