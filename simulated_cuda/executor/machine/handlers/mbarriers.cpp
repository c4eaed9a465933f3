// SPDX-License-Identifier: Apache-2.0
// mbarrier: what threads do to an object in shared memory, and how they wait for its phases.
// Operands: the result, the address, and a number.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/mbarrier.h"
#include "simulated_cuda/executor/machine/special.h"

#include <string>

namespace gmt::executor {
namespace {

// Of each lane whose object is there: what(its block, object, its value, number, lane).
template <class N, Access kAccess = Access::kAtomic, class What>
[[gnu::always_inline]] inline Next each_object(Warp& w, Next in, What what) {
  const u64* a = at<const u64>(w, in->r[1]);
  const N* numbers = in->r[2] != kNoOperand ? at<const N>(w, in->r[2]) : nullptr;
  for_lanes(w.mask, [&](u32 l) {
    const u64 address = a[l] + static_cast<u64>(in->immediate);
    const Translation there = object_target(w, in, l, Space::kShared, address, 8, true);
    if (there.host == nullptr) return;
    if (there.block == w.block) check_made(w, in, l, there.offset, kAccess);
    u64 value;
    std::memcpy(&value, there.host, sizeof value);
    what(*there.block, there.offset, value, numbers != nullptr ? numbers[l] : N{1}, l);
  });
  return in + 1;
}

Next init(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[1]);
  const u32* counts = at<const u32>(w, in->r[2]);
  for_lanes(w.mask, [&](u32 l) {
    const u64 address = a[l] + static_cast<u64>(in->immediate);
    const Translation to = translate(w, in, l, Space::kShared, address, 8, Access::kStore);
    if (to.host == nullptr) return;
    Mbarrier made;
    made.pending = made.expected = counts[l];
    const u64 value = made.value();
    check_race(w, in, l, to.offset, sizeof value, Access::kStore, nullptr);
    std::memcpy(to.host, &value, sizeof value);
    set_initialized(to.shadow, to.first, 8, 0xff);
  });
  return in + 1;
}

Next invalidate(Warp& w, Next in) {
  return each_object<u32>(w, in, [&](Block& block, u64 object, u64, u32, u32) {
    std::memset(block.shared + object, 0, sizeof(u64));
  });
}

// What threads did before they arrive happens before what those do who waited for the phase.
template <bool kDrop, bool kExpects>
Next arrive(Warp& w, Next in) {
  u64* d = in->r[0] != kNoOperand ? at<u64>(w, in->r[0]) : nullptr;
  return each_object<u32>(w, in, [&](Block& block, u64 object, u64 value, u32 number, u32 l) {
    if (d != nullptr) d[l] = value;
    if (&block != w.block) w.block->cluster->note_object(block, object);
    else if (block.is_ordered) block.order.arrive(block, {&w, 1u << l}, object);
    MbarrierChange change;
    change.bytes = kExpects ? number : 0;
    change.arrivals = kExpects ? 1 : number;
    change.dropped = kDrop ? change.arrivals : 0;
    change_mbarrier(block, object, change);
  });
}

// Bytes that a phase waits for, or that have come.
template <int kSign>
Next count_bytes(Warp& w, Next in) {
  return each_object<u32>(w, in, [&](Block& block, u64 object, u64, u32 bytes, u32) {
    change_mbarrier(block, object, {.bytes = s64{kSign} * bytes});
  });
}

// A thread's copies arrive for it when they are there. Unless they are counted already, the phase
// waits for one arrival more.
template <bool kCounted>
Next copies_arrive(Warp& w, Next in) {
  return each_object<u32>(w, in, [&](Block& block, u64 object, u64, u32, u32 l) {
    if (!kCounted) change_mbarrier(block, object, {.announced = 1});
    copies_of(*w.block).arrive_behind(w, l, object);
  });
}

// A phase is over when the object is in the other one. Threads that wait in a loop let others run.
template <class N, bool kParity>
Next wait(Warp& w, Next in) {
  u32 over = 0;
  u64 objects[kLanes];
  const Next next =
    each_object<N, Access::kLoad>(w, in, [&](Block& block, u64 object, u64 value, N number, u32 l) {
      const u32 phase = kParity ? static_cast<u32>(number) & 1 : Mbarrier(number).phase;
      if (phase == Mbarrier(value).phase && block.copies) {
        block.copies->bring(object);
        std::memcpy(&value, block.shared + object, sizeof value);
      }
      objects[l] = object;
      over |= phase != Mbarrier(value).phase ? 1u << l : 0;
    });
  set_predicate(w, in->r[0], over);
  for (u32 left = w.block->is_ordered ? over : 0; left != 0;) {
    const u64 which = objects[__builtin_ctz(left)];
    u32 same = 0;
    for_lanes(left, [&](u32 l) { same |= objects[l] == which ? 1u << l : 0; });
    w.block->order.wait(*w.block, {&w, same}, which);
    w.block->cluster->waited(*w.block, which);
    left &= ~same;
  }
  if ((w.mask & ~over) == 0) return next;
  sleep_for(w, 0); // for as long as the device likes
  w.budget = w.budget < 64 ? 0 : w.budget - 64;
  return next;
}

// Of a state that an arrival gave: the arrivals that the phase waited for before.
Next pending_count(Warp& w, Next in) {
  const u64* a = at<const u64>(w, in->r[1]);
  u32* d = at<u32>(w, in->r[0]);
  for_lanes(w.mask, [&](u32 l) { d[l] = Mbarrier(a[l]).pending; });
  return in + 1;
}

} // namespace

void GMT_GROUP(mbarriers)(FormTable& table) {
  table.add("mbarrier.init", init);
  table.add("mbarrier.inval", invalidate);
  table.add("mbarrier.arrive", arrive<false, false>);
  table.add("mbarrier.arrive.noComplete", arrive<false, false>);
  table.add("mbarrier.arrive.expect_tx", arrive<false, true>);
  table.add("mbarrier.arrive_drop", arrive<true, false>);
  table.add("mbarrier.arrive_drop.noComplete", arrive<true, false>);
  table.add("mbarrier.arrive_drop.expect_tx", arrive<true, true>);
  table.add("mbarrier.expect_tx", count_bytes<1>);
  table.add("mbarrier.complete_tx", count_bytes<-1>);
  table.add("mbarrier.pending_count.b64", pending_count);
  table.add("cp.async.mbarrier.arrive", copies_arrive<false>);
  table.add("cp.async.mbarrier.arrive.noinc", copies_arrive<true>);
  for (const std::string wait_for : {"mbarrier.test_wait", "mbarrier.try_wait"}) {
    table.add(wait_for.c_str(), wait<u64, false>);
    table.add((wait_for + ".parity").c_str(), wait<u32, true>);
  }
}

} // namespace gmt::executor
