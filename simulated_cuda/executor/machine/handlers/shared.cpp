// SPDX-License-Identifier: Apache-2.0
// Loads and stores of shared memory. A warp of neighbours is
// checked as a whole, for races as well; whatever is not plainly right goes lane by lane.
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/global.h"

#include <algorithm>

namespace gmt::executor {
namespace {

struct Clocks {
  u32 now, since, since_in_warp, warp;
};

// Entries of the table of races from one granule on, and where the same kind of access to each was
// last: an instruction's number.
struct Granules {
  u64* entries;
  u32* sites;
  u32 site;
};

[[gnu::always_inline]] inline bool wrote_another(u64 x, u32 thread, u32 since) {
  const u32 writer = static_cast<u32>(x) & race::kThreadMask;
  const u32 clock = static_cast<u32>(x) >> race::kThreadBits;
  return (clock >= since) & (writer != thread);
}
[[gnu::always_inline]] inline bool read_another(u64 x, u32 thread, u32 since) {
  const u32 high = static_cast<u32>(x >> 32);
  const u32 reader = high & race::kThreadMask;
  const u32 clock = high >> race::kThreadBits;
  return (clock >= since) & (reader != thread);
}
[[gnu::always_inline]] inline u32 tag(u32 thread, u32 clock) {
  return thread | clock << race::kThreadBits;
}
[[gnu::always_inline]] inline u64 with_writer(u64 x, u32 who) {
  return (x & 0xffffffff00000000ull) | who;
}
[[gnu::always_inline]] inline u64 with_reader(u64 x, u32 thread, const Clocks& c) {
  const u32 high = static_cast<u32>(x >> 32);
  const u32 reader = high & race::kThreadMask;
  const u32 its_warp = reader >= race::kWarpReaders ? reader - race::kWarpReaders : reader >> 5;
  const u32 since = its_warp == c.warp ? c.since_in_warp : c.since;
  u32 now = thread;
  if (high >> race::kThreadBits >= since && reader != thread)
    now = its_warp == c.warp ? race::kWarpReaders + c.warp : race::kManyReaders;
  return (x & 0xffffffffull) | u64{tag(now, c.now)} << 32;
}

// All 32 threads of the warp on neighbouring granules; true if there is no race.
template <bool kStore>
[[gnu::always_inline]] inline bool note_neighbours(const Granules& g, u32 first_thread,
                                                   const Clocks& c) {
  u64* entries = g.entries;
  alignas(64) u64 after[kLanes];
  u64 conflict = 0;
  GMT_LANES {
    const u64 x = entries[l];
    const u32 thread = first_thread + l;
    conflict |= static_cast<u64>(wrote_another(x, thread, c.since));
    if (kStore) {
      conflict |= static_cast<u64>(read_another(x, thread, c.since));
      after[l] = with_writer(x, tag(thread, c.now));
    } else {
      after[l] = with_reader(x, thread, c);
    }
  }
  if (conflict != 0) return false;
  std::memcpy(entries, after, sizeof after);
  GMT_LANES g.sites[l] = g.site;
  return true;
}

template <bool kStore>
[[gnu::always_inline]] inline bool note_one(const Granules& g, u32 count, u32 thread,
                                            const Clocks& c) {
  for (u32 i = 0; i < count; ++i) {
    const u64 x = g.entries[i];
    if (wrote_another(x, thread, c.since)) return false;
    if (kStore && read_another(x, thread, c.since)) return false;
    g.entries[i] = kStore ? with_writer(x, tag(thread, c.now)) : with_reader(x, thread, c);
    g.sites[i] = g.site;
  }
  return true;
}

// What an access of a warp needs to know of its block.
template <bool kStore>
struct Target {
  Block& block;
  const Clocks clocks;
  const bool races, by_lane; // by_lane: access.h alone knows which accesses are ordered
  const u32 number, first_thread;

  [[gnu::always_inline]] Target(Warp& w, Next in)
      : block(*w.block),
        clocks{block.clock, block.last_barrier, std::max(block.last_barrier, w.last_sync), w.id},
        races(block.races != nullptr), by_lane(races && (in->extra != 0 || block.order.is_partial)),
        number(in->number), first_thread(w.id * kLanes) {}
  [[gnu::always_inline]] Granules granules_at(u32 offset) const {
    u32* sites = kStore ? block.store_sites : block.load_sites;
    const u32 at = offset >> block.race_shift;
    return {block.races + at, sites + at, number};
  }
  [[gnu::always_inline]] u32 granules(u32 bytes) const {
    return bytes >> block.race_shift == 0 ? 1 : bytes >> block.race_shift;
  }
};

// All lanes at neighbours of kEach bytes, from `first` on.
template <bool kStore, class T, u32 kCount>
[[gnu::always_inline]] inline bool access_neighbours(const Target<kStore>& target, u32 first,
                                                     const Registers<T, kCount>& regs) {
  constexpr u32 kTotal = sizeof(T) * kCount * kLanes;
  Block& block = target.block;
  u8* shadow = block.shared_shadow + first / 4;
  const bool right =
    kStore ? words_have<kTotal, kAllocated>(shadow) : words_have<kTotal, kFull>(shadow);
  if (!right) return false;
  if (target.races &&
      !note_neighbours<kStore>(target.granules_at(first), target.first_thread, target.clocks))
    return false;
  if (kStore) std::memset(shadow, kFull, kTotal / 4);
  move_lanes<kStore>(block.shared + first, regs);
  return true;
}

// Lanes at any offsets. False: one of them is not plainly right, and nothing was moved.
template <bool kStore, class T, u32 kCount>
[[gnu::always_inline]] inline bool access_scattered(const Target<kStore>& target, u32 mask,
                                                    const u32* offsets,
                                                    const Registers<T, kCount>& regs) {
  constexpr u32 kEach = sizeof(T) * kCount;
  Block& block = target.block;
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto l = static_cast<u32>(__builtin_ctz(m));
    const u32 offset = offsets[l];
    if ((offset & (kEach - 1)) != 0 || offset >= block.shared_bytes ||
        kEach > block.shared_bytes - offset)
      return false;
    if (kStore ? !may_store<kEach>(block.shared_shadow, offset)
               : missing_bits<kEach>(block.shared_shadow, offset) != 0)
      return false;
    if (target.races && !note_one<kStore>(target.granules_at(offset), target.granules(kEach),
                                          target.first_thread + l, target.clocks))
      return false;
  }
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto l = static_cast<u32>(__builtin_ctz(m));
    move_lane<kStore>(block.shared + offsets[l], regs, l);
    if (kStore) mark_stored<kEach>(block.shared_shadow, offsets[l]);
  }
  return true;
}

template <bool kStore, class T, u32 kCount>
[[gnu::always_inline]] inline bool access(Warp& w, Next in, const u32* offsets) {
  constexpr u32 kEach = sizeof(T) * kCount;
  const Target<kStore> target(w, in);
  if (target.by_lane) return false;
  const Registers<T, kCount> regs(w, in);
  const u32 first = offsets[0];
  if (w.mask == kAll && (first & (kEach - 1)) == 0 && (kEach >= 4 || (first & 3) == 0)) {
    u32 different = 0;
    for (u32 l = 0; l < kLanes; ++l) different |= offsets[l] ^ (first + l * kEach);
    const u32 size = target.block.shared_bytes;
    if (different == 0 && first < size && kEach * kLanes <= size - first &&
        (!target.races || target.granules(kEach) == 1))
      return access_neighbours<kStore>(target, first, regs);
  }
  return access_scattered<kStore>(target, w.mask, offsets, regs);
}

template <bool kStore, class T, u32 kCount, class A>
Next shared(Warp& w, Next in) {
  const A* a = at<const A>(w, in->r[4]);
  const u64 add = static_cast<u64>(in->immediate);
  alignas(64) u32 offsets[kLanes];
  GMT_LANES offsets[l] = static_cast<u32>(a[l]) + static_cast<u32>(add);
  u64 high = 0; // addresses of 32 bits wrap, and have none
  if constexpr (sizeof(A) == 8) {
    if (w.mask == kAll) GMT_LANES high |= (a[l] + add) >> 32;
    else for_lanes(w.mask, [&](u32 l) { high |= (a[l] + add) >> 32; });
  }
  if (high == 0 && access<kStore, T, kCount>(w, in, offsets)) return in + 1;
  // The offset is added again behind
  alignas(64) u64 addresses[kLanes];
  GMT_LANES addresses[l] = sizeof(A) == 4 ? u64{offsets[l]} - add : u64{a[l]};
  return access_by_lane<kStore, T, kCount>(w, in, Space::kShared, addresses);
}

template <bool kStore, class A>
void add_shared(FormTable& table, const std::string& verb, const char* width) {
  add_vectors(table, verb + ".shared", width,
              []<class T, u32 kCount>() -> Handler { return shared<kStore, T, kCount, A>; });
}

} // namespace

void GMT_GROUP(shared)(FormTable& table) {
  add_shared<false, u32>(table, "ld", ".a32");
  add_shared<false, u64>(table, "ld", "");
  add_shared<true, u32>(table, "st", ".a32");
  add_shared<true, u64>(table, "st", "");
}

} // namespace gmt::executor
