// SPDX-License-Identifier: Apache-2.0
// cp.async and what waits for it. `extra` of a copy is its size; machine/async_copies.h does it.
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"

#include <algorithm>

namespace gmt::executor {
namespace {

// Operands: the destination, the source, how many bytes the source has, and whether it is ignored.
Next copy(Warp& w, Next in) {
  const u64* to = at<const u64>(w, in->r[0]);
  const u64* from = at<const u64>(w, in->r[1]);
  const u32* loaded = in->r[2] != kNoOperand ? at<const u32>(w, in->r[2]) : nullptr;
  const u32 ignored = in->r[3] != kNoOperand ? predicate_at(w, in->r[3]) : 0;
  for_lanes(w.mask, [&](u32 l) {
    u32 bytes = loaded != nullptr ? std::min(loaded[l], in->extra) : in->extra;
    if ((ignored >> l & 1) != 0) bytes = 0;
    begin_small_copy(w, in, l, to[l], from[l], in->extra, bytes);
  });
  return in + 1;
}

template <class Do>
Next each_thread(Warp& w, Next in, Do what) {
  AsyncCopies& copies = copies_of(*w.block);
  for_lanes(w.mask, [&](u32 l) { what(copies, w.id * kLanes + l); });
  return in + 1;
}

template <AsyncCopies::Kind kKind>
Next commit(Warp& w, Next in) {
  return each_thread(w, in, [](AsyncCopies& copies, u32 thread) { copies.commit(kKind, thread); });
}

template <AsyncCopies::Kind kKind>
Next wait(Warp& w, Next in) {
  const auto left = static_cast<u32>(in->immediate);
  return each_thread(w, in,
                     [=](AsyncCopies& copies, u32 thread) { copies.wait(kKind, thread, left); });
}

Next wait_all(Warp& w, Next in) {
  return each_thread(
    w, in, [](AsyncCopies& copies, u32 thread) { copies.wait_all(AsyncCopies::kSmall, thread); });
}

} // namespace

void GMT_GROUP(copies)(FormTable& table) {
  table.add("cp.async", copy);
  table.add("cp.async.commit_group", commit<AsyncCopies::kSmall>);
  table.add("cp.async.wait_group", wait<AsyncCopies::kSmall>);
  table.add("cp.async.wait_all", wait_all);
  table.add("cp.async.bulk.commit_group", commit<AsyncCopies::kBulk>);
  table.add("cp.async.bulk.wait_group", wait<AsyncCopies::kBulk>);
}

} // namespace gmt::executor
