// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/delays.h"

#include "simulated_cuda/executor/machine/block.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {
namespace {

// Each delay costs some turns of other blocks.
constexpr std::uint64_t kBlocks = 16;
constexpr std::uint32_t kMostFences = 8, kMostAtomics = 8; // of a block
constexpr std::size_t kMostSites = 8;

} // namespace

void Delays::expect(std::uint64_t blocks) {
  if (blocks <= 1) return;
  Delay each;
  each.fences = kMostFences;
  each.atomics = kMostAtomics;
  blocks_.resize(std::min(blocks, kBlocks), each);
}

bool Delays::before_fence(const Warp& w) {
  const std::uint64_t number = w.block->number;
  if (number >= blocks_.size()) return false;
  Delay& delay = blocks_[number];
  const std::uint32_t self = 1u << w.id;
  if ((delay.warps & self) != 0) {
    delay.warps &= ~self;
    return false;
  }
  if (delay.fences == 0) return false;
  --delay.fences;
  delay.warps |= self;
  return true;
}

bool Delays::behind_atomic(const Warp& w, const Instruction* in) {
  const std::uint64_t number = w.block->number;
  if (number >= blocks_.size()) return false;
  Delay& delay = blocks_[number];
  if (delay.atomics == 0) return false;
  const std::uint32_t self = 1u << w.id;
  auto site = std::ranges::find(delay.sites, in, &Site::in);
  if (site == delay.sites.end()) {
    if (delay.sites.size() < kMostSites) delay.sites.push_back({in, self});
    return false;
  }
  if ((site->warps & self) == 0) {
    site->warps |= self;
    return false;
  }
  --delay.atomics;
  delay.has_left = true;
  return true;
}

bool Delays::wants_others(const Block& block) {
  if (block.number >= blocks_.size()) return false;
  Delay& delay = blocks_[block.number];
  return std::exchange(delay.has_left, false) || delay.warps != 0;
}

} // namespace gmt::executor
