// SPDX-License-Identifier: Apache-2.0
// What a launch has to know of the one in front of it that may still run, and leaves for the next.
#include "simulated_cuda/executor/machine/primary_launch.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {

// Entries of launches between the two would be taken for the primary's.
void GridOrdering::follow(std::shared_ptr<const PrimaryLaunch> primary) {
  if (!is_on() || primary == nullptr || primary->module.expired()) return;
  if (primary->end_run + kRunsBetween != launch_.first) return;
  primary_ = std::make_unique<PrimaryBeside>(std::move(primary));
  beside_ = primary_.get();
}

void GridOrdering::follow(LaunchTree& tree) {
  if (is_on() && tree.follows(launch_.first, kRunsBetween)) beside_ = &tree;
}

void GridOrdering::name_runs(EarlierLaunch& launch) const {
  launch.first_run = launch_.first;
  launch.end_run = std::min(next_run_.load(), global_race::kMostRuns);
  launch.epoch = launch_.epoch;
}

void GridOrdering::expect_triggers(std::uint32_t warps) {
  constexpr std::size_t kMost = std::size_t{1} << 22; // 32 MiB
  if (flagged_.size() * (1 + warps) > kMost) return;
  warps_ = warps;
  triggers_.resize(flagged_.size() * (1 + warps));
}

void GridOrdering::let_next_begin(const Warp& w) {
  if (triggers_.empty()) return;
  Block& block = *w.block;
  PrimaryLaunch::Trigger* const triggers = &triggers_[block.number * (1 + warps_)];
  PrimaryLaunch::Trigger& of_warp = triggers[1 + w.id];
  if (of_warp.clock != 0) return; // the first one counts
  if (block.global.launch == 0) { // nothing is known of its later accesses
    of_warp = {~0u, ~0u};
  } else {
    block.advance_clock();
    of_warp = {block.clock, w.device_fence};
  }
  if (triggers->clock == 0)
    *triggers = {of_warp.clock, std::max(of_warp.fence, last_device_fence(block))};
}

void GridOrdering::wait_for_primary(Block& block) {
  if (primary_ == nullptr || block.global.launch == 0) return;
  block.global.launch = own_launch();
  primary_->wait(triggers_.empty() || triggers_[block.number * (1 + warps_)].clock == 0);
}

std::shared_ptr<PrimaryLaunch> GridOrdering::as_primary() {
  const auto has_begun = [](const PrimaryLaunch::Trigger& each) { return each.clock != 0; };
  if (!is_on() || std::ranges::none_of(triggers_, has_begun)) return nullptr;
  auto primary = std::make_shared<PrimaryLaunch>();
  name_runs(*primary);
  primary->warps = warps_;
  primary->triggers = std::move(triggers_);
  triggers_.clear();
  if (primary_ == nullptr) return primary;
  constexpr std::uint32_t kMostInChain = 8;
  primary->in_front = primary_->for_next();
  if (primary->in_front != nullptr) primary->chain += primary->in_front->chain;
  if (primary->chain > kMostInChain) primary->in_front = nullptr;
  return primary;
}

// Its code, and that of those in front of it, is held by the module that is to be there still.
PrimaryBeside::PrimaryBeside(std::shared_ptr<const PrimaryLaunch> primary)
    : primary_(std::move(primary)), first_(primary_.get()) {
  for (const PrimaryLaunch* next = first_->in_front.get();
       next != nullptr && !next->module.expired(); next = next->in_front.get())
    first_ = next;
}

const EarlierLaunch* PrimaryBeside::of_run(std::uint32_t run) const {
  if (run < first_->first_run) return nullptr;
  for (const PrimaryLaunch* each = primary_.get();; each = each->in_front.get()) {
    if (run >= each->first_run) return run < each->end_run ? each : nullptr;
    if (each == first_) return nullptr;
  }
}

// A block may have waited and let others know. When several warps or blocks loaded a word is not
// known.
bool PrimaryBeside::is_over(const Block& block, const EarlierLaunch& launch,
                            const EarlierAccess& entry) const {
  const auto& primary = static_cast<const PrimaryLaunch&>(launch);
  constexpr auto kEqual = global_race::kEqualThreads, kSeveral = global_race::kSeveral;
  if (entry.is_shared_word || entry.thread >= kEqual) return true;
  const std::uint32_t warp =
    entry.thread < kSeveral ? entry.thread / kLanes : entry.thread % kLanes;
  const PrimaryLaunch::Trigger first = primary.of_block(entry.block),
                               own = primary.of_warp(entry.block, warp);
  if (first.clock == 0) return true;
  const std::uint32_t before =
    entry.is_load ? std::max(first.clock, own.clock) : std::max(first.fence, own.fence);
  if (entry.clock < before) return true;
  const bool may_know = block.known != 0 || block.grid->cluster_blocks > 1;
  return may_know && has_waited_.load(std::memory_order_relaxed);
}

} // namespace gmt::executor
