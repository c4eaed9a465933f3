// SPDX-License-Identifier: Apache-2.0
// What pools say. Nothing here writes into the table, but where a kernel that runs may be given a
// region.
#include "interposer/kernel_checks/library/regions.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/interface.h"
#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/mapped_regions.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/region_state.h"

namespace gmt::interposer::kernel_checks {

constinit Lasting<PoolsOfProcess> all_pools;
constinit std::atomic<bool> has_pools{false};

namespace {

// With the lock; null: it is no pool's.
DividedBlock* divided_at(std::uint64_t address) {
  auto& blocks = (*all_pools).blocks;
  const auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return nullptr;
  DividedBlock& divided = std::prev(next)->second;
  return address < divided.map.block().end ? &divided : nullptr;
}

// With the lock. Their slots are to be given back without it.
void forget_slots(DividedBlock& divided, const std::vector<Region>& regions) {
  for (const Region& region : regions) divided.new_slots.erase(region.slot);
}
void give_slots(const std::vector<Region>& regions) noexcept {
  for (const Region& region : regions) give_slot(region.slot);
}

// The followed block that holds all of these addresses, if the table can be written in the order of
// streams.
std::optional<Kept> block_around(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::optional<Kept> kept = find_live_around(begin);
  const bool is_fit = kept && kept->is_in_table && !kept->is_ordered && end > begin &&
                      end <= kept->block.end && &table_at(kept->table) == &first_table() &&
                      has_marks(first_table()) && first_table().flag() != 0;
  return is_fit ? kept : std::nullopt;
}

// With the lock. Before the first block is divided.
void begin_pools() {
  if (has_pools.load()) return;
  note_ranges_to_forget();                // marks may come behind the block's end
  if (may_run(0)) disturbed.fetch_add(1); // in whatever streams
  has_pools.store(true);
}

// With the lock.
DividedBlock& divide(const Kept& kept) {
  auto& blocks = (*all_pools).blocks;
  const auto [at, is_new] =
    blocks.try_emplace(kept.block.begin, DividedBlock{PoolMap(kept.block, kept.slot), {}, {}});
  if (is_new) begin_pools();
  return at->second;
}

// With the lock. The granule before says whether the next one is full.
void note_change(DividedBlock& divided, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t least = divided.map.block().begin;
  const std::uint64_t first = begin / kGranule * kGranule;
  divided.changed.add(
    first > least ? first - kGranule : least,
    std::min((end + kGranule - 1) / kGranule * kGranule, divided.map.block().end));
  if (any_capture()) divided.is_captured = true;
}

} // namespace

void pool_begins(std::uint64_t pool, std::uint64_t begin, std::uint64_t bytes) noexcept {
  const std::uint64_t end = begin + bytes;
  const std::optional<Kept> kept = block_around(begin, end);
  const Locked lock;
  (*all_pools).pools[pool] = {kept ? begin : 0, kept ? end : 0};
  if (!kept) return;
  DividedBlock& divided = divide(*kept);
  divided.map.own(begin, end);
  note_change(divided, begin, end);
}

void pool_ends(std::uint64_t pool) noexcept {
  std::vector<Region> ended;
  {
    const Locked lock;
    const auto found = (*all_pools).pools.find(pool);
    if (found == (*all_pools).pools.end()) return;
    const auto [begin, end] = found->second;
    (*all_pools).pools.erase(found);
    DividedBlock* const divided = divided_at(begin);
    if (end == 0 || divided == nullptr) return;
    ended = divided->map.disown(begin, end);
    forget_slots(*divided, ended);
    note_change(*divided, begin, end);
  }
  give_slots(ended);
}

void pool_is_reset(std::uint64_t pool) noexcept {
  std::vector<Region> ended;
  {
    const Locked lock;
    const auto found = (*all_pools).pools.find(pool);
    if (found == (*all_pools).pools.end()) return;
    const auto [begin, end] = found->second;
    DividedBlock* const divided = divided_at(begin);
    if (end == 0 || divided == nullptr) return;
    ended = divided->map.give_all_back(begin, end);
    forget_slots(*divided, ended);
    note_change(*divided, begin, end);
  }
  give_slots(ended);
}

void region_given_out(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) noexcept {
  std::optional<Kept> kept = block_around(address, address + bytes);
  const bool may_be_mapped = !kept && pool == kPoolOfBlock && !find_live_around(address);
  const std::optional<rewriter::Block> mapped =
    may_be_mapped ? mapped_around(address, address + bytes) : std::nullopt;
  if (mapped) kept = Kept{.block = *mapped};
  if (!kept) return;
  const Region region{address, address + bytes, take_slot()};
  std::vector<Region> replaced;
  std::uint32_t resized = kNoSlot;
  bool is_pools = true;
  {
    const Locked lock;
    if (mapped) {
      begin_pools();
      divide_mapped(*mapped);
    } else if (pool == kPoolOfBlock) {
      const bool is_new = !(*all_pools).blocks.contains(kept->block.begin);
      DividedBlock& divided = divide(*kept);
      if (is_new) {
        divided.map.own(kept->block.begin, kept->block.end);
        note_change(divided, kept->block.begin, kept->block.end);
      }
    } else if (pool == kPoolOfRegion) {
      DividedBlock* const divided = divided_at(address);
      const auto old = divided != nullptr ? divided->map.give_back(address) : std::nullopt;
      is_pools = old.has_value();
      if (is_pools) {
        forget_slots(*divided, {*old});
        note_change(*divided, old->begin, old->end);
        resized = old->slot;
      }
    } else {
      is_pools = (*all_pools).pools.contains(pool);
    }
    if (is_pools) {
      DividedBlock& divided = divide(*kept);
      replaced = divided.map.give_out(region);
      forget_slots(divided, replaced);
      if (region.slot != kNoSlot) divided.new_slots.insert_or_assign(region.slot, region);
      note_change(divided, region.begin, region.end);
    }
  }
  give_slot(resized);
  if (!is_pools) return give_slot(region.slot);
  give_slots(replaced);
  // The host may hand it to a kernel that runs. What PyTorch gives out goes to later ones.
  if (pool != kPoolOfBlock && may_run(0))
    forget_now({{region.begin / kGranule * kGranule, region.end}});
}

void region_given_back(std::uint64_t address) noexcept {
  if (!has_pools.load(std::memory_order_relaxed)) return;
  std::optional<Region> region;
  {
    const Locked lock;
    DividedBlock* const divided = divided_at(address);
    if (divided == nullptr) return;
    region = divided->map.give_back(address);
    if (!region) return;
    forget_slots(*divided, {*region});
    note_change(*divided, region->begin, region->end);
  }
  give_slot(region->slot);
}

// ---- ends

// Who writes right now may write of this block.
void end_regions(std::uint64_t block) noexcept {
  if (!has_pools.load(std::memory_order_relaxed)) return;
  std::vector<Region> ended;
  {
    const Locked lock;
    auto& blocks = (*all_pools).blocks;
    const auto found = blocks.find(block);
    if (found == blocks.end()) return;
    ended = found->second.map.regions();
    blocks.erase(found);
  }
  give_slots(ended);
  wait_for_region_writer();
}

void forget_regions() noexcept {
  const Locked lock;
  *all_pools = PoolsOfProcess();
  has_pools.store(false);
  begin_region_writer_anew(false);
}

void abandon_regions() noexcept {
  all_pools.begin_anew();
  has_pools.store(false);
  begin_region_writer_anew(true);
}

} // namespace gmt::interposer::kernel_checks
