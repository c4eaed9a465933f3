// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/blocks.h"

#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct PoolUse {
  std::uint64_t bytes = 0, poison = 0; // now
  std::uint64_t most = 0, poison_then = 0;
};

struct Blocks {
  std::map<std::uint64_t, Kept> live;           // by begin
  std::list<Kept> resting;                      // oldest first
  std::unordered_set<std::uint64_t> resting_at; // where these begin
  // The same in the same order, by their tables and how much room they have.
  std::map<std::pair<unsigned, std::size_t>, std::deque<std::list<Kept>::iterator>> resting_of;
  std::size_t resting_bytes = 0;
  std::map<std::uint64_t, PoolUse> pools;
  std::vector<std::uint32_t> free_slots;
  std::uint32_t next_slot = 0;
};
constinit Lasting<Blocks> all_blocks;
Blocks& blocks() noexcept { return *all_blocks; }

void add_to_pool(const Kept& kept) {
  if (kept.pool == 0) return;
  PoolUse& use = blocks().pools[kept.pool];
  use.bytes += with_poison(size_of(kept));
  use.poison += with_poison(size_of(kept)) - size_of(kept);
  if (use.bytes < use.most) return;
  use.most = use.bytes;
  use.poison_then = use.poison;
}

void take_from_pool(const Kept& kept) {
  if (kept.pool == 0) return;
  PoolUse& use = blocks().pools[kept.pool];
  use.bytes -= with_poison(size_of(kept));
  use.poison -= with_poison(size_of(kept)) - size_of(kept);
}

// How many of the oldest ones are looked at for room, from so many bytes on: smaller blocks the
// driver has at hand.
constexpr std::size_t kLookedAt = 16, kLarge = std::size_t{1} << 20;

// With the lock; of those that rest there is one.
Kept take_oldest_of(unsigned table, std::size_t bytes) {
  Blocks& all = blocks();
  const auto of_size = all.resting_of.find({table, bytes});
  const auto at = of_size->second.front();
  of_size->second.pop_front();
  if (of_size->second.empty()) all.resting_of.erase(of_size);
  const Kept oldest = *at;
  all.resting.erase(at);
  all.resting_at.erase(oldest.block.begin);
  all.resting_bytes -= bytes;
  return oldest;
}

} // namespace

std::uint32_t take_slot() noexcept {
  const Locked lock;
  Blocks& all = blocks();
  if (!all.free_slots.empty()) {
    const std::uint32_t slot = all.free_slots.back();
    all.free_slots.pop_back();
    return slot;
  }
  return all.next_slot < kNoSlot ? all.next_slot++ : kNoSlot;
}

void give_slot(std::uint32_t slot) noexcept {
  const Locked lock;
  if (slot != kNoSlot) blocks().free_slots.push_back(slot);
}

void keep_live(const Kept& kept) noexcept {
  const Locked lock;
  const auto [at, is_new] = blocks().live.try_emplace(kept.block.begin, kept);
  if (!is_new) take_from_pool(std::exchange(at->second, kept));
  add_to_pool(kept);
}

std::optional<Kept> take_live(std::uint64_t begin) noexcept {
  const Locked lock;
  const auto found = blocks().live.find(begin);
  if (found == blocks().live.end()) return std::nullopt;
  const Kept kept = found->second;
  blocks().live.erase(found);
  take_from_pool(kept);
  return kept;
}

std::optional<Kept> find_live(std::uint64_t begin) noexcept {
  const Locked lock;
  const auto found = blocks().live.find(begin);
  return found != blocks().live.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<Kept> find_live_around(std::uint64_t address) noexcept {
  const Locked lock;
  const auto next = blocks().live.upper_bound(address);
  if (next == blocks().live.begin()) return std::nullopt;
  const Kept& kept = std::prev(next)->second;
  return address < kept.block.end ? std::optional(kept) : std::nullopt;
}

void let_rest(const Kept& kept) noexcept {
  const Locked lock;
  Blocks& all = blocks();
  all.resting.push_back(kept);
  all.resting_of[{kept.table, room_of(kept)}].push_back(std::prev(all.resting.end()));
  all.resting_at.insert(kept.block.begin);
  all.resting_bytes += room_of(kept);
}

bool rests(std::uint64_t begin) noexcept {
  const Locked lock;
  return blocks().resting_at.contains(begin);
}

std::optional<Kept> take_resting(std::size_t most_bytes) noexcept {
  const Locked lock;
  const Blocks& all = blocks();
  if (all.resting.empty() || all.resting_bytes <= most_bytes) return std::nullopt;
  return take_oldest_of(all.resting.front().table, room_of(all.resting.front()));
}

// One that is not the oldest of its room is left, too: it was freed not long ago.
std::optional<Kept> take_resting_of(unsigned table, std::size_t room, std::size_t needed,
                                    std::size_t most_bytes) noexcept {
  const Locked lock;
  const Blocks& all = blocks();
  if (all.resting_bytes + room <= most_bytes) return std::nullopt;
  if (all.resting_of.contains({table, room})) return take_oldest_of(table, room);
  std::size_t looked = 0;
  for (const Kept& kept : all.resting) {
    if (needed < kLarge || looked++ == kLookedAt) break;
    const std::size_t has = room_of(kept);
    if (kept.table == table && has >= needed && has <= needed + needed / 2)
      return take_oldest_of(table, has);
  }
  return std::nullopt;
}

std::uint64_t poison_in_pool(std::uint64_t pool, bool at_most) noexcept {
  const Locked lock;
  const auto found = blocks().pools.find(pool);
  if (found == blocks().pools.end()) return 0;
  return at_most ? found->second.poison_then : found->second.poison;
}

void begin_most_of_pool(std::uint64_t pool) noexcept {
  const Locked lock;
  const auto found = blocks().pools.find(pool);
  if (found == blocks().pools.end()) return;
  found->second.most = found->second.bytes;
  found->second.poison_then = found->second.poison;
}

std::vector<Kept> take_blocks_of(unsigned table) noexcept {
  const Locked lock;
  Blocks& all = blocks();
  std::vector<Kept> taken;
  for (auto at = all.live.begin(); at != all.live.end();) {
    const Kept kept = at->second;
    at = kept.table == table ? all.live.erase(at) : std::next(at);
    if (kept.table != table) continue;
    take_from_pool(kept);
    taken.push_back(kept);
  }
  for (auto at = all.resting_of.begin(); at != all.resting_of.end();) {
    const auto [of, room] = (at++)->first;
    while (of == table && all.resting_of.contains({of, room}))
      taken.push_back(take_oldest_of(of, room));
  }
  for (const Kept& kept : taken) {
    if (kept.slot != kNoSlot) all.free_slots.push_back(kept.slot);
  }
  return taken;
}

std::vector<Kept> live_blocks() noexcept {
  const Locked lock;
  std::vector<Kept> live;
  for (const auto& [begin, kept] : blocks().live) live.push_back(kept);
  return live;
}

void forget_all_blocks() noexcept {
  const Locked lock;
  blocks() = Blocks();
}

void abandon_blocks() noexcept { all_blocks.begin_anew(); }

} // namespace gmt::interposer::kernel_checks
