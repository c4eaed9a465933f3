// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks: their barrier, and addresses of each other's shared memory.
#include "simulated_cuda/executor/machine/cluster.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"

namespace gmt::executor {
namespace {

Next arrive(Warp& w, Next in) { return w.block->cluster->arrive(w, in); }
Next wait(Warp& w, Next in) { return w.block->cluster->wait(w, in); }

constexpr u64 kOffsetMask = (u64{1} << Cluster::kRankShift) - 1;

// `extra` 1: the address is a generic one, else an offset in shared memory. An address of the own
// block is the same with and without its rank, as on an H100. A rank that no block of any cluster
// has stays one.
template <class T>
Next map_address(Warp& w, Next in) {
  T* d = at<T>(w, in->r[0]);
  const T* a = at<const T>(w, in->r[1]);
  const u32* ranks = at<const u32>(w, in->r[2]);
  const u64 window = in->extra != 0 ? kSharedWindow : 0;
  for_lanes(w.mask, [&](u32 l) {
    const u64 rank = ranks[l] < 0xfe ? ranks[l] : 0xfe;
    const u64 offset = (u64{a[l]} - window) & kOffsetMask;
    const u64 above = rank == w.block->rank ? 0 : rank + 1;
    d[l] = static_cast<T>(window + (above << Cluster::kRankShift | offset));
  });
  return in + 1;
}

template <class T>
Next rank_of_address(Warp& w, Next in) {
  u32* d = at<u32>(w, in->r[0]);
  const T* a = at<const T>(w, in->r[1]);
  const u64 window = in->extra != 0 ? kSharedWindow : 0;
  for_lanes(w.mask, [&](u32 l) {
    const auto above = static_cast<u32>((u64{a[l]} - window) >> Cluster::kRankShift);
    d[l] = above == 0 ? w.block->rank : above - 1;
  });
  return in + 1;
}

// Whether a generic address is one of the own block's shared memory.
Next is_own_shared(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[1]);
  u32 is = 0;
  for_lanes(w.mask, [&](u32 l) { is |= u32{a[l] - kSharedWindow <= kOffsetMask} << l; });
  set_predicate(w, in->r[0], is);
  return in + 1;
}

Next is_explicit(Warp& w, Next in) {
  set_predicate(w, in->r[0], w.grid->has_clusters ? kAll : 0);
  return in + 1;
}

} // namespace

void GMT_GROUP(clusters)(FormTable& table) {
  table.add("barrier.cluster.arrive", arrive);
  table.add("barrier.cluster.wait", wait);
  table.add("isspacep.shared::cta", is_own_shared);
  table.add("is_explicit_cluster", is_explicit);
  table.add("mapa.u32", map_address<u32>);
  table.add("mapa.u64", map_address<u64>);
  table.add("getctarank.u32", rank_of_address<u32>);
  table.add("getctarank.u64", rank_of_address<u64>);
}

} // namespace gmt::executor
