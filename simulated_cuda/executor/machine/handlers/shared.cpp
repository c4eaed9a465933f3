// SPDX-License-Identifier: Apache-2.0
// Loads and stores of shared memory, and the barriers that lie in it. A warp of neighbours is
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
  alignas(64) u32 offsets[kLanes];
  alignas(64) u64 addresses[kLanes];
  const u64 add = static_cast<u64>(in->immediate);
  u64 high = 0;
  GMT_LANES {
    offsets[l] = static_cast<u32>(a[l]) + static_cast<u32>(add);
    // The offset is added again behind; addresses of 32 bits wrap
    addresses[l] = sizeof(A) == 4 ? u64{offsets[l]} - add : u64{a[l]};
  }
  for_lanes(w.mask, [&](u32 l) { high |= (addresses[l] + add) >> 32; });
  if (high == 0 && access<kStore, T, kCount>(w, in, offsets)) return in + 1;
  return access_by_lane<kStore, T, kCount>(w, in, Space::kShared, addresses);
}

// mbarrier: an object of 64 bits in shared memory. Bits 0 to 19 are the arrivals that its phase
// waits for, bits 20 to 39 those that each phase waits for, the highest bit is the phase's parity.
namespace object {
constexpr u32 kCountBits = 20, kPhaseShift = 63;
constexpr u64 kCountMask = (u64{1} << kCountBits) - 1;
constexpr u64 make(u64 phase, u64 expected, u64 pending) {
  return phase << kPhaseShift | (expected & kCountMask) << kCountBits | (pending & kCountMask);
}
constexpr u64 phase(u64 v) { return v >> kPhaseShift; }
constexpr u64 expected(u64 v) { return v >> kCountBits & kCountMask; }
constexpr u64 pending(u64 v) { return v & kCountMask; }
} // namespace object

u64 object_of(Warp& w, Next in, u32 lane) {
  u64 address = at<const u64>(w, in->r[1])[lane] + static_cast<u64>(in->immediate);
  resolve(Space::kGeneric, &address);
  return address;
}

// Of each lane: change(value, number, lane) changes the object.
template <class N, class Change>
[[gnu::always_inline]] inline Next each_object(Warp& w, Next in, Change change) {
  const u64* a = at<const u64>(w, in->r[1]);
  const N* numbers = in->r[2] != kNoOperand ? at<const N>(w, in->r[2]) : nullptr;
  for_lanes(w.mask, [&](u32 l) {
    const u64 address = a[l] + static_cast<u64>(in->immediate);
    std::byte* host = object_target(w, in, l, Space::kShared, address, 8, true);
    if (host == nullptr) return;
    u64 value;
    std::memcpy(&value, host, sizeof value);
    value = change(value, numbers != nullptr ? numbers[l] : N{1}, l);
    std::memcpy(host, &value, sizeof value);
  });
  return in + 1;
}

Next object_init(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[1]);
  const u32* counts = at<const u32>(w, in->r[2]);
  for_lanes(w.mask, [&](u32 l) {
    const u64 address = a[l] + static_cast<u64>(in->immediate);
    const Translation to = translate(w, in, l, Space::kShared, address, 8, Access::kStore);
    if (to.host == nullptr) return;
    const u64 value = object::make(0, counts[l], counts[l]);
    std::memcpy(to.host, &value, sizeof value);
    set_initialized(to.shadow, to.first, 8, 0xff);
  });
  return in + 1;
}

Next object_end(Warp& w, Next in) {
  return each_object<u32>(w, in, [](u64, u32, u32) { return u64{0}; });
}

// What threads did before they arrive happens before what those do who waited for the phase.
template <bool kDrop>
Next object_arrive(Warp& w, Next in) {
  u64* d = in->r[0] != kNoOperand ? at<u64>(w, in->r[0]) : nullptr;
  return each_object<u32>(w, in, [&](u64 value, u32 count, u32 l) {
    const u64 which = object_of(w, in, l); // before the result, which may overwrite the address
    if (d != nullptr) d[l] = value;
    if (w.block->is_ordered) w.block->order.arrive(*w.block, {&w, 1u << l}, which);
    const u64 expected = object::expected(value) - (kDrop ? 1 : 0);
    const u64 pending = object::pending(value);
    if (count < pending) return object::make(object::phase(value), expected, pending - count);
    w.block->order.complete(which);
    return object::make(object::phase(value) ^ 1, expected, expected);
  });
}

// A phase is over when the object is in the other one. Threads that wait in a loop let others run.
template <class N, bool kParity>
Next object_wait(Warp& w, Next in) {
  u32 over = 0;
  const Next next = each_object<N>(w, in, [&](u64 value, N number, u32 l) {
    const u64 phase = kParity ? u64{number} & 1 : object::phase(number);
    over |= phase != object::phase(value) ? 1u << l : 0;
    return value;
  });
  set_predicate(w, in->r[0], over);
  for (u32 left = w.block->is_ordered ? over : 0; left != 0;) {
    const u64 which = object_of(w, in, static_cast<u32>(__builtin_ctz(left)));
    u32 same = 0;
    for_lanes(left, [&](u32 l) { same |= object_of(w, in, l) == which ? 1u << l : 0; });
    w.block->order.wait(*w.block, {&w, same}, which);
    left &= ~same;
  }
  if ((w.mask & ~over) != 0) w.budget = w.budget < 64 ? 0 : w.budget - 64;
  return next;
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
  table.add("mbarrier.init", object_init);
  table.add("mbarrier.inval", object_end);
  table.add("mbarrier.arrive", object_arrive<false>);
  table.add("mbarrier.arrive_drop", object_arrive<true>);
  for (const std::string wait : {"mbarrier.test_wait", "mbarrier.try_wait"}) {
    table.add(wait.c_str(), object_wait<u64, false>);
    table.add((wait + ".parity").c_str(), object_wait<u32, true>);
  }
}

} // namespace gmt::executor
