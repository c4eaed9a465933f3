// SPDX-License-Identifier: Apache-2.0
// When what pools say is written into the table: before launches, as long as one stream has all
// that may run.
#include <atomic>
#include <iterator>
#include <sched.h>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/region_state.h"
#include "interposer/kernel_checks/library/regions.h"

namespace gmt::interposer::kernel_checks {

constinit std::atomic<std::uint32_t> disturbed{0};

namespace {

// ---- what may run

constinit std::atomic<bool> is_writing{false};
constinit std::atomic<bool> are_given_up{false}; // in this context
struct RegionWriter {                            // of who has set is_writing
  std::uint32_t known = 0;                       // of `disturbed`
  std::uint64_t stream = 0;                      // of all launches that may run; 0: none may
  bool is_mixed = false; // they are of several: the table says "unknown" of all pools
  unsigned restored = 0; // so often it said more again
};
constinit RegionWriter region_writer;
constexpr unsigned kMostRestored = 64; // each one writes all pools anew

constexpr char kMixed[] =
  "regions of pools count as right while kernels of more than one stream may use them";

std::uint64_t identity(CUstream stream) noexcept {
  unsigned long long id = 0;
  if (driver.stream_id(stream, &id) == 0) return id + 1;
  return stream == CU_STREAM_PER_THREAD ? 0 : reinterpret_cast<std::uint64_t>(stream);
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
  const std::uint64_t distrust = first_table().flag() + kRegionsFlag;
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
    good = put_mark(first_table(), mark, stream);
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
  const Work work(first_table().context());
  bool good = work.ready();
  for (const Region& region : new_slots)
    good = good && first_table().write_bounds(region.slot, {region.begin / kGranule * kGranule,
                                                            region.end | rewriter::kTableDecides});
  first_table().settle();
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
  if (!region_writer.is_mixed) note_unchecked("", kMixed, 0);
  region_writer.is_mixed = true;
  distrust_regions(true);
  forget_all_now();
}

// Nothing runs: what comes now has an order again. Who disturbs meanwhile sets the word behind.
void begin_anew(std::uint32_t seen) noexcept {
  region_writer.stream = 0;
  if (!region_writer.is_mixed && seen == region_writer.known) return;
  region_writer.known = seen;
  if (region_writer.restored == kMostRestored || are_given_up.load()) {
    if (!region_writer.is_mixed) mix();
    return;
  }
  distrust_regions(false);
  if (disturbed.load() != seen) {
    distrust_regions(true);
    region_writer.is_mixed = true;
    return;
  }
  ++region_writer.restored;
  region_writer.is_mixed = false;
  change_all();
}

} // namespace

void forget_now(const std::vector<rewriter::Block>& blocks) noexcept {
  const Work work(first_table().context());
  for (const rewriter::Block& block : blocks) {
    if (work.ready()) first_table().write_mapped(block);
  }
}

void launch_beside_regions() noexcept {
  if (!has_pools.load(std::memory_order_relaxed)) return;
  begin_launch();
  disturb();
}

// A context that shares the first one's table: who waits for one of them waits for that alone.
void launch_beside_regions_for_good() noexcept {
  if (!has_pools.load(std::memory_order_relaxed)) return;
  are_given_up.store(true);
  launch_beside_regions();
}

void write_regions_for(const Table& table, CUstream stream) noexcept {
  if (&table == &first_table()) return write_regions(stream);
  if (table.shares_memory_with(first_table())) launch_beside_regions_for_good();
}

void write_regions(CUstream stream) noexcept {
  if (!has_pools.load(std::memory_order_relaxed)) return;
  // Another thread's launch: nothing orders the two.
  if (is_writing.exchange(true)) return launch_beside_regions();
  const std::uint32_t seen = disturbed.load(); // before it is asked what may run
  if (!may_run(0)) begin_anew(seen);
  else if (seen != region_writer.known) mix();
  const std::uint64_t own = identity(stream);
  if (!region_writer.is_mixed && region_writer.stream == 0) region_writer.stream = own;
  if (!region_writer.is_mixed && (own == 0 || region_writer.stream != own || !put_changes(stream)))
    mix();
  begin_launch(); // behind the marks: who waits for launches that were counted waits for these, too
  region_writer.known = seen;
  if (disturbed.load() != seen) region_writer.is_mixed = true;
  is_writing.store(false);
}

// The driver has what it writes to the end before a block is freed.
void wait_for_region_writer() noexcept {
  constexpr int kMostTurns = 100000;
  for (int i = 0; i < kMostTurns && is_writing.load(); ++i) sched_yield();
}

void begin_region_writer_anew(bool is_forked) noexcept {
  if (is_forked) is_writing.store(false);
  are_given_up.store(false);
  region_writer = {.known = disturbed.load()};
}

} // namespace gmt::interposer::kernel_checks
