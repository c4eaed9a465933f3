// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/warpgroups.h"

#include "simulated_cuda/executor/machine/block.h"

#include <algorithm>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kWarps = 4;

bool waits_at(const Fragment& fragment, std::uint32_t number) {
  return fragment.wait == Wait::kBarrier && fragment.barrier == number;
}

} // namespace

const Instruction* meet_warpgroup(Warp& w, const Instruction* in) {
  Block& block = *w.block;
  const std::uint32_t group = w.id / kWarps;
  const std::uint32_t number = Block::kBarriers + group; // no program names it
  const auto first = block.warps.begin() + group * kWarps;
  const auto last = first + std::min<std::ptrdiff_t>(kWarps, block.warps.end() - first);
  const bool are_all_here = std::all_of(first, last, [&](const auto& warp) {
    const auto waits = [&](const Fragment& fragment) { return waits_at(fragment, number); };
    return warp.get() == &w || warp->alive == 0 || std::ranges::any_of(warp->waiting, waits);
  });
  if (!are_all_here) {
    Fragment fragment = w.standing(in, Wait::kBarrier);
    fragment.barrier = number;
    w.waiting.push_back(fragment);
    return w.next_fragment();
  }
  std::vector<Ordering::Lanes> all{{&w, w.mask}};
  for (auto at = first; at != last; ++at) {
    std::vector<Fragment>& waiting = (*at)->waiting;
    const auto found =
      std::ranges::find_if(waiting, [&](const Fragment& each) { return waits_at(each, number); });
    if (found == waiting.end()) continue;
    Fragment fragment = *found;
    waiting.erase(found);
    all.push_back({at->get(), fragment.mask});
    ++fragment.at;
    fragment.wait = Wait::kNone;
    (*at)->ready.push_back(fragment);
  }
  if (block.is_ordered) block.order.meet(block, all, {});
  return in + 1;
}

} // namespace gmt::executor
