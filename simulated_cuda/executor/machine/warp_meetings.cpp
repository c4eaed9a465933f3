// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that wait for lanes which an instruction names: at shuffles, votes and the like,
// and at barriers of the warp.
#include "simulated_cuda/executor/machine/warp.h"

#include "simulated_cuda/executor/machine/block.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt::executor {

void Warp::synchronized(std::uint32_t lanes) {
  if ((lanes & (lanes - 1)) == 0 || !block->is_ordered) return;
  const Ordering::Lanes all[] = {{this, lanes}};
  if (lanes != alive || block->order.is_partial) block->order.meet(*block, all, {});
  else block->advance_clock();
  if (lanes == alive) last_sync = block->clock;
}

// Fragments whose lanes are all there now go on together. True if one can.
bool Warp::wake_complete() {
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].wait != Wait::kOthers) continue;
    const std::uint32_t wanted = waiting[i].lanes & alive;
    // Of the warp: any of its instructions counts, if it has the same mask.
    const bool is_barrier = waiting[i].barrier != 0;
    std::uint32_t here = 0;
    for (const Fragment& other : waiting) {
      if (other.wait != Wait::kOthers || (other.barrier != 0) != is_barrier) continue;
      if (is_barrier ? other.lanes == waiting[i].lanes
                     : other.at == waiting[i].at && other.frame == waiting[i].frame)
        here |= other.mask;
    }
    if ((wanted & ~here) != 0) continue;
    release_group(waiting[i], is_barrier, wanted | waiting[i].mask);
    return true;
  }
  return false;
}

// Fragments of one instruction become one again, if they have the same join; the lanes of a barrier
// of the warp go on where they are.
void Warp::release_group(const Fragment first, bool is_barrier, std::uint32_t lanes) {
  Fragment merged = first;
  merged.mask = 0;
  merged.wait = Wait::kNone;
  std::uint32_t met = 0; // at a barrier
  std::vector<Fragment> left;
  for (const Fragment& other : waiting) {
    const bool in_group = other.wait == Wait::kOthers && (other.barrier != 0) == is_barrier &&
                          (other.mask & lanes) != 0 &&
                          (is_barrier ? other.lanes == first.lanes
                                      : other.at == first.at && other.frame == first.frame);
    if (!in_group) {
      left.push_back(other);
      continue;
    }
    if (is_barrier) {
      Fragment each = other;
      met |= each.mask;
      ++each.at;
      each.wait = Wait::kNone;
      ready.push_back(each);
      continue;
    }
    merged.mask |= other.mask;
    if (other.join != merged.join) merge_joins(other, merged.join);
  }
  if (!is_barrier) {
    merged.lanes = 0;
    ready.push_back(merged);
  }
  waiting = left;
  if (is_barrier) synchronized(met);
}

// Lanes of `from` go on with those of another fragment: they are expected at its joins, and at none
// of their own.
void Warp::merge_joins(const Fragment& from, Join* into) {
  Join* common = into;
  const auto holds = [&](const Join* chain, const Join* wanted) {
    for (; chain != nullptr; chain = chain->parent) {
      if (chain == wanted) return true;
    }
    return wanted == nullptr;
  };
  while (!holds(from.join, common)) common = common->parent;
  for (Join* each = into; each != common; each = each->parent) each->expected |= from.mask;
  drop_lanes(from.join, common, from.mask);
}

const Instruction* Warp::wait_for(const Instruction* in, std::uint32_t lanes) {
  Fragment fragment = standing(in, Wait::kOthers);
  fragment.lanes = lanes;
  waiting.push_back(fragment);
  return next_fragment();
}

const Instruction* Warp::warp_barrier(const Instruction* in, std::uint32_t lanes) {
  Fragment fragment = standing(in, Wait::kOthers);
  fragment.lanes = lanes;
  fragment.barrier = 1;
  waiting.push_back(fragment);
  return next_fragment();
}

} // namespace gmt::executor
