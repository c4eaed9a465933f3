// SPDX-License-Identifier: Apache-2.0
// Fast paths of accesses to global memory: a warp whose lanes read neighbouring elements, one
// element, or two rows of them is checked as a whole by comparing bytes of the shadow.
#pragma once

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/handlers/global_races.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <cstring>
#include <string>

namespace gmt::executor {
namespace {

template <u32 kBytes>
struct ElementType;
template <>
struct ElementType<1> {
  using type = u8;
};
template <>
struct ElementType<2> {
  using type = u16;
};
template <>
struct ElementType<4> {
  using type = u32;
};
template <>
struct ElementType<8> {
  using type = u64;
};
template <>
struct ElementType<16> {
  using type = b128;
};

// Whether lanes [from, from + kCount) access neighbours of kStride bytes each.
template <u32 kCount, u32 kStride>
[[gnu::always_inline]] inline bool in_steps(const u64* a) {
  const u64 first = a[0];
  if (a[1] - first != kStride) return false; // most rows of another form end here
  u64 different = 0;
  for (u32 l = 0; l < kCount; ++l) different |= a[l] ^ (first + u64{l} * kStride);
  return different == 0;
}

// Whether each word of kBytes, a multiple of 4, has the state kWanted: all its bits in the shadow.
template <u32 kBytes, u8 kWanted>
[[gnu::always_inline]] inline bool words_have(const u8* shadow) {
  if constexpr (kBytes < 32) {
    u32 all = kWanted;
    for (u32 i = 0; i < kBytes / 4; ++i) all &= shadow[i];
    return all == kWanted;
  } else {
    constexpr u64 kEight = 0x0101010101010101ull * kWanted;
    u64 all = kEight;
    for (u32 i = 0; i < kBytes / 32; ++i) {
      u64 eight;
      std::memcpy(&eight, shadow + 8 * i, 8);
      all &= eight;
    }
    return all == kEight;
  }
}
constexpr u8 kAllocated = 0x0f, kFull = 0xff; // full: allocated and initialised

// Of one element at `rel` bytes behind the shadow's begin, aligned to its size.
template <u32 kBytes>
[[gnu::always_inline]] inline u32 missing_bits(const u8* shadow, u64 rel) {
  const u8* word = shadow + rel / 4;
  if constexpr (kBytes == 1) return ~(u32{*word} >> (rel & 3)) & 0x11;
  if constexpr (kBytes == 2) return ~(u32{*word} >> (rel & 3)) & 0x33;
  if constexpr (kBytes == 4) return *word ^ 0xffu;
  if constexpr (kBytes >= 8) return words_have<kBytes, kFull>(word) ? 0 : 1;
}
template <u32 kBytes>
[[gnu::always_inline]] inline bool may_store(u8* shadow, u64 rel) {
  const u8* word = shadow + rel / 4;
  if constexpr (kBytes == 1) return (*word >> (rel & 3) & 1) != 0;
  if constexpr (kBytes == 2) return (*word >> (rel & 3) & 3) == 3;
  if constexpr (kBytes >= 4) return words_have<kBytes, kAllocated>(word);
}
template <u32 kBytes>
[[gnu::always_inline]] inline void mark_stored(u8* shadow, u64 rel) {
  u8* word = shadow + rel / 4;
  // Another worker may store to the rest of the word: its bits must not get lost
  if constexpr (kBytes == 1) change_shadow(word, 0x10u << (rel & 3), 0);
  if constexpr (kBytes == 2) change_shadow(word, 0x30u << (rel & 3), 0);
  if constexpr (kBytes >= 4) std::memset(word, 0xff, kBytes / 4);
}

template <class T, u32 kCount>
struct Registers {
  T* of[kCount];
  Registers(Warp& w, Next in) {
    for (u32 i = 0; i < kCount; ++i) of[i] = at<T>(w, in->r[i]);
  }
};

// An element of a lane between its registers and memory.
template <bool kStore, class T, u32 kCount>
[[gnu::always_inline]] inline void move_lane(std::byte* host, const Registers<T, kCount>& regs,
                                             u32 l) {
  T v[kCount];
  if constexpr (!kStore) std::memcpy(v, host, sizeof v);
  for (u32 i = 0; i < kCount; ++i) {
    if constexpr (kStore) v[i] = regs.of[i][l];
    else regs.of[i][l] = v[i];
  }
  if constexpr (kStore) std::memcpy(host, v, sizeof v);
}

// 32 neighbours, or as many from lane `from` on as kLanesHere says.
template <bool kStore, class T, u32 kCount, u32 kLanesHere = kLanes>
[[gnu::always_inline]] inline void move_lanes(std::byte* host, const Registers<T, kCount>& regs,
                                              u32 from = 0) {
  constexpr u32 kEach = sizeof(T) * kCount;
  if constexpr (kCount == 1) {
    if constexpr (kStore) std::memcpy(host, regs.of[0] + from, kEach * kLanesHere);
    else std::memcpy(regs.of[0] + from, host, kEach * kLanesHere);
  } else {
    for (u32 l = 0; l < kLanesHere; ++l) move_lane<kStore>(host + l * kEach, regs, from + l);
  }
}

// The lanes from `from` on, if they are `kLanesHere` neighbours or all read one element.
template <class T, u32 kCount, u32 kLanesHere>
[[gnu::always_inline]] inline bool load_run(const Warp& w, Next in, bool races, const u64* a,
                                            u32 from, const Registers<T, kCount>& d) {
  constexpr u32 kEach = sizeof(T) * kCount;
  const Region& g = *w.region;
  const auto offset = static_cast<u64>(in->immediate);
  const u64 address = a[from] + offset;
  const u64 rel = address - g.base;
  if ((address & (kEach - 1)) != 0 || rel >= g.bytes) return false;
  if (in_steps<kLanesHere, kEach>(a + from)) {
    constexpr u64 kTotal = u64{kEach} * kLanesHere;
    if (kTotal > g.bytes - rel || (rel & 3) != 0) return false;
    if (!words_have<kTotal, kFull>(g.shadow + rel / 4)) return false;
    if (races && !race_neighbours<false, kEach, kLanesHere>(w, in, g, rel, from)) return false;
    move_lanes<false, T, kCount, kLanesHere>(g.host + rel, d, from);
    return true;
  }
  if (!in_steps<kLanesHere, 0>(a + from)) return false;
  if (kEach > g.bytes - rel || missing_bits<kEach>(g.shadow, rel) != 0) return false;
  const u32 several = global_race::kSeveral + w.id;
  if (races && !race_element<false, kEach>(w, in, g, rel, several, kLanes)) return false;
  T v[kCount];
  std::memcpy(v, g.host + rel, kEach);
  for (u32 i = 0; i < kCount; ++i) {
    T* to = d.of[i] + from;
    for (u32 l = 0; l < kLanesHere; ++l) to[l] = v[i];
  }
  return true;
}

// Eight rows of four words, of a matrix of 16 bits. A function for itself: random addresses are
// loaded more slowly where it is a part of load_global().
template <class T, u32 kCount>
[[gnu::noinline]] bool load_rows(const Warp& w, Next in, bool races, const u64* a,
                                 const Registers<T, kCount>& d) {
  constexpr u32 kLanesOfRow = 4;
  for (u32 from = 0; from < kLanes; from += kLanesOfRow) {
    if (!load_run<T, kCount, kLanesOfRow>(w, in, races, a, from, d)) return false;
  }
  return true;
}

// False: not plainly right; registers may have been written, and are written again.
template <class T, u32 kCount>
[[gnu::always_inline]] inline bool load_global(Warp& w, Next in, const u64* a) {
  constexpr u32 kEach = sizeof(T) * kCount;
  const Region& g = *w.region;
  const auto offset = static_cast<u64>(in->immediate);
  const Registers<T, kCount> d(w, in);
  const u32 mask = w.mask;
  const bool races = looks_for_races(w, g) && !never_races(w, in);
  if (mask == kAll) {
    if (load_run<T, kCount, 32>(w, in, races, a, 0, d)) return true;
    // Two rows; not where a warp of neighbours failed its check
    if (!in_steps<32, kEach>(a) && load_run<T, kCount, 16>(w, in, races, a, 0, d) &&
        load_run<T, kCount, 16>(w, in, races, a, 16, d))
      return true;
    if constexpr (kEach == 4) {
      if (a[1] - a[0] == kEach && load_rows<T, kCount>(w, in, races, a, d)) return true;
    }
    u64 wrong = 0;
    const u64 limit = g.bytes < kEach ? 0 : g.bytes - kEach + 1;
    const u64 shift = offset - g.base;
    for (u32 l = 0; l < kLanes; ++l) {
      const u64 rel = a[l] + shift;
      wrong |= (rel >= limit ? 1u : 0u) | ((a[l] + offset) & (kEach - 1));
    }
    if (wrong != 0) return false;
    for (u32 l = 0; l < kLanes && races; ++l) { // else the processor waits for one at a time
      __builtin_prefetch(g.races.loads + (a[l] + shift) / 4, 1);
      __builtin_prefetch(g.host + (a[l] + shift));
    }
    for (u32 l = 0; l < kLanes; ++l) {
      const u64 rel = a[l] + shift;
      // Bytes that are not allocated may have no page: they are not read
      if (missing_bits<kEach>(g.shadow, rel) != 0) return false;
      if (races && !race_element<false, kEach>(w, in, g, rel, w.id * kLanes + l, l)) return false;
      move_lane<false>(g.host + rel, d, l);
    }
    return true;
  }
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto l = static_cast<u32>(__builtin_ctz(m));
    const u64 address = a[l] + offset;
    const u64 rel = address - g.base;
    if ((address & (kEach - 1)) != 0 || rel >= g.bytes || kEach > g.bytes - rel) return false;
    if (missing_bits<kEach>(g.shadow, rel) != 0) return false;
    if (races && !race_element<false, kEach>(w, in, g, rel, w.id * kLanes + l, l)) return false;
    move_lane<false>(g.host + rel, d, l);
  }
  return true;
}

template <class T, u32 kCount>
[[gnu::always_inline]] inline bool store_global(Warp& w, Next in, const u64* a) {
  constexpr u32 kEach = sizeof(T) * kCount;
  const Region& g = *w.region;
  const auto offset = static_cast<u64>(in->immediate);
  const Registers<T, kCount> v(w, in);
  const u32 mask = w.mask;
  const bool races = looks_for_races(w, g);
  if (mask == kAll && in_steps<32, kEach>(a)) {
    constexpr u64 kTotal = u64{kEach} * 32;
    const u64 address = a[0] + offset;
    const u64 rel = address - g.base;
    if ((address & (kEach - 1)) != 0 || (rel & 3) != 0 || rel >= g.bytes || kTotal > g.bytes - rel)
      return false;
    u8* shadow = g.shadow + rel / 4;
    if (!words_have<kTotal, kAllocated>(shadow)) return false;
    const void* const value = kCount == 1 ? v.of[0] : nullptr;
    if (races && !race_neighbours<true, kEach, 32>(w, in, g, rel, 0, value)) return false;
    std::memset(shadow, 0xff, kTotal / 4);
    move_lanes<true>(g.host + rel, v);
    return true;
  }
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto l = static_cast<u32>(__builtin_ctz(m));
    const u64 address = a[l] + offset;
    const u64 rel = address - g.base;
    if ((address & (kEach - 1)) != 0 || rel >= g.bytes || kEach > g.bytes - rel) return false;
    if (!may_store<kEach>(g.shadow, rel)) return false;
    const void* const value = kCount == 1 ? v.of[0] + l : nullptr;
    if (races && !race_element<true, kEach>(w, in, g, rel, w.id * kLanes + l, l, value))
      return false;
  }
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto l = static_cast<u32>(__builtin_ctz(m));
    const u64 rel = a[l] + offset - g.base;
    mark_stored<kEach>(g.shadow, rel);
    move_lane<true>(g.host + rel, v, l);
  }
  return true;
}

// Where it goes on: behind a load of what nothing wrote perhaps with tracked registers.
template <bool kStore, class T, u32 kCount>
[[gnu::always_inline]] inline Next access_by_lane(Warp& w, Next in, Space space, const u64* a) {
  if constexpr (!kStore) return load_by_lane(w, in, space, a, sizeof(T), kCount);
  store_by_lane(w, in, space, a, sizeof(T), kCount);
  return in + 1;
}

// A warp whose lanes' addresses are in another region than the last time gets a second try. A
// function for itself, since the compiler works longer on it than on all others.
template <bool kStore, class T, u32 kCount>
[[gnu::noinline]] Next access_global(Warp& w, Next in, const u64* a, Space space) {
  alignas(64) u64 kept[kLanes]; // a load may write the registers that hold its addresses
  if constexpr (!kStore && sizeof(T) == 8) {
    for (u32 i = 0; i < kCount; ++i) {
      if (in->r[i] == in->r[4]) a = static_cast<const u64*>(std::memcpy(kept, a, sizeof kept));
    }
  }
  constexpr u32 kSlow = kStore ? kStrongAccess : kNarrowScope;
  if ((in->extra & kSlow) != 0 && w.block->global.launch != 0)
    return access_by_lane<kStore, T, kCount>(w, in, space, a);
  for (bool again = false;; again = true) {
    if constexpr (kStore) {
      if (store_global<T, kCount>(w, in, a)) return in + 1;
    } else {
      if (load_global<T, kCount>(w, in, a)) return in + 1;
    }
    const Region* before = w.region;
    const u64 first = a[__builtin_ctz(w.mask)] + static_cast<u64>(in->immediate);
    if (again || !find_region(w, first) || w.region == before)
      return access_by_lane<kStore, T, kCount>(w, in, space, a);
  }
}

// Enters choose()'s handler for each width of an element that a vector of kCount may have.
template <u32 kCount, class Choose>
void add_widths(FormTable& table, const std::string& start, Choose choose) {
  const auto add = [&](const char* width, Handler handler) {
    table.add((start + width).c_str(), handler);
  };
  add(".b8", choose.template operator()<u8, kCount>());
  add(".b16", choose.template operator()<u16, kCount>());
  add(".b32", choose.template operator()<u32, kCount>());
  if constexpr (kCount <= 2) add(".b64", choose.template operator()<u64, kCount>());
  if constexpr (kCount == 1) add(".b128", choose.template operator()<b128, kCount>());
}
template <class Choose>
void add_vectors(FormTable& table, const std::string& start, const std::string& end,
                 Choose choose) {
  add_widths<1>(table, start + end, choose);
  add_widths<2>(table, start + ".v2" + end, choose);
  add_widths<4>(table, start + ".v4" + end, choose);
}

} // namespace
} // namespace gmt::executor
