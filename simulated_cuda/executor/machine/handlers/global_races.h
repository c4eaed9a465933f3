// SPDX-License-Identifier: Apache-2.0
// Races of accesses to global memory where a whole warp, or a lane, can be looked at at once: the
// entries of race_tables.h are compared, and changed, some at a time. What may be a race goes lane
// by lane. A load looks at stores only in lines that were stored to since the launch began, a store
// at loads likewise.
#pragma once

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/program/access_strength.h"
#include "simulated_cuda/executor/program/pointers.h"

#include <cstring>

namespace gmt::executor {
namespace {

using s64 = std::int64_t;

// One access of lanes to kWords words in a row; lane `first` has the first of them. kWordsEach: for
// each lane; 0: one lane, or several as `who` says, have all. `who` is added to the lane's number.
template <u32 kWords, u32 kWordsEach>
struct RaceRow {
  const Warp& w;
  const RaceClock& clock;
  u64 now; // of `first`
  u32 first;
  u64 strong; // kStrong, or 0

  [[gnu::always_inline]] RaceRow(const Warp& warp, Next in, u32 first_lane, u32 who, u64 mask)
      : w(warp), clock(warp.block->global),
        now(static_cast<u64>(clock.now) | u64{who} << global_race::kThreadShift |
            u64{in->number} << global_race::kSiteShift | mask),
        first(first_lane), strong(mask & global_race::kStrong) {}

  [[gnu::always_inline]] u64 mine(u32 i) const {
    if constexpr (kWordsEach == 0) return now;
    else return now + (u64{i / kWordsEach} << global_race::kThreadShift);
  }
  // All threads of the block know it.
  [[gnu::always_inline]] u64 is_before(u64 x) const {
    const s64 entry = static_cast<s64>(x);
    return static_cast<u64>(entry < clock.launch) |
           (static_cast<u64>(entry >= clock.own) & static_cast<u64>(entry < clock.floor));
  }
  // Or it is the thread's own.
  [[gnu::always_inline]] u64 is_known(u64 x, u64 me) const {
    return is_before(x) | static_cast<u64>(((x ^ me) & global_race::kWho) == 0);
  }
  // Several had it before, and it stays so.
  [[gnu::always_inline]] u64 stays(u64 y) const {
    const u64 own = static_cast<u64>(clock.own);
    const u64 many = own | u64{global_race::kManyThreads} << global_race::kThreadShift;
    const u64 several = own | u64{global_race::kSeveral + w.id} << global_race::kThreadShift;
    return static_cast<u64>(y - static_cast<u64>(clock.launch) < global_race::kRun) |
           static_cast<u64>(((y ^ many) & global_race::kWho) == 0) |
           static_cast<u64>(((y ^ several) & global_race::kWho) == 0);
  }
  [[gnu::always_inline]] bool knows(const u64* entries) const {
    u64 known = 1;
    for (u32 i = 0; i < kWords; ++i) {
      const u64 x = entries[i];
      known &= is_known(x, mine(i)) | (x & strong) >> global_race::kMaskBits;
    }
    return known != 0 || knows_entries(w, entries, kWords, now, first, kWordsEach);
  }

  // Of a word that another thread loaded. Only what is not plain is left to joined_load().
  [[gnu::always_inline]] u64 joined(u64 y, u64 me) const {
    const u64 thread = y >> global_race::kThreadShift & global_race::kThreadMask;
    constexpr u64 kSiteAndMask = (u64{1} << global_race::kThreadShift) - 1;
    // Who loaded weakly races with more
    if ((strong & ~y) != 0) return is_before(y) != 0 ? me : y;
    if (((y ^ me) & (global_race::kStrong | global_race::kMask)) != 0 ||
        (me & global_race::kMask) != global_race::kMask)
      return joined_load(w, y, me);
    const u64 run = (y - static_cast<u64>(clock.launch)) >> global_race::kRunShift;
    const u64 own = static_cast<u64>(clock.own - clock.launch) >> global_race::kRunShift;
    // A block that has begun another run may meet its own loads
    if (run != own && own != w.block->number + 1) return joined_load(w, y, me);
    if (run != own)
      return static_cast<u64>(clock.launch) | run << global_race::kThreadShift | (y & kSiteAndMask);
    if (thread >= global_race::kParts) return joined_load(w, y, me);
    const u64 warp = thread < global_race::kSeveral ? thread / kLanes : thread % kLanes;
    const u64 now_by = warp == w.id ? global_race::kSeveral + w.id : global_race::kManyThreads;
    return (y & ~(global_race::kThreadMask << global_race::kThreadShift)) |
           now_by << global_race::kThreadShift;
  }

  // All of them are of earlier launches.
  [[gnu::always_inline]] bool are_old(const u64* entries) const {
    u64 newer = 0;
    for (u32 i = 0; i < kWords; ++i)
      newer |= static_cast<u64>(static_cast<s64>(entries[i]) >= clock.launch);
    return newer == 0;
  }
  [[gnu::always_inline]] void put(u64* entries) const {
    for (u32 i = 0; i < kWords; ++i) entries[i] = mine(i);
  }

  // Whether all were loaded by several blocks already, so that nothing has changed.
  [[gnu::always_inline]] bool load(u64* entries) const {
    if (are_old(entries)) {
      put(entries);
      return false;
    }
    alignas(64) u64 after[kWords];
    u64 changed = 0, unclear = 0, shared = 1;
    for (u32 i = 0; i < kWords; ++i) {
      const u64 y = entries[i], me = mine(i);
      const u64 known = is_known(y, me);
      after[i] = known != 0 ? me : y;
      changed |= y ^ after[i];
      unclear |= ((known | stays(y)) ^ 1) | (strong & ~y);
      shared &= static_cast<u64>(y - static_cast<u64>(clock.launch) < global_race::kRun);
    }
    if (unclear != 0) {
      for (u32 i = 0; i < kWords; ++i) {
        const u64 y = entries[i];
        if ((is_known(y, mine(i)) | stays(y)) == 0 || (strong & ~y) != 0)
          after[i] = joined(y, mine(i));
      }
    }
    if ((changed | unclear) != 0) std::memcpy(entries, after, sizeof after);
    return shared != 0;
  }
};

// Whether nothing but loads, or nothing but stores, is done to lines.
[[gnu::always_inline]] inline bool claim_lines(const Warp& w, u16* lines, u64 rel, u32 bytes,
                                               u16 wanted) {
  bool is_all = true;
  const u64 last = (rel + bytes - 1) >> global_race::kLineShift;
  for (u64 i = rel >> global_race::kLineShift; i <= last; ++i) {
    const u16 line = lines[i];
    if (line == wanted) continue;
    constexpr u16 kBoth = global_race::kLineLoaded | global_race::kLineStored;
    if ((line & ~global_race::kLineShared) == (wanted | kBoth)) is_all = false;
    else is_all &= claim_line(w, lines + i, wanted);
  }
  return is_all;
}

[[gnu::always_inline]] inline u64 strength(Next in) {
  return (in->extra & kStrongAccess) != 0 ? global_race::kStrong : 0;
}

// kShares: whether it looks if others have loaded the rest of the line as well.
template <bool kShares, u32 kWords, u32 kWordsEach>
[[gnu::always_inline]] inline bool race_load(const RaceRow<kWords, kWordsEach>& row,
                                             const Region& g, u64 rel) {
  const u64 at = rel / 4, line = rel >> global_race::kLineShift;
  const u64 last = (rel + kWords * 4 - 1) >> global_race::kLineShift;
  const u16 shared = row.clock.loaded | global_race::kLineShared;
  if (line == last && g.races.lines[line] == shared) return true;
  if (!claim_lines(row.w, g.races.lines, rel, kWords * 4, row.clock.loaded) &&
      !row.knows(g.races.stores + at))
    return false;
  if (row.load(g.races.loads + at) && line == last && kShares &&
      g.races.lines[line] == row.clock.loaded)
    share_line(g.races, line, row.clock);
  return true;
}

// Of what is there already check_global_race() asks more, where others may have loaded it. `value`
// are the kBytes that are stored; null: they lie in several registers, and are not compared.
template <u32 kBytes, u32 kWords, u32 kWordsEach>
[[gnu::always_inline]] inline bool race_store(const RaceRow<kWords, kWordsEach>& row,
                                              const Region& g, u64 rel, const void* value) {
  const u64 at = rel / 4;
  if (!claim_lines(row.w, g.races.lines, rel, kWords * 4, row.clock.stored)) {
    if (!row.knows(g.races.loads + at)) return false;
    if (value != nullptr && std::memcmp(g.host + rel, value, kBytes) == 0) return false;
  }
  u64* entries = g.races.stores + at;
  if (!row.are_old(entries) && !row.knows(entries)) return false;
  row.put(entries);
  return true;
}

[[gnu::always_inline]] inline bool looks_for_races(const Warp& w, const Region& g) {
  return g.races.stores != nullptr && w.block->global.launch != 0;
}

[[gnu::always_inline]] inline bool never_races(const Warp& w, Next load) {
  return w.grid->never_written[load->extra >> kLoadedThrough] != 0;
}

// Neighbours of kEach bytes, from lane `first` on, the first of them at `rel` in the region; true
// if there is no race. A function for itself: all types of one size share it, and compile far
// quicker.
template <bool kStore, u32 kEach, u32 kLanesHere>
[[gnu::noinline]] bool race_neighbours(const Warp& w, Next in, const Region& g, u64 rel, u32 first,
                                       const void* value = nullptr) {
  constexpr u32 kWords = kEach * kLanesHere / 4;
  constexpr u32 kWordsEach = kEach / 4;
  const u32 who = kWordsEach == 0 ? global_race::kParts + w.id : w.id * kLanes + first;
  const RaceRow<kWords, kWordsEach> row(w, in, first, who, global_race::kMask | strength(in));
  if constexpr (kStore) return race_store<kEach * kLanesHere>(row, g, rel, value);
  else return race_load<true>(row, g, rel);
}

// One element of a lane, or of several that all load it.
template <bool kStore, u32 kEach>
[[gnu::always_inline]] inline bool race_element(const Warp& w, Next in, const Region& g, u64 rel,
                                                u32 who, u32 lane, const void* value = nullptr) {
  constexpr u32 kWords = kEach < 4 ? 1 : kEach / 4;
  const u64 mask = kEach < 4 ? ((u64{1} << (kEach & 3)) - 1) << (rel & 3) : global_race::kMask;
  RaceRow<kWords, 0> row(w, in, lane, who, mask | strength(in));
  if constexpr (!kStore) {
    return lane < kLanes ? race_load<false>(row, g, rel) : race_load<true>(row, g, rel);
  }
  if constexpr (kEach < 4) { // it keeps what the same thread stored to the word's other bytes
    const u64 x = g.races.stores[rel / 4];
    const u64 same = ~u64{0} << global_race::kThreadShift;
    if (((x ^ row.now) & same) == 0) row.now |= x & global_race::kMask;
  }
  return race_store<kEach>(row, g, rel, value);
}

} // namespace
} // namespace gmt::executor
