// SPDX-License-Identifier: Apache-2.0
// What entries say of the accesses behind them, and what stays of two loads of one word. The
// fast paths of loads and stores come here where their own looks do not suffice.
#include "simulated_cuda/executor/machine/race_entries.h"

#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/access_strength.h"

namespace gmt::executor {

using namespace global_race;

namespace {

constexpr std::uint32_t kWarpShift = kThreadShift + 5; // of an entry of one thread

const Program& program_of(const Grid& grid, std::uint64_t entry) {
  const EarlierLaunch* earlier = grid.ordering->earlier_of_run(run_of(entry));
  return earlier != nullptr ? *earlier->program : *grid.program;
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

} // namespace

Earlier earlier_of(const Block& block, std::uint64_t entry) {
  Earlier e;
  const GridOrdering& ordering = *block.grid->ordering;
  if (static_cast<std::int64_t>(entry) < block.global.launch) return e;
  std::uint32_t run = run_of(entry), first = ordering.first_run();
  if (run < first) {
    e.earlier = ordering.earlier_of_run(run);
    if (e.earlier == nullptr) return e;
    first = e.earlier->first_run;
    const Program& program = program_of(*block.grid, entry);
    const Code* code = nullptr;
    const Instruction& in = program.instruction(site_of(entry), &code);
    e.was_load = program.shapes[in.form].memory == Shape::Memory::kLoad;
  }
  e.is_of_launch = true;
  if (run == first) {
    e.is_shared_word = true;
    run =
      static_cast<std::uint32_t>(entry >> kThreadShift) & ((1u << kThreadBits << kClockBits) - 1);
    run += first;
  } else {
    e.thread = thread_of(entry);
  }
  const RaceRun& of = ordering.run(run);
  e.block = __atomic_load_n(&of.block, __ATOMIC_RELAXED);
  e.clock = __atomic_load_n(&of.clock, __ATOMIC_RELAXED) + clock_of(entry);
  e.is_same_block = e.block == block.number && e.earlier == nullptr;
  return e;
}

bool is_unordered(const Warp& w, std::uint32_t lane, const Earlier& e) {
  const Block& block = *w.block;
  const GridOrdering& ordering = *block.grid->ordering;
  if (!e.is_of_launch) return false;
  if (e.earlier != nullptr)
    return !ordering.beside()->is_over(block, *e.earlier,
                                       {e.block, e.thread, e.clock, e.was_load, e.is_shared_word});
  if (e.is_shared_word) // by another block than its own as well, which is not known
    return !(e.is_same_block ? ordering.knows_any(block) : ordering.knows_some(w, lane, e.block));
  if (e.is_same_block) return !knows_in_block(w, lane, e);
  return !ordering.knows(w, lane, e.block, e.thread, e.clock);
}

const Program& program_of_entry(const Warp& w, std::uint64_t entry) {
  return program_of(*w.grid, entry);
}

const Instruction& site_of_entry(const Warp& w, std::uint64_t entry, const Code** code) {
  return program_of(*w.grid, entry).instruction(site_of(entry), code);
}

bool claim_line(const Warp& w, std::uint16_t* line, std::uint16_t wanted) {
  std::uint16_t old = __atomic_load_n(line, __ATOMIC_RELAXED), now = 0;
  do {
    const bool is_of_launch = (old ^ wanted) >> kLineFlags == 0;
    now = wanted | (is_of_launch ? old : w.grid->ordering->kept_of_earlier(old));
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
  const Block& block = *w.block;
  const Earlier e = earlier_of(block, before);
  if (!e.is_of_launch) return now;
  // Whichever thread stores there races with that load: all lanes know the same of it
  if (e.earlier != nullptr) {
    const LaunchesBeside& beside = *block.grid->ordering->beside();
    return beside.is_over_for_all() && is_unordered(w, 0, e) ? before : now;
  }
  // Who loaded weakly races with more
  const Program& program = *w.grid->program;
  const Code* code = nullptr;
  const bool was_strong = is_strong(program, site_of_entry(w, before, &code));
  if (was_strong != is_strong(program, site_of_entry(w, now, &code)))
    return was_strong ? now : before;
  const std::uint64_t mask = before & now & kMask;
  if (mask == 0) return now;
  const std::uint64_t rest = before & (kRun - 1) & ~kMask;
  if (e.is_shared_word) return before;
  // Of the block itself, before it began another run
  if (e.is_same_block && run_of(before) != run_of(now)) return now;
  if (!e.is_same_block) { // the run takes the place of clock and thread
    const std::uint64_t run = run_of(before) - block.grid->ordering->first_run();
    const std::uint64_t site_bits = before & ((std::uint64_t{1} << kThreadShift) - 1) & ~kMask;
    const std::uint64_t first = block.grid->ordering->first_run();
    return first << kRunShift | run << kThreadShift | site_bits | mask;
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
  const bool are_apart = w.grid->ordering->threads_may_differ(*w.block);
  std::uint64_t known = 0; // of another block, as all accesses of that warp at that clock
  for (std::uint32_t i = 0; i < words; ++i) {
    const std::uint64_t entry = __atomic_load_n(entries + i, __ATOMIC_RELAXED);
    if ((entry & now & kMask) == 0 || entry >> kWarpShift == known) continue;
    const Earlier e = earlier_of(*w.block, entry);
    if (!e.is_of_launch) continue;
    const std::uint32_t lane = first + (words_each == 0 ? 0 : i / words_each);
    std::uint32_t lanes = is_each ? w.mask : 1u << lane;
    if (!e.is_same_block && !are_apart) lanes &= -lanes; // one stands for all
    for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
      if (is_unordered(w, static_cast<std::uint32_t>(__builtin_ctz(m)), e)) return false;
    }
    if (!e.is_same_block && !e.is_shared_word && e.thread < kSeveral && !are_apart)
      known = entry >> kWarpShift;
  }
  return true;
}

} // namespace gmt::executor
