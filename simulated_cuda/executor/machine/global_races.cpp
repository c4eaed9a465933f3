// SPDX-License-Identifier: Apache-2.0
// Races in global memory: what the fast paths passed on, exactly who raced with whom. An entry
// knows one access. Where several threads loaded, a race is said only where it is one with each of
// them, or with the one of another block that is known.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/race_entries.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/access_strength.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

using namespace global_race;

bool is_atomic(const Program& program, const Instruction& in) {
  return program.shapes[in.form].memory == Shape::Memory::kAtomic;
}
bool is_store(const Program& program, const Instruction& in) {
  return program.shapes[in.form].memory == Shape::Memory::kStore;
}
// A lane's access to one word.
struct WordAccess {
  Warp& w;
  const Instruction& in;
  std::uint32_t lane;
  Access access;
  bool strong;        // morally, towards threads of the block
  bool is_equal;      // a store of what is there
  std::uint64_t mine; // its entry
};

// Whether one of the two has the scope of their cluster, and none a smaller one.
bool are_of_cluster(const WordAccess& now, const Instruction& there, const Earlier& e) {
  const std::uint64_t blocks = now.w.grid->cluster_blocks;
  const std::uint32_t both = now.in.extra | there.extra;
  return (both & kNarrowScope) == kClusterScope && e.earlier == nullptr &&
         e.block / blocks == now.w.block->number / blocks;
}

// Strong accesses do not race with each other, if the scope of both has both threads.
bool is_between_strong(const WordAccess& now, std::uint64_t entry, const Earlier& e) {
  if (!now.strong) return false;
  if ((now.mine & entry & kStrong) != 0) return true;
  const Code* code = nullptr;
  const Instruction& there = site_of_entry(now.w, entry, &code);
  if (!e.is_same_block && !are_of_cluster(now, there, e)) return false;
  return is_strong(program_of_entry(now.w, entry), there);
}

// Whether an atomic must not hide a store of its block from others: a plain one, which no other
// block can know of unless it knows of the atomic as well.
bool hides_store(const WordAccess& now, std::uint64_t entry) {
  const Block& block = *now.w.block;
  if ((now.mine & kStrong) == 0 || (entry & kStrong) != 0 || (entry & now.mine & kMask) == 0)
    return false;
  const Earlier e = earlier_of(block, entry);
  return e.is_of_launch && e.is_same_block && !e.is_shared_word &&
         e.clock >= last_device_fence(block);
}

bool races(const WordAccess& now, std::uint64_t entry, Earlier* e) {
  if ((entry & now.mine & kMask) == 0) return false;
  *e = earlier_of(*now.w.block, entry);
  // Who loads may have stored the value as well
  if (now.access == Access::kLoad && e->thread == kEqualThreads) return false;
  return e->is_of_launch && !is_between_strong(now, entry, *e) && is_unordered(now.w, now.lane, *e);
}

// Whether a store overwrites what a block had loaded before it met at a barrier and stored a flag
// that the storing block saw, both without a fence. Of a word that several blocks loaded a flag of
// the one that is known is enough, or of any if that is the storing block.
bool is_behind_flag(const WordAccess& now, const Earlier& e) {
  const Block& block = *now.w.block;
  if (e.is_same_block) return e.is_shared_word && block.known != 0;
  const GridOrdering& ordering = *block.grid->ordering;
  return e.is_shared_word ? ordering.saw_some_flag(block, e.block)
                          : ordering.saw_flag(block, e.block, e.clock);
}

// Programs rely on it: a flag is polled, or all store the same.
RaceHabit habit_of(const WordAccess& now, const Program& program, const Instruction& there,
                   const Earlier& e, bool was_store) {
  const bool was_strong = is_strong(program, there);
  if (now.is_equal && was_store && !is_atomic(program, there)) return RaceHabit::kSameValue;
  const bool one_loads = now.access == Access::kLoad || !was_store;
  const bool one_polls =
    now.strong != was_strong || is_uncached(*now.w.program, now.in) || is_uncached(program, there);
  if (one_loads && one_polls) return RaceHabit::kPoll;
  if (e.earlier != nullptr) return RaceHabit::kNone;
  return !was_store && is_behind_flag(now, e) ? RaceHabit::kRelaxed : RaceHabit::kNone;
}

// Of a weak entry that an atomic has: the store that is behind it.
std::uint64_t shown_entry(const WordAccess& now, const std::uint64_t* at, std::uint64_t entry) {
  if ((entry & kStrong) != 0) return entry;
  const Code* code = nullptr;
  const Program& program = program_of_entry(now.w, entry);
  const Instruction& in = site_of_entry(now.w, entry, &code);
  if (!is_atomic(program, in) || (in.extra & kNarrowScope) != 0) return entry;
  const std::uint64_t store = now.w.grid->ordering->hidden_store(at);
  return store != 0 ? store : entry;
}

RaceHabit report(const WordAccess& now, std::uint64_t entry, Earlier e, bool was_store,
                 const std::uint64_t* at, std::uint64_t address, std::uint32_t bytes) {
  if (was_store && !e.is_same_block && e.earlier == nullptr) {
    const std::uint64_t shown = shown_entry(now, at, entry);
    if (shown != entry) e = earlier_of(*now.w.block, shown);
    entry = shown;
  }
  AccessFacts facts = facts_of(now.w, &now.in, now.lane);
  // A copy may end where its warp is in another function
  now.w.grid->program->instruction(now.in.number, &facts.code);
  facts.access = now.access;
  facts.bytes = bytes;
  facts.space = Space::kGlobal;
  facts.address = address;
  OtherThread other;
  other.in = &site_of_entry(now.w, entry, &other.code);
  other.block = e.is_shared_word && e.is_same_block ? OtherThread::kNoBlock : e.block;
  other.thread = !e.is_shared_word && e.thread < kSeveral ? e.thread : ~0u;
  const Program& program = program_of_entry(now.w, entry);
  const Access earlier = is_store(program, *other.in) ? Access::kStore : Access::kLoad;
  other.access = is_atomic(program, *other.in) ? Access::kAtomic : earlier;
  other.habit = habit_of(now, program, *other.in, e, was_store);
  if (e.earlier != nullptr) {
    if (other.habit != RaceHabit::kNone) return RaceHabit::kNone; // most get away with it
    other.earlier = e.earlier;
    other.how = now.w.grid->ordering->beside()->how_beside(*e.earlier);
  }
  now.w.worker->checks->global_race(facts, other);
  return other.habit;
}

// A strong access behind a plain one of the same thread: that one races with more, and stays.
bool hides_own(const WordAccess& now, std::uint64_t entry) {
  return now.strong && (entry & kStrong) == 0 && ((entry ^ now.mine) & kWho) == 0;
}

bool has_value(const std::byte* memory, const std::byte* value, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i) {
    std::byte there;
    load_device<std::uint8_t>(&there, memory + i);
    if (there != value[i]) return false;
  }
  return true;
}

bool is_written(const Region& region, std::uint64_t offset, std::uint32_t bytes) {
  const std::uint64_t every = bytes < 64 ? (std::uint64_t{1} << bytes) - 1 : ~std::uint64_t{0};
  const auto first = static_cast<std::uint32_t>(offset % 4);
  return initialized_bytes(region.shadow + offset / 4, first, bytes) == every;
}

// Whether a store leaves an element as it is, and the next or the last element differs: data that
// is moved within an array comes to where it is already, as where Thrust's unique() meets no
// duplicates. Who loads the element gets the same value in any order. In an array of one value
// that proves nothing.
bool keeps_element(const Region& region, std::uint64_t offset, std::uint32_t bytes,
                   const std::byte* value) {
  if (!has_value(region.host + offset, value, bytes) || !is_written(region, offset, bytes))
    return false;
  const auto differs = [&](std::uint64_t other) {
    return other < region.bytes && bytes <= region.bytes - other &&
           is_written(region, other, bytes) && !has_value(region.host + other, value, bytes);
  };
  return differs(offset - bytes) || differs(offset + bytes);
}

} // namespace

void check_global_race(Warp& w, const Instruction* in, std::uint32_t lane, const Region& region,
                       std::uint64_t offset, std::uint32_t bytes, Access access,
                       const std::byte* value) {
  const RaceClock& clock = w.block->global;
  const RaceTable& table = region.races;
  if (clock.launch == 0 || __atomic_load_n(&table.stores, __ATOMIC_ACQUIRE) == nullptr) return;
  // Asynchronous reductions are relaxed ones of the device
  const bool strong = access == Access::kReduction || is_strong(*w.program, *in);
  const bool keeps = access == Access::kStore && !strong && value != nullptr &&
                     keeps_element(region, offset, bytes, value);
  WordAccess now{w, *in, lane, access, strong, false, 0};
  const std::uint64_t wide = now.strong && (in->extra & kNarrowScope) == 0 ? kStrong : 0;
  const std::uint64_t who = static_cast<std::uint64_t>(clock.now) |
                            std::uint64_t{w.id * kLanes + lane} << kThreadShift |
                            std::uint64_t{in->number} << kSiteShift | wide;
  for (std::uint64_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i) {
    const std::uint64_t begin = std::max(i * 4, offset), end = std::min(i * 4 + 4, offset + bytes);
    now.mine = who | (((1u << (end - begin)) - 1) << (begin - i * 4));
    claim_line(w, table.lines + (i * 4 >> kLineShift),
               access == Access::kLoad ? clock.loaded : clock.stored);
    now.is_equal = access == Access::kStore && value != nullptr &&
                   has_value(region.host + begin, value + (begin - offset), end - begin);
    const std::uint64_t store = __atomic_load_n(table.stores + i, __ATOMIC_RELAXED);
    const std::uint64_t load = __atomic_load_n(table.loads + i, __ATOMIC_RELAXED);
    Earlier e;
    RaceHabit habit = RaceHabit::kNone;
    if (races(now, store, &e)) {
      habit = report(now, store, e, true, table.stores + i, region.base + offset, bytes);
      // What lies behind the flag is no mistake of its own
      if (habit == RaceHabit::kPoll && !e.is_same_block && e.thread < kSeveral)
        w.grid->ordering->see(*w.block, e.block, e.thread / kLanes, e.clock);
    } else if (access != Access::kLoad && !keeps && races(now, load, &e)) {
      report(now, load, e, false, table.loads + i, region.base + offset, bytes);
    }
    // A store that keeps its element is a load of it, unless another one of the launch stored that
    const bool is_load = access == Access::kLoad || (keeps && habit != RaceHabit::kSameValue);
    if (is_load) claim_line(w, table.lines + (i * 4 >> kLineShift), clock.loaded);
    std::uint64_t* const entry = (is_load ? table.loads : table.stores) + i;
    const std::uint64_t old = is_load ? load : store;
    if (hides_own(now, old)) continue;
    std::uint64_t next = now.mine;
    if (is_load && is_unordered(w, lane, earlier_of(*w.block, old)))
      next = joined_load(w, old, now.mine);
    else if (!is_load && ((old ^ now.mine) >> kThreadShift) == 0 &&
             ((old ^ now.mine) & kStrong) == 0)
      next |= old & kMask; // other bytes of the word, at the same time
    if (!is_load && hides_store(now, old)) {
      next &= ~kStrong;
      const Code* code = nullptr;
      if (is_store(*w.grid->program, site_of_entry(w, old, &code)))
        w.grid->ordering->hide_store(entry, old);
    }
    if (habit == RaceHabit::kSameValue)
      next = (next & ~(kThreadMask << kThreadShift)) | std::uint64_t{kEqualThreads} << kThreadShift;
    __atomic_store_n(entry, next, __ATOMIC_RELAXED);
  }
}

void see_stores(const Warp& w, const Region& region, std::uint64_t offset, std::uint32_t bytes,
                std::uint64_t* stores) {
  const std::uint64_t* table = __atomic_load_n(&region.races.stores, __ATOMIC_ACQUIRE);
  const bool is_known = w.block->global.launch != 0 && table != nullptr;
  for (std::uint64_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i)
    *stores++ = is_known ? __atomic_load_n(table + i, __ATOMIC_RELAXED) : 0;
}

void check_unchanged(const AccessFacts& copy, const Region& region, std::uint64_t offset,
                     const std::uint64_t* stores) {
  const Warp& w = *copy.warp;
  const std::uint64_t* table = __atomic_load_n(&region.races.stores, __ATOMIC_ACQUIRE);
  if (w.block->global.launch == 0 || table == nullptr) return;
  for (std::uint64_t i = offset / 4; i <= (offset + copy.bytes - 1) / 4; ++i, ++stores) {
    const std::uint64_t entry = __atomic_load_n(table + i, __ATOMIC_RELAXED);
    const std::uint64_t begin = std::max(i * 4, offset);
    const std::uint64_t end = std::min(i * 4 + 4, offset + copy.bytes);
    const std::uint64_t bytes = ((1u << (end - begin)) - 1) << (begin - i * 4);
    if (entry == *stores || (entry & bytes) == 0) continue;
    const Earlier e = earlier_of(*w.block, entry);
    if (!e.is_of_launch) continue;
    OtherThread other;
    other.in = &site_of_entry(w, entry, &other.code);
    other.block = e.block;
    other.thread = e.thread < kSeveral ? e.thread : ~0u;
    other.access = is_atomic(*w.grid->program, *other.in) ? Access::kAtomic : Access::kStore;
    return w.worker->checks->global_race(copy, other);
  }
}

} // namespace gmt::executor
