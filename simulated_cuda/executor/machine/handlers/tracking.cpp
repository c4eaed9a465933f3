// SPDX-License-Identifier: Apache-2.0
// The instructions that compute shadows of registers, see program/tracking.h.
#include "simulated_cuda/executor/program/tracking.h"
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/tracking/tracked.h"

#include <cstring>
#include <type_traits>

namespace gmt::executor {
namespace {

template <class T>
[[gnu::always_inline]] inline u32 lanes_not_0(const T* s) {
  u32 lanes = 0;
  GMT_LANES lanes |= s[l] != 0 ? kLaneBits.bit[l] : 0u;
  return lanes;
}

// Lanes of which a bit of the shadow is set.
u32 spoilt_lanes(Warp& w, u32 operand, TrackedWidth width) {
  switch (width) {
  case TrackedWidth::kNone: return 0;
  case TrackedWidth::kPredicate: return predicate_at(w, operand);
  case TrackedWidth::k1: return lanes_not_0(at<const u8>(w, operand));
  case TrackedWidth::k2: return lanes_not_0(at<const u16>(w, operand));
  case TrackedWidth::k4: return lanes_not_0(at<const u32>(w, operand));
  case TrackedWidth::k8: return lanes_not_0(at<const u64>(w, operand));
  case TrackedWidth::k16: break;
  }
  const b128* s = at<const b128>(w, operand);
  u32 lanes = 0;
  for (u32 l = 0; l < kLanes; ++l) lanes |= (s[l].low | s[l].high) != 0 ? 1u << l : 0;
  return lanes;
}

template <class T>
void fill(Warp& w, u32 operand, u32 spoilt, u32 mask) {
  T* d = at<T>(w, operand);
  alignas(64) T t[kLanes];
  GMT_LANES t[l] = (spoilt & kLaneBits.bit[l]) != 0 ? static_cast<T>(~T{0}) : T{0};
  blend(d, t, mask);
}

// Lanes of the mask: all ones where they are spoilt, else 0.
void set_lanes(Warp& w, u32 operand, TrackedWidth width, u32 spoilt, u32 mask) {
  switch (width) {
  case TrackedWidth::kNone: return;
  case TrackedWidth::kPredicate: {
    u32& p = predicate_at(w, operand);
    p = (p & ~mask) | (spoilt & mask);
    return;
  }
  case TrackedWidth::k1: return fill<u8>(w, operand, spoilt, mask);
  case TrackedWidth::k2: return fill<u16>(w, operand, spoilt, mask);
  case TrackedWidth::k4: return fill<u32>(w, operand, spoilt, mask);
  case TrackedWidth::k8: return fill<u64>(w, operand, spoilt, mask);
  case TrackedWidth::k16: break;
  }
  b128* d = at<b128>(w, operand);
  for_lanes(mask, [&](u32 l) {
    const u64 all = (spoilt >> l & 1) != 0 ? ~u64{0} : 0;
    d[l] = {all, all};
  });
}

TrackedWidth width_at(Next in, u32 operand) {
  return static_cast<TrackedWidth>(in->extra >> (4 * operand) & 15);
}

// kOnlySpoil leaves a result as it is where the sources are written.
template <bool kOnlySpoil>
Next any(Warp& w, Next in) {
  u32 spoilt = 0;
  for (u32 i = 1; i <= 4; ++i) {
    const TrackedWidth width = width_at(in, i);
    if (width != TrackedWidth::kNone) spoilt |= spoilt_lanes(w, in->r[i], width);
  }
  set_lanes(w, in->r[0], width_at(in, 0), spoilt, kOnlySpoil ? w.mask & spoilt : w.mask);
  return in + 1;
}

// Carries go from the lowest bit upward.
template <class T>
struct Sum : Same<T> {
  static T f(T a, T b, T c) {
    using U = std::conditional_t<sizeof(T) == 8, u64, u32>;
    const U all = static_cast<U>(U{a} | U{b} | U{c});
    return static_cast<T>(all | (U{0} - all));
  }
};

// kDecides is the value of a bit that decides whatever the other is: 0 of and, 1 of or.
template <class T, bool kDecides>
[[gnu::always_inline]] inline T logic(T sa, T sb, T a, T b) {
  const T may_a = kDecides ? static_cast<T>(~a) : a, may_b = kDecides ? static_cast<T>(~b) : b;
  return static_cast<T>((sa & sb) | (sa & may_b) | (sb & may_a));
}
template <class T, bool kDecides>
Next bitwise(Warp& w, Next in) {
  const T* sa = at<const T>(w, in->r[1]);
  const T* sb = at<const T>(w, in->r[2]);
  const T* a = at<const T>(w, in->r[3]);
  const T* b = at<const T>(w, in->r[4]);
  alignas(64) T t[kLanes];
  GMT_LANES t[l] = logic<T, kDecides>(sa[l], sb[l], a[l], b[l]);
  blend(at<T>(w, in->r[0]), t, w.mask);
  return in + 1;
}
template <bool kDecides>
Next bitwise_predicates(Warp& w, Next in) {
  const u32 value = logic<u32, kDecides>(predicate_at(w, in->r[1]), predicate_at(w, in->r[2]),
                                         predicate_at(w, in->r[3]), predicate_at(w, in->r[4]));
  set_predicate(w, in->r[0], value);
  return in + 1;
}

// `immediate` says how the comparison joins a predicate: 1 and, 2 or, else not or xor.
Next compare(Warp& w, Next in) {
  const TrackedWidth width = width_at(in, 0);
  u32 spoilt = spoilt_lanes(w, in->r[1], width) | spoilt_lanes(w, in->r[2], width);
  const u32 other = predicate_at(w, in->r[3]), of_other = predicate_at(w, in->r[4]);
  if (in->immediate == 1) spoilt &= other | of_other;
  if (in->immediate == 2) spoilt &= ~other | of_other;
  set_predicate(w, in->r[0], spoilt | of_other);
  return in + 1;
}

enum class Relation { kEqual, kLess, kLessOrEqual };

// Of integers: what is written may decide, whatever the other bits are. r[1] and r[2] are the
// shadows of the values in r[3] and r[4].
template <class T, Relation kR>
Next compare_values(Warp& w, Next in) {
  using U = std::make_unsigned_t<T>;
  constexpr U kFlip = std::is_signed_v<T> ? static_cast<U>(U{1} << (8 * sizeof(T) - 1)) : U{0};
  const U* sa = at<const U>(w, in->r[1]);
  const U* sb = at<const U>(w, in->r[2]);
  const U* a = at<const U>(w, in->r[3]);
  const U* b = at<const U>(w, in->r[4]);
  u32 spoilt = 0;
  for (u32 l = 0; l < kLanes; ++l) {
    if ((sa[l] | sb[l]) == 0) continue;
    bool is_open;
    if (kR == Relation::kEqual) {
      is_open = ((a[l] ^ b[l]) & static_cast<U>(~(sa[l] | sb[l]))) == 0;
    } else { // as unsigned numbers: the least and the greatest that they may be
      const U x = a[l] ^ kFlip, y = b[l] ^ kFlip;
      const U least_x = static_cast<U>(x & ~sa[l]), most_x = static_cast<U>(x | sa[l]);
      const U least_y = static_cast<U>(y & ~sb[l]), most_y = static_cast<U>(y | sb[l]);
      is_open = kR == Relation::kLess ? most_x >= least_y && least_x < most_y
                                      : most_x > least_y && least_x <= most_y;
    }
    spoilt |= is_open ? 1u << l : 0;
  }
  set_predicate(w, in->r[0], spoilt);
  return in + 1;
}
template <class T>
void add_comparisons(FormTable& table) {
  table.add("track.compare.eq", TypeName<T>::value, compare_values<T, Relation::kEqual>);
  table.add("track.compare.lt", TypeName<T>::value, compare_values<T, Relation::kLess>);
  table.add("track.compare.le", TypeName<T>::value, compare_values<T, Relation::kLessOrEqual>);
}

// Where the highest 1 is: written bits decide it if it lies above all that are not. r[1] is the
// shadow of the value in r[2].
template <class T>
Next highest_bit(Warp& w, Next in) {
  const T* s = at<const T>(w, in->r[1]);
  const T* a = at<const T>(w, in->r[2]);
  alignas(64) u32 t[kLanes];
  GMT_LANES t[l] = s[l] != 0 && static_cast<T>(a[l] & ~s[l]) <= s[l] ? kAll : 0u;
  blend(at<u32>(w, in->r[0]), t, w.mask);
  return in + 1;
}

// A value that was reported counts as written from then on.
Next check(Warp& w, Next in) {
  const TrackedWidth width = width_at(in, 0);
  const u32 spoilt = spoilt_lanes(w, in->r[0], width) & w.mask;
  if (spoilt == 0) return in + 1;
  report_unwritten(w, in, spoilt);
  set_lanes(w, in->r[0], width, 0, spoilt);
  return in + 1;
}

Next enter(Warp& w, Next in) {
  spoil_frame(w, in->r[0]);
  return in + 1;
}

struct MemoryOperands {
  u32 bytes, count;
  Space space;
  bool is_narrow;

  explicit MemoryOperands(Next in)
      : bytes(in->extra & 0xff), count(in->extra >> kTrackedCount & 0xff), space(Space::kGeneric),
        is_narrow((in->extra & kTrackedNarrow) != 0) {
    switch (static_cast<ptx::Space>(in->extra >> kTrackedSpace & 0xff)) {
    case ptx::Space::kGlobal:
    case ptx::Space::kConst: space = Space::kGlobal; break;
    case ptx::Space::kShared: space = Space::kShared; break;
    case ptx::Space::kLocal: space = Space::kLocal; break;
    case ptx::Space::kParam: space = Space::kParameter; break;
    default: break;
    }
  }
  u64 address(Warp& w, Next in, u32 lane) const {
    const u64 add = static_cast<u64>(in->immediate);
    if (is_narrow) return static_cast<u32>(at<const u32>(w, in->r[4])[lane] + add);
    return at<const u64>(w, in->r[4])[lane] + add;
  }
};

std::byte* element(Warp& w, Next in, u32 i, u32 bytes, u32 lane) {
  return w.base[in->r[i] >> 31] + (in->r[i] & 0x7fffffffu) + std::size_t{lane} * bytes;
}

// Whether the bytes at `rel` of a piece of memory are there and all written.
[[gnu::always_inline]] inline bool is_written(const u8* shadow, u64 size, u64 rel, u32 bytes) {
  if (rel >= size || bytes > size - rel || (rel & (bytes - 1)) != 0) return false;
  if (bytes < 4)
    return (shadow[rel / 4] >> (4 + (rel & 3)) & ((1u << bytes) - 1)) + 1 == 1u << bytes;
  u32 all = 0xff;
  for (u32 i = 0; i < bytes / 4; ++i) all &= shadow[rel / 4 + i];
  return all == 0xff;
}

// Whether all that the lanes load is written; false: it has to be looked at one by one.
bool loads_written(Warp& w, Next in, const MemoryOperands& memory, u32 bytes) {
  const bool in_shared = memory.space == Space::kShared;
  const bool in_global = memory.space == Space::kGlobal || memory.space == Space::kGeneric;
  if (!in_shared && !in_global) return false;
  const u8* shadow = in_shared ? w.block->shared_shadow : w.region->shadow;
  const u64 size = in_shared ? w.block->shared_bytes : w.region->bytes;
  const u64 base = in_shared ? 0 : w.region->base;
  bool written = true;
  for_lanes(w.mask, [&](u32 l) {
    written = written && is_written(shadow, size, memory.address(w, in, l) - base, bytes);
  });
  return written;
}

TrackedWidth width_of_bytes(u32 bytes) {
  switch (bytes) {
  case 1: return TrackedWidth::k1;
  case 2: return TrackedWidth::k2;
  case 4: return TrackedWidth::k4;
  case 8: return TrackedWidth::k8;
  default: return TrackedWidth::k16;
  }
}

Next load(Warp& w, Next in) {
  const MemoryOperands memory(in);
  const u32 all = memory.bytes * memory.count;
  if (loads_written(w, in, memory, all)) {
    for (u32 i = 0; i < memory.count; ++i)
      set_lanes(w, in->r[i], width_of_bytes(memory.bytes), 0, w.mask);
    return in + 1;
  }
  for_lanes(w.mask, [&](u32 l) {
    const u64 address = memory.address(w, in, l);
    std::byte shadow[64];
    load_shadow(w, l, memory.space, address, all, shadow);
    bool spoilt = false;
    for (u32 i = 0; i < all; ++i) spoilt |= shadow[i] != std::byte{0};
    for (u32 i = 0; i < memory.count; ++i)
      std::memcpy(element(w, in, i, memory.bytes, l), shadow + i * memory.bytes, memory.bytes);
    if (!spoilt) return;
    UnwrittenLoad from{in, l, all, memory.space, address};
    from.space = resolve(memory.space, &from.address);
    remember_unwritten(w, from);
  });
  return in + 1;
}

// The store itself has said that all is written. Local memory has shadows of its own.
Next store(Warp& w, Next in) {
  const MemoryOperands memory(in);
  const u32 all = memory.bytes * memory.count;
  bool is_local = memory.space == Space::kLocal;
  if (memory.space == Space::kGeneric)
    for_lanes(w.mask, [&](u32 l) { is_local |= memory.address(w, in, l) >= kSharedWindow; });
  u32 spoilt = 0;
  for (u32 i = 0; i < memory.count; ++i)
    spoilt |= spoilt_lanes(w, in->r[i], width_of_bytes(memory.bytes));
  spoilt &= w.mask;
  if (!is_local && spoilt == 0) return in + 1;
  if (!is_local && memory.space != Space::kShared && spoilt != 0)
    check_stored_lanes(w, in, memory.bytes, memory.count, spoilt);
  for_lanes(w.mask, [&](u32 l) {
    std::byte shadow[64];
    for (u32 i = 0; i < memory.count; ++i)
      std::memcpy(shadow + i * memory.bytes, element(w, in, i, memory.bytes, l), memory.bytes);
    store_shadow(w, l, memory.space, memory.address(w, in, l), all, shadow);
  });
  return in + 1;
}

} // namespace

void GMT_GROUP(tracking)(FormTable& table) {
  table.add("track.enter", enter);
  table.add("track.any", any<false>);
  table.add("track.spoil", any<true>);
  table.add("track.check", check);
  table.add("track.compare", compare);
  add_comparisons<u16>(table);
  add_comparisons<u32>(table);
  add_comparisons<u64>(table);
  add_comparisons<s16>(table);
  add_comparisons<s32>(table);
  add_comparisons<s64>(table);
  table.add("track.top.b32", highest_bit<u32>);
  table.add("track.top.b64", highest_bit<u64>);
  table.add("track.ld", load);
  table.add("track.st", store);
  table.add("track.sum.b8", map3<Sum<u8>>);
  table.add("track.sum.b16", map3<Sum<u16>>);
  table.add("track.sum.b32", map3<Sum<u32>>);
  table.add("track.sum.b64", map3<Sum<u64>>);
  table.add("track.and.b16", bitwise<u16, false>);
  table.add("track.and.b32", bitwise<u32, false>);
  table.add("track.and.b64", bitwise<u64, false>);
  table.add("track.and.pred", bitwise_predicates<false>);
  table.add("track.or.b16", bitwise<u16, true>);
  table.add("track.or.b32", bitwise<u32, true>);
  table.add("track.or.b64", bitwise<u64, true>);
  table.add("track.or.pred", bitwise_predicates<true>);
}

} // namespace gmt::executor
