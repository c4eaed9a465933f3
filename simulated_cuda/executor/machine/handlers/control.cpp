// SPDX-License-Identifier: Apache-2.0
// Branches, joins, guards and calls. What changes a warp's fragments is done by Warp itself; here
// is what a warp does that stays together.
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/builtins.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/device_runtime.h"
#include "simulated_cuda/executor/machine/flag_words.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/special.h"
#include "simulated_cuda/executor/program/access_strength.h"
#include "simulated_cuda/executor/program/device_functions.h"
#include "simulated_cuda/executor/program/fence_halves.h"

#include <algorithm>

namespace gmt::executor {
namespace {

Next guarded(Warp& w, Next in) {
  const u32 all = w.mask;
  const u32 some = all & (predicate_at(w, in->guard) ^ in->flip);
  if (some == all) return in->guarded(w, in);
  if (some != 0) {
    w.mask = some;
    const Next next = in->guarded(w, in);
    w.mask = all;
    return next;
  }
  return in + 1;
}

Next branch(Warp&, Next in) { return in + in->immediate; }

template <bool kBack>
Next conditional(Warp& w, Next in) {
  const u32 taken = w.mask & (predicate_at(w, in->guard) ^ in->flip);
  if (kBack && taken != 0 && --w.budget < 0) return w.turn_over(in);
  if (taken == w.mask) return in + in->immediate;
  if (taken == 0) return in + 1;
  return w.branch(in, taken);
}

Next branch_back(Warp& w, Next in) {
  if (--w.budget < 0) return w.turn_over(in);
  return in + in->immediate;
}

Next join(Warp& w, Next in) {
  if (w.join != nullptr && w.join->resume == in) return w.arrive(in);
  return in + 1;
}

Next leave(Warp& w, Next in) { return w.leave(in); }
Next return_(Warp& w, Next in) { return w.return_(in); }
Next call(Warp& w, Next in) { return w.call(in); }
Next table_branch(Warp& w, Next in) { return w.table_branch(in); }
Next barrier(Warp& w, Next in) { return w.barrier(in); }

Next fence(Warp& w, Next in) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST); // between blocks of several workers
  if (!w.block->is_ordered) return in + 1;
  Block& block = *w.block;
  const bool acquires = (in->extra & kOnlyReleases) == 0;
  const bool releases = (in->extra & kOnlyAcquires) == 0;
  const bool is_alone = w.grid->cluster_blocks == 1;
  const bool is_of_block = (in->extra & (is_alone ? kNarrowScope : kBlockScope)) != 0;
  if (releases && !is_of_block && block.global.launch != 0 &&
      w.grid->ordering->delays().before_fence(w)) {
    const Next at = w.pause(in);
    w.spinning = true; // other blocks have their turns
    return at;
  }
  block.order.fence(block, {&w, w.mask}, acquires, releases);
  if (is_of_block) return in + 1;
  if (releases) block.fence_for_others(w);
  if (block.global.launch != 0) block.grid->ordering->fence(w, acquires, releases);
  if (acquires && block.cluster != nullptr) block.cluster->acquire(block);
  return in + 1;
}

// In front of strong stores to global memory, and behind strong loads; `extra`: their bytes, and
// kRelaxedLoad.
FlagWords words_of(Warp& w, Next in) {
  if (!FlagWords::matter(*w.block)) return {};
  return FlagWords(w, at<const u64>(w, in->r[0]), in->immediate, in->extra & ~kRelaxedLoad);
}
Next strong_store(Warp& w, Next in) {
  words_of(w, in).release(w);
  return in + 1;
}
Next strong_load(Warp& w, Next in) {
  words_of(w, in).acquire(w, (in->extra & kRelaxedLoad) != 0);
  return in + 1;
}

// Blocks count as whole: who has not waited itself may have met one that has.
Next let_next_begin(Warp& w, Next in) {
  if (w.grid->ordering != nullptr) w.grid->ordering->let_next_begin(w);
  return in + 1;
}
Next wait_for_primary(Warp& w, Next in) {
  if (w.grid->ordering != nullptr) w.grid->ordering->wait_for_primary(*w.block);
  return in + 1;
}

// No GPU sleeps for longer than a millisecond at a time.
Next nanosleep(Warp& w, Next in) {
  const u32* wanted = at<const u32>(w, in->r[0]);
  u32 longest = 0;
  for_lanes(w.mask, [&](u32 l) { longest = std::max(longest, wanted[l]); });
  sleep_for(w, std::min(longest, 1000000u));
  w.budget = w.budget < 64 ? 0 : w.budget - 64;
  return in + 1;
}

} // namespace

void GMT_GROUP(control)(FormTable& table) {
  table.add("guard", guarded);
  table.add("bra", branch);
  table.add("bra.back", branch_back);
  table.add("bra.p", conditional<false>);
  table.add("bra.p.back", conditional<true>);
  table.add("brx.idx", table_branch);
  table.add("join", join);
  table.add("exit", leave);
  table.add("ret", return_);
  table.add("trap", trap);
  table.add("call", call);
  table.add("call.vprintf", print);
  table.add(kCallOfDeviceRuntime, call_device_runtime);
  table.add("call.malloc", allocate);
  table.add("call.free", release);
  table.add("call.__assertfail", assertion_failed);
  table.add("call.__assert_fail", assertion_failed);
  for (const char* form : {"bar.sync", "bar.arrive", "bar.red.or", "bar.red.and", "bar.red.popc"})
    table.add(form, barrier);
  table.add("fence", fence);
  table.add("strong.st", strong_store);
  table.add("strong.ld", strong_load);
  table.add("nanosleep", nanosleep);
  table.add("griddepcontrol.launch_dependents", let_next_begin);
  table.add("griddepcontrol.wait", wait_for_primary);
}

} // namespace gmt::executor
