// SPDX-License-Identifier: Apache-2.0
// What lanes of a warp do with each other: shuffles, votes, matches and reductions. r[5] is the
// mask of lanes that take part; none: those that are there. If lanes name different masks, those of
// each mask are a group, whether the mask names them or not, as an H100 has it (driver 580).
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/builtins.h"
#include "simulated_cuda/executor/machine/handlers/missing_lanes.h"
#include "simulated_cuda/executor/machine/tracking/switch.h"
#include "simulated_cuda/executor/machine/tracking/tracked.h"

namespace gmt::executor {
namespace {

// Lanes whose masks differ, or that their own mask does not name.
void group_by_mask(Warp& w, Next in, const u32* masks, u32 (&named)[kLanes]) {
  u32 unnamed = 0, differing = 0;
  for (u32 left = w.mask; left != 0;) { // tiles of a warp have masks of their own
    const u32 mask = masks[__builtin_ctz(left)];
    u32 group = 0;
    for_lanes(left, [&](u32 l) { group |= masks[l] == mask ? 1u << l : 0; });
    for_lanes(group, [&](u32 l) { named[l] = group; });
    unnamed |= group & ~mask;
    if ((mask & w.mask & ~group) != 0) differing |= group & mask;
    left &= ~group;
  }
  if ((unnamed | differing) != 0) report_masks(w, in, unnamed, differing);
}

// Whether all lanes that are named are here; else `*next` is where the warp goes on. `named` gets
// the lanes of each lane's group.
[[gnu::always_inline]] inline bool all_here(Warp& w, Next in, Next* next, u32 (&named)[kLanes]) {
  if (in->r[5] == kNoOperand) {
    for (u32 l = 0; l < kLanes; ++l) named[l] = w.mask;
    return true;
  }
  const u32* masks = at<const u32>(w, in->r[5]);
  const u32 first = masks[__builtin_ctz(w.mask)];
  u32 wanted = 0, odd = ~first & w.mask;
  GMT_LANES {
    const u32 mask = (w.mask & kLaneBits.bit[l]) != 0 ? masks[l] : first;
    named[l] = mask & w.mask;
    wanted |= mask;
    odd |= mask ^ first;
  }
  wanted &= w.alive;
  if ((wanted & ~w.mask) != 0 && !goes_on_without(w, in)) {
    *next = w.wait_for(in, wanted);
    return false;
  }
  if (odd != 0) group_by_mask(w, in, masks, named);
  return true;
}

enum Mode { kUp, kDown, kButterfly, kIndex };

// Of the lanes whose bit is set in `ok`, those that take the value of one that has left the kernel,
// or that has another mask. PTX leaves it open what they get.
u32 lanes_without_source(const Warp& w, const u32* masks, const u32* from, const u32* ok) {
  u32 lanes = 0, all = w.mask;
  GMT_LANES all &= masks[l];
  if (all == kAll) return 0;
  for_lanes(w.mask, [&](u32 l) {
    const u32 source = from[l] & 31, bit = 1u << source;
    const bool is_here = (w.mask & bit) != 0 && masks[source] == masks[l];
    const bool never_comes = (masks[l] & w.alive & ~w.mask & bit) != 0; // which is reported
    lanes |= is_here || never_comes ? 0 : ok[l];
  });
  return lanes;
}

// kOfShadows: of registers that were shuffled by the instruction before.
template <Mode kMode, bool kOfShadows>
Next shuffle(Warp& w, Next in) {
  Next next = nullptr;
  u32 named[kLanes];
  if (!kOfShadows && !all_here(w, in, &next, named)) return next;
  const u32* a = at<const u32>(w, in->r[2]);
  const u32* b = at<const u32>(w, in->r[3]);
  const u32* c = at<const u32>(w, in->r[4]);
  alignas(64) u32 from[kLanes];
  alignas(64) u32 t[kLanes];
  alignas(64) u32 ok[kLanes];
  GMT_LANES {
    const s32 lane = static_cast<s32>(l);
    const s32 clamp = static_cast<s32>(c[l] & 31);
    const s32 segment = static_cast<s32>(c[l] >> 8 & 31);
    const s32 most = (lane & segment) | (clamp & ~segment);
    const s32 least = lane & segment;
    const s32 by = static_cast<s32>(b[l] & 31);
    s32 source = lane;
    bool inside = false;
    if (kMode == kUp) {
      source = lane - by;
      inside = source >= most;
    } else if (kMode == kDown) {
      source = lane + by;
      inside = source <= most;
    } else if (kMode == kButterfly) {
      source = lane ^ by;
      inside = source <= most;
    } else {
      source = least | (by & ~segment);
      inside = source <= most;
    }
    from[l] = static_cast<u32>(inside ? source : lane);
    ok[l] = inside ? kLaneBits.bit[l] : 0u;
  }
  const bool may_lack = in->r[5] != kNoOperand;
  u32 lacking = 0;
  if (may_lack) lacking = lanes_without_source(w, at<const u32>(w, in->r[5]), from, ok);
  if (!kOfShadows && lacking != 0 && w.grid->check_loads && !w.is_tracked) {
    next = track_before(w, in);
    if (next != nullptr) return next;
    report_missing_source(w, in, lacking);
  }
  u32 predicate = 0;
  GMT_LANES predicate |= ok[l];
  for (u32 l = 0; l < kLanes; ++l) t[l] = a[from[l]];
  if (!kOfShadows) for_lanes(lacking, [&](u32 l) { t[l] = 0; }); // as an H100 has it
  if (kOfShadows) {
    for_lanes(lacking, [&](u32 l) {
      t[l] = kAll;
      remember_unwritten(w, {in, l, 0, Space::kUnknown, 0});
    });
  }
  blend(at<u32>(w, in->r[0]), t, w.mask);
  if (in->r[1] != kNoOperand) set_predicate(w, in->r[1], predicate);
  return in + 1;
}

enum Vote { kAllOf, kAny, kUniform, kBallot };

template <Vote kVote>
Next vote(Warp& w, Next in) {
  Next next = nullptr;
  u32 named[kLanes];
  if (!all_here(w, in, &next, named)) return next;
  const u32 p = predicate_at(w, in->r[1]);
  alignas(64) u32 t[kLanes] = {};
  u32 predicate = 0;
  for_lanes(w.mask, [&](u32 l) {
    const u32 yes = p & named[l];
    bool is = false;
    if (kVote == kAllOf) is = yes == named[l];
    if (kVote == kAny) is = yes != 0;
    if (kVote == kUniform) is = yes == 0 || yes == named[l];
    t[l] = yes;
    predicate |= is ? 1u << l : 0;
  });
  if (kVote == kBallot) blend(at<u32>(w, in->r[0]), t, w.mask);
  else set_predicate(w, in->r[0], predicate);
  return in + 1;
}

template <class T, bool kAllEqual>
Next match(Warp& w, Next in) {
  Next next = nullptr;
  u32 named[kLanes];
  if (!all_here(w, in, &next, named)) return next;
  const T* a = at<const T>(w, in->r[2]);
  alignas(64) u32 t[kLanes] = {};
  u32 predicate = 0;
  for_lanes(w.mask, [&](u32 l) {
    u32 equal = 0;
    for_lanes(named[l], [&](u32 k) { equal |= a[k] == a[l] ? 1u << k : 0; });
    const bool all = equal == named[l];
    t[l] = !kAllEqual || all ? equal : 0;
    predicate |= all ? 1u << l : 0;
  });
  blend(at<u32>(w, in->r[0]), t, w.mask);
  if (in->r[1] != kNoOperand) set_predicate(w, in->r[1], predicate);
  return in + 1;
}

enum Reduction { kAddAll, kMinAll, kMaxAll, kAndAll, kOrAll, kXorAll };

template <class T, Reduction kR>
Next reduce(Warp& w, Next in) {
  Next next = nullptr;
  u32 named[kLanes];
  if (!all_here(w, in, &next, named)) return next;
  const T* a = at<const T>(w, in->r[2]);
  alignas(64) T t[kLanes] = {};
  for_lanes(w.mask, [&](u32 l) {
    T value = a[l];
    for_lanes(named[l] & ~(1u << l), [&](u32 k) {
      const T x = a[k];
      switch (kR) {
      case kAddAll: value = static_cast<T>(static_cast<u32>(value) + static_cast<u32>(x)); break;
      case kMinAll: value = x < value ? x : value; break;
      case kMaxAll: value = value < x ? x : value; break;
      case kAndAll: value = static_cast<T>(value & x); break;
      case kOrAll: value = static_cast<T>(value | x); break;
      case kXorAll: value = static_cast<T>(value ^ x); break;
      }
    });
    t[l] = value;
  });
  blend(at<T>(w, in->r[0]), t, w.mask);
  return in + 1;
}

Next elect(Warp& w, Next in) {
  Next next = nullptr;
  u32 named[kLanes];
  if (!all_here(w, in, &next, named)) return next;
  alignas(64) u32 t[kLanes] = {};
  u32 leaders = 0;
  for_lanes(w.mask, [&](u32 l) { // tiles of a warp have masks, and leaders, of their own
    t[l] = static_cast<u32>(__builtin_ctz(named[l] | 1u << l));
    leaders |= 1u << t[l];
  });
  blend(at<u32>(w, in->r[0]), t, w.mask);
  if (in->r[1] != kNoOperand) set_predicate(w, in->r[1], leaders);
  return in + 1;
}

Next active(Warp& w, Next in) {
  alignas(64) u32 t[kLanes];
  const u32 mask = w.mask;
  GMT_LANES t[l] = mask;
  blend(at<u32>(w, in->r[0]), t, w.mask);
  return in + 1;
}

// Lanes of another mask come to the barrier by themselves.
Next wait_for_equal_masks(Warp& w, Next in, const u32* masks) {
  const u32 mask = masks[__builtin_ctz(w.mask)];
  u32 group = 0;
  for_lanes(w.mask, [&](u32 l) { group |= masks[l] == mask ? 1u << l : 0; });
  const u32 others = w.mask & ~group;
  if (others != 0) w.part(in, others);
  w.set_mask(group);
  if ((mask & w.alive & ~group) != 0) return w.warp_barrier(in, mask & w.alive);
  w.synchronized(group);
  return in + 1;
}

Next warp_barrier(Warp& w, Next in) {
  const u32* masks = at<const u32>(w, in->r[0]);
  u32 wanted = 0, unnamed = 0;
  for_lanes(w.mask, [&](u32 l) {
    wanted |= masks[l];
    unnamed |= ~masks[l] & 1u << l;
  });
  if (unnamed != 0) return unnamed_lanes(w, in, unnamed);
  wanted &= w.alive;
  if ((wanted & ~w.mask) != 0) return wait_for_equal_masks(w, in, masks);
  u32 left = w.mask;
  while (left != 0) { // tiles of a warp have masks of their own
    const u32 first = static_cast<u32>(__builtin_ctz(left)), named = masks[first];
    u32 met = 0;
    for_lanes(left, [&](u32 l) { met |= masks[l] == named ? 1u << l : 0; });
    w.synchronized(met);
    left &= ~met;
  }
  return in + 1;
}

template <class T>
void add_reductions(FormTable& table, const char* type) {
  table.add("redux.add", type, reduce<T, kAddAll>);
  table.add("redux.min", type, reduce<T, kMinAll>);
  table.add("redux.max", type, reduce<T, kMaxAll>);
}

} // namespace

void GMT_GROUP(lanes)(FormTable& table) {
  table.add("shfl.up", shuffle<kUp, false>);
  table.add("shfl.down", shuffle<kDown, false>);
  table.add("shfl.bfly", shuffle<kButterfly, false>);
  table.add("shfl.idx", shuffle<kIndex, false>);
  table.add("track.shfl.up", shuffle<kUp, true>);
  table.add("track.shfl.down", shuffle<kDown, true>);
  table.add("track.shfl.bfly", shuffle<kButterfly, true>);
  table.add("track.shfl.idx", shuffle<kIndex, true>);
  table.add("vote.all", vote<kAllOf>);
  table.add("vote.any", vote<kAny>);
  table.add("vote.uni", vote<kUniform>);
  table.add("vote.ballot", vote<kBallot>);
  table.add("match.any.b32", match<u32, false>);
  table.add("match.any.b64", match<u64, false>);
  table.add("match.all.b32", match<u32, true>);
  table.add("match.all.b64", match<u64, true>);
  add_reductions<u32>(table, "u32");
  add_reductions<s32>(table, "s32");
  table.add("redux.and.b32", reduce<u32, kAndAll>);
  table.add("redux.or.b32", reduce<u32, kOrAll>);
  table.add("redux.xor.b32", reduce<u32, kXorAll>);
  table.add("elect", elect);
  table.add("activemask", active);
  table.add("bar.warp.sync", warp_barrier);
}

} // namespace gmt::executor
