// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/regions.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <optional>
#include <sched.h>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/interface.h"
#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/pool_map.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Divided {
  PoolMap map;
  RangeSet changed;                          // what the table does not have yet
  std::map<std::uint32_t, Region> new_slots; // whose bounds it does not have yet
  bool is_captured = false;                  // graphs may use it: unknown for good
  bool is_forgotten = false;                 // and the table says so
};
struct Pools {
  std::map<std::uint64_t, Divided> blocks;                                // by their begins
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> pools; // begins and ends
};
constinit Lasting<Pools> all_pools; // with the lock
constinit std::atomic<bool> has_any{false};

// ---- what may run

// So often launches began that the writer below does not know of. Each one sets the word in the
// host's memory first that makes marks say "unknown".
constinit std::atomic<std::uint32_t> disturbed{0};
constinit std::atomic<bool> is_writing{false};
struct Writer {             // of who has set is_writing
  std::uint32_t known = 0;  // of `disturbed`
  std::uint64_t stream = 0; // of all launches that may run; 0: none may
  bool is_mixed = false;    // they are of several: the table says "unknown" of all pools
  unsigned restored = 0;    // so often it said more again
};
constinit Writer writer;
constexpr unsigned kMostRestored = 64; // each one writes all pools anew

constexpr char kMixed[] =
  "regions of pools count as right while kernels of more than one stream may use them";

std::uint64_t identity(CUstream stream) noexcept {
  unsigned long long id = 0;
  if (driver.stream_id(stream, &id) == 0) return id + 1;
  return stream == CU_STREAM_PER_THREAD ? 0 : reinterpret_cast<std::uint64_t>(stream);
}

// With the lock; null: it is no pool's.
Divided* divided_at(std::uint64_t address) {
  auto& blocks = (*all_pools).blocks;
  const auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return nullptr;
  Divided& divided = std::prev(next)->second;
  return address < divided.map.block().end ? &divided : nullptr;
}

// With the lock. Their slots are to be given back without it.
void forget_slots(Divided& divided, const std::vector<Region>& regions) {
  for (const Region& region : regions) divided.new_slots.erase(region.slot);
}
void give_slots(const std::vector<Region>& regions) noexcept {
  for (const Region& region : regions) give_slot(region.slot);
}

// Of the host's own accord: what marks that are queued in streams write behind it must not matter.
void forget_now(const std::vector<rewriter::Block>& blocks) noexcept {
  const Work work(table().context());
  for (const rewriter::Block& block : blocks) {
    if (work.ready()) table().write_mapped(block);
  }
}

void forget_all_now() noexcept {
  std::vector<rewriter::Block> blocks;
  {
    const Locked lock;
    for (const auto& [begin, divided] : (*all_pools).blocks) blocks.push_back(divided.map.block());
  }
  forget_now(blocks);
}

// A launch begins whose order is not known; it is counted already.
void disturb() noexcept {
  disturbed.fetch_add(1);
  distrust_regions(true);
  forget_all_now();
}

// ---- the table

struct Written {
  std::uint64_t begin; // of the first granule
  std::vector<std::int16_t> entries;
};

bool is_live(std::int16_t entry) noexcept { return entry > 0; }

// One mark for what is alike: full granules and the end of a region, and what is invalid behind.
bool put(const Written& written, CUstream stream) noexcept {
  const std::vector<std::int16_t>& entries = written.entries;
  const std::uint64_t distrust = table().flag() + kRegionsFlag;
  bool good = true;
  for (std::size_t i = 0; good && i < entries.size();) {
    const std::size_t begin = i;
    const std::int16_t first = entries[i];
    while (i < entries.size() && entries[i] == first && first >= rewriter::kFirstBlock) ++i;
    Mark mark{{written.begin + begin * kGranule, written.begin + i * kGranule}};
    mark.distrust = distrust;
    mark.are_bounds_there = true;
    const std::size_t full = i - begin;
    if (i < entries.size() && is_live(entries[i]) && entries[i] <= std::int16_t{kGranule}) {
      mark.is_live = true;
      mark.slot = full != 0 ? static_cast<std::uint32_t>(first - rewriter::kFirstBlock) : kNoSlot;
      const bool is_full = entries[i] == std::int16_t{kGranule}; // and the next one is not
      mark.block.end += static_cast<std::uint64_t>(entries[i++]);
      if (is_full && i < entries.size() && is_live(entries[i]) &&
          entries[i] < std::int16_t{kGranule})
        mark.block.end += static_cast<std::uint64_t>(entries[i++]);
      if (i < entries.size() && !is_live(entries[i])) mark.behind = entries[i];
      while (i < entries.size() && !is_live(entries[i]) && entries[i] == mark.behind) {
        ++mark.more;
        ++i;
      }
    } else if (full != 0) {
      mark.behind = first;
    } else {
      mark.behind = first;
      while (i < entries.size() && entries[i] == first) ++i;
      mark.block.end = written.begin + i * kGranule;
    }
    good = put_mark(mark, stream);
  }
  return good;
}

// What has changed, and is in the table then.
std::vector<Written> take_changes(std::vector<Region>& new_slots) {
  std::vector<Written> changes;
  const Locked lock;
  for (auto& [begin, divided] : (*all_pools).blocks) {
    const rewriter::Block& block = divided.map.block();
    if (divided.is_captured) {
      const std::size_t count = (block.end - begin + kGranule - 1) / kGranule;
      if (!std::exchange(divided.is_forgotten, true))
        changes.push_back(
          {begin, std::vector<std::int16_t>(count, std::int16_t{rewriter::kNoBlock})});
      continue;
    }
    for (const auto& [slot, region] : std::exchange(divided.new_slots, {}))
      new_slots.push_back(region);
    const PoolMap& map = divided.map;
    divided.changed.for_each(begin, block.end, [&](std::uint64_t from, std::uint64_t to) {
      changes.push_back({from / kGranule * kGranule, map.entries(from, to)});
    });
    divided.changed = {};
  }
  return changes;
}

bool put_changes(CUstream stream) noexcept {
  std::vector<Region> new_slots;
  const std::vector<Written> changes = take_changes(new_slots);
  if (changes.empty()) return true;
  const Work work(table().context());
  bool good = work.ready();
  for (const Region& region : new_slots)
    good = good && table().write_bounds(region.slot, {region.begin / kGranule * kGranule,
                                                      region.end | rewriter::kTableDecides});
  table().settle();
  for (const Written& written : changes) good = good && put(written, stream);
  return good;
}

void change_all() {
  const Locked lock;
  for (auto& [begin, divided] : (*all_pools).blocks) {
    const rewriter::Block& block = divided.map.block();
    divided.changed.add(begin, block.end);
    for (const Region& region : divided.map.regions())
      divided.new_slots.insert_or_assign(region.slot, region);
  }
}

void mix() noexcept {
  if (!writer.is_mixed) note_unchecked("", kMixed, 0);
  writer.is_mixed = true;
  distrust_regions(true);
  forget_all_now();
}

// Nothing runs: what comes now has an order again. Who disturbs meanwhile sets the word behind.
void begin_anew(std::uint32_t seen) noexcept {
  writer.stream = 0;
  if (!writer.is_mixed && seen == writer.known) return;
  writer.known = seen;
  if (writer.restored == kMostRestored) {
    if (!writer.is_mixed) mix();
    return;
  }
  distrust_regions(false);
  if (disturbed.load() != seen) {
    distrust_regions(true);
    writer.is_mixed = true;
    return;
  }
  ++writer.restored;
  writer.is_mixed = false;
  change_all();
}

} // namespace

void launch_beside_regions() noexcept {
  if (!has_any.load(std::memory_order_relaxed)) return;
  begin_launch();
  disturb();
}

void write_regions(CUstream stream) noexcept {
  if (!has_any.load(std::memory_order_relaxed)) return;
  // Another thread's launch: nothing orders the two.
  if (is_writing.exchange(true)) return launch_beside_regions();
  const std::uint32_t seen = disturbed.load(); // before it is asked what may run
  if (!may_any_run()) begin_anew(seen);
  else if (seen != writer.known) mix();
  begin_launch();
  const std::uint64_t own = identity(stream);
  if (!writer.is_mixed && writer.stream == 0) writer.stream = own;
  if (!writer.is_mixed && (own == 0 || writer.stream != own || !put_changes(stream))) mix();
  writer.known = seen;
  if (disturbed.load() != seen) writer.is_mixed = true;
  is_writing.store(false);
}

// ---- what pools say

namespace {

// The followed block that holds all of these addresses, if the table can be written in the order of
// streams.
std::optional<Kept> block_around(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::optional<Kept> kept = find_live_around(begin);
  const bool is_fit = kept && kept->is_in_table && !kept->is_ordered && end > begin &&
                      end <= kept->block.end && has_marks() && table().flag() != 0;
  return is_fit ? kept : std::nullopt;
}

// With the lock.
Divided& divide(const Kept& kept) {
  auto& blocks = (*all_pools).blocks;
  const auto [at, is_new] =
    blocks.try_emplace(kept.block.begin, Divided{PoolMap(kept.block, kept.slot), {}, {}});
  if (is_new && !has_any.load()) {
    note_ranges_to_forget();                   // marks may come behind the block's end
    if (may_any_run()) disturbed.fetch_add(1); // in whatever streams
    has_any.store(true);
  }
  return at->second;
}

// With the lock. The granule before says whether the next one is full.
void note_change(Divided& divided, std::uint64_t begin, std::uint64_t end) {
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
  Divided& divided = divide(*kept);
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
    Divided* const divided = divided_at(begin);
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
    Divided* const divided = divided_at(begin);
    if (end == 0 || divided == nullptr) return;
    ended = divided->map.give_all_back(begin, end);
    forget_slots(*divided, ended);
    note_change(*divided, begin, end);
  }
  give_slots(ended);
}

void region_given_out(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) noexcept {
  const std::optional<Kept> kept = block_around(address, address + bytes);
  if (!kept) return;
  const Region region{address, address + bytes, take_slot()};
  std::vector<Region> replaced;
  std::uint32_t resized = kNoSlot;
  bool is_pools = true;
  {
    const Locked lock;
    if (pool == kPoolOfBlock) {
      const bool is_new = !(*all_pools).blocks.contains(kept->block.begin);
      Divided& divided = divide(*kept);
      if (is_new) {
        divided.map.own(kept->block.begin, kept->block.end);
        note_change(divided, kept->block.begin, kept->block.end);
      }
    } else if (pool == kPoolOfRegion) {
      Divided* const divided = divided_at(address);
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
      Divided& divided = divide(*kept);
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
  if (pool != kPoolOfBlock && may_any_run())
    forget_now({{region.begin / kGranule * kGranule, region.end}});
}

void region_given_back(std::uint64_t address) noexcept {
  if (!has_any.load(std::memory_order_relaxed)) return;
  std::optional<Region> region;
  {
    const Locked lock;
    Divided* const divided = divided_at(address);
    if (divided == nullptr) return;
    region = divided->map.give_back(address);
    if (!region) return;
    forget_slots(*divided, {*region});
    note_change(*divided, region->begin, region->end);
  }
  give_slot(region->slot);
}

// ---- ends

// Who writes right now may write of this block: the driver has it to the end before it is freed.
void end_regions(std::uint64_t block) noexcept {
  if (!has_any.load(std::memory_order_relaxed)) return;
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
  constexpr int kMostTurns = 100000;
  for (int i = 0; i < kMostTurns && is_writing.load(); ++i) sched_yield();
}

void forget_regions() noexcept {
  const Locked lock;
  *all_pools = Pools();
  has_any.store(false);
  writer = {.known = disturbed.load()};
}

void abandon_regions() noexcept {
  all_pools.begin_anew();
  has_any.store(false);
  is_writing.store(false);
  writer = {.known = disturbed.load()};
}

} // namespace gmt::interposer::kernel_checks
