// SPDX-License-Identifier: Apache-2.0
// Races in global memory: what the fast paths passed on, exactly who raced with whom. An entry
// knows one access. Where several threads loaded, a race is said only where it is one with each of
// them, or with the one of another block that is known.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/access_strength.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

using namespace global_race;

constexpr std::uint32_t kWarpShift = kThreadShift + 5; // of an entry of one thread

bool is_atomic(const Program& program, const Instruction& in) {
  return program.shapes[in.form].memory == Shape::Memory::kAtomic;
}
bool is_store(const Program& program, const Instruction& in) {
  return program.shapes[in.form].memory == Shape::Memory::kStore;
}
// What is known of an entry: nothing, if it is of an earlier launch.
struct Earlier {
  bool is_of_launch = false;
  bool is_same_block = false, is_shared_word = false; // is_shared_word: several blocks loaded it
  std::uint32_t block = 0;                            // its number; of a shared word, one of them
  std::uint32_t thread = 0, clock = 0;                // the block's own clock
};

Earlier earlier_of(const Block& block, std::uint64_t entry) {
  Earlier e;
  const GridOrdering& ordering = *block.grid->ordering;
  if (static_cast<std::int64_t>(entry) < block.global.launch) return e;
  e.is_of_launch = true;
  std::uint32_t run = run_of(entry);
  if (run == ordering.first_run()) {
    e.is_shared_word = true;
    run =
      static_cast<std::uint32_t>(entry >> kThreadShift) & ((1u << kThreadBits << kClockBits) - 1);
    run += ordering.first_run();
  } else {
    e.thread = thread_of(entry);
  }
  const RaceRun& of = ordering.run(run);
  e.block = __atomic_load_n(&of.block, __ATOMIC_RELAXED);
  e.clock = __atomic_load_n(&of.clock, __ATOMIC_RELAXED) + clock_of(entry);
  e.is_same_block = e.block == block.number;
  return e;
}

// Whether the lane knows what any of the threads of its own block did.
bool knows_in_block(const Warp& w, std::uint32_t lane, const Earlier& e) {
  const Block& block = *w.block;
  const std::uint32_t self = w.id * kLanes + lane;
  const auto knows = [&](std::uint32_t thread) {
    return block.order.knows(w, lane, thread, e.clock);
  };
  if (e.clock < block.last_barrier || e.clock > block.clock) return true;
  if (e.thread < kSeveral) return knows(e.thread);
  if (e.thread < kEqualThreads) {
    const std::uint32_t warp = e.thread % kLanes;
    if (e.thread >= kParts && warp == w.id) return true; // it may be the thread's own
    for (std::uint32_t l = 0; l < kLanes; ++l) {
      const std::uint32_t there = warp * kLanes + l;
      if (there < block.threads && there != self && knows(there)) return true;
    }
    return false;
  }
  if (!block.order.is_partial) return false; // of other warps nothing is known but by barriers
  for (std::uint32_t there = 0; there < block.threads; ++there) {
    if (there / kLanes != w.id && knows(there)) return true;
  }
  return false;
}

// Whether nothing orders the lane's access behind that of the entry.
bool is_unordered(const Warp& w, std::uint32_t lane, const Earlier& e) {
  const Block& block = *w.block;
  const GridOrdering& ordering = *block.grid->ordering;
  if (!e.is_of_launch) return false;
  if (e.is_shared_word) // by another block than its own as well, which is not known
    return !(e.is_same_block ? ordering.knows_any(block) : ordering.knows_some(block, e.block));
  if (e.is_same_block) return !knows_in_block(w, lane, e);
  return !ordering.knows(block, e.block, e.thread, e.clock);
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

const Instruction& site(const Warp& w, std::uint64_t entry, const Code** code) {
  return w.grid->program->instruction(site_of(entry), code);
}

// Strong accesses do not race with each other, if the scope of both has both threads.
bool is_between_strong(const WordAccess& now, std::uint64_t entry, const Earlier& e) {
  if (!now.strong) return false;
  const bool is_wide = (now.mine & entry & kStrong) != 0;
  if (is_wide || !e.is_same_block) return is_wide;
  const Code* code = nullptr;
  return is_strong(*now.w.grid->program, site(now.w, entry, &code));
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
RaceHabit habit_of(const WordAccess& now, const Instruction& there, const Earlier& e,
                   bool was_store) {
  const Program& program = *now.w.grid->program;
  const bool was_strong = is_strong(program, there);
  if (now.is_equal && was_store && !is_atomic(program, there)) return RaceHabit::kSameValue;
  const bool one_loads = now.access == Access::kLoad || !was_store;
  const bool one_polls =
    now.strong != was_strong || is_uncached(*now.w.program, now.in) || is_uncached(program, there);
  if (one_loads && one_polls) return RaceHabit::kPoll;
  return !was_store && is_behind_flag(now, e) ? RaceHabit::kRelaxed : RaceHabit::kNone;
}

RaceHabit report(const WordAccess& now, std::uint64_t entry, const Earlier& e, bool was_store,
                 std::uint64_t address, std::uint32_t bytes) {
  AccessFacts facts = facts_of(now.w, &now.in, now.lane);
  // A copy may end where its warp is in another function
  now.w.grid->program->instruction(now.in.number, &facts.code);
  facts.access = now.access;
  facts.bytes = bytes;
  facts.space = Space::kGlobal;
  facts.address = address;
  OtherThread other;
  other.in = &site(now.w, entry, &other.code);
  other.block = e.is_shared_word && e.is_same_block ? OtherThread::kNoBlock : e.block;
  other.thread = !e.is_shared_word && e.thread < kSeveral ? e.thread : ~0u;
  const Program& program = *now.w.grid->program;
  const Access earlier = is_store(program, *other.in) ? Access::kStore : Access::kLoad;
  other.access = is_atomic(program, *other.in) ? Access::kAtomic : earlier;
  other.habit = habit_of(now, *other.in, e, was_store);
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

bool claim_line(const Warp& w, std::uint16_t* line, std::uint16_t wanted) {
  std::uint16_t old = __atomic_load_n(line, __ATOMIC_RELAXED), now = 0;
  do {
    const bool is_of_launch = (old ^ wanted) >> kLineFlags == 0;
    now = is_of_launch ? old | wanted : wanted;
    if (now == old) break;
  } while (
    !__atomic_compare_exchange_n(line, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  if (old == 0 && now != 0) w.grid->memory->count_race_line();
  if (w.worker->notes_lines) w.worker->used_lines.add(line);
  const unsigned others = (kLineLoaded | kLineStored) & ~wanted;
  return (now & others) == 0;
}

void share_line(const RaceTable& table, std::uint64_t line, const RaceClock& clock) {
  constexpr std::uint64_t kWords = (1u << kLineShift) / 4;
  const std::uint64_t* entries = table.loads + line * kWords;
  if (entries + kWords > reinterpret_cast<const std::uint64_t*>(table.lines)) return; // not whole
  for (std::uint32_t i = 0; i < kWords; ++i) {
    const std::uint64_t entry = __atomic_load_n(entries + i, __ATOMIC_RELAXED);
    if (run_of(entry) != run_of(static_cast<std::uint64_t>(clock.launch))) return;
  }
  std::uint16_t old = clock.loaded;
  const std::uint16_t now = old | kLineShared;
  __atomic_compare_exchange_n(table.lines + line, &old, now, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_RELAXED);
}

std::uint64_t joined_load(const Warp& w, std::uint64_t before, std::uint64_t now) {
  // Who loaded weakly races with more
  const Program& program = *w.grid->program;
  const Code* code = nullptr;
  const bool was_strong = is_strong(program, site(w, before, &code));
  if (was_strong != is_strong(program, site(w, now, &code))) return was_strong ? now : before;
  const std::uint64_t mask = before & now & kMask;
  if (mask == 0) return now;
  const Block& block = *w.block;
  const Earlier e = earlier_of(block, before);
  const std::uint64_t rest = before & (kRun - 1) & ~kMask;
  if (e.is_shared_word) return before;
  // Of the block itself, before it began another run
  if (e.is_same_block && run_of(before) != run_of(now)) return now;
  if (!e.is_same_block) { // the run takes the place of clock and thread
    const std::uint64_t run = run_of(before) - block.grid->ordering->first_run();
    const std::uint64_t site_bits = before & ((std::uint64_t{1} << kThreadShift) - 1) & ~kMask;
    return static_cast<std::uint64_t>(block.global.launch) | run << kThreadShift | site_bits | mask;
  }
  const std::uint32_t warp = e.thread < kSeveral ? e.thread / kLanes : e.thread % kLanes;
  if (e.thread == kManyThreads || e.thread >= kParts) return before;
  const std::uint64_t thread = warp == w.id ? kSeveral + w.id : kManyThreads;
  return (before & ~(kRun - 1)) | (rest & ~(kThreadMask << kThreadShift)) | thread << kThreadShift |
         mask;
}

bool knows_entries(const Warp& w, const std::uint64_t* entries, std::uint32_t words,
                   std::uint64_t now, std::uint32_t first, std::uint32_t words_each) {
  const bool is_each = words_each == 0 && thread_of(now) >= kSeveral;
  std::uint64_t known = 0; // of another block, as all accesses of that warp at that clock
  for (std::uint32_t i = 0; i < words; ++i) {
    const std::uint64_t entry = __atomic_load_n(entries + i, __ATOMIC_RELAXED);
    if ((entry & now & kMask) == 0 || entry >> kWarpShift == known) continue;
    const Earlier e = earlier_of(*w.block, entry);
    if (!e.is_of_launch) continue;
    const std::uint32_t lane = first + (words_each == 0 ? 0 : i / words_each);
    std::uint32_t lanes = is_each ? w.mask : 1u << lane;
    if (!e.is_same_block) lanes &= -lanes; // one stands for all
    for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
      if (is_unordered(w, static_cast<std::uint32_t>(__builtin_ctz(m)), e)) return false;
    }
    if (!e.is_same_block && !e.is_shared_word && e.thread < kSeveral) known = entry >> kWarpShift;
  }
  return true;
}

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
  const std::uint64_t wide = now.strong && (in->extra & kBlockScope) == 0 ? kStrong : 0;
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
      habit = report(now, store, e, true, region.base + offset, bytes);
      // What lies behind the flag is no mistake of its own
      if (habit == RaceHabit::kPoll && !e.is_same_block && e.thread < kSeveral)
        w.grid->ordering->see(*w.block, e.block, e.thread / kLanes, e.clock);
    } else if (access != Access::kLoad && !keeps && races(now, load, &e)) {
      report(now, load, e, false, region.base + offset, bytes);
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
    other.in = &site(w, entry, &other.code);
    other.block = e.block;
    other.thread = e.thread < kSeveral ? e.thread : ~0u;
    other.access = is_atomic(*w.grid->program, *other.in) ? Access::kAtomic : Access::kStore;
    return w.worker->checks->global_race(copy, other);
  }
}

} // namespace gmt::executor
