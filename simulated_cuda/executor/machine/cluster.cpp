// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/cluster.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstddef>

namespace gmt::executor {

Cluster::Cluster(std::vector<Block*> blocks) : blocks_(std::move(blocks)) {
  std::uint32_t rank = 0;
  for (Block* block : blocks_) {
    block->cluster = this;
    block->rank = rank++;
  }
}

void Cluster::start() {
  arrived_in_.clear();
  uses_.clear();
  objects_.clear();
  has_seen_flag_.clear();
  hidden_stores_.clear();
  phase_ = 1;
  arrived_ = 0;
}

bool Cluster::is_done() const {
  return std::ranges::all_of(blocks_, [](const Block* block) { return block->done; });
}

bool Cluster::is_left_out() const {
  return std::ranges::any_of(
    blocks_, [](const Block* block) { return block->is_left_out || block->has_ended_grid; });
}

bool Cluster::can_go_on() const {
  return std::ranges::any_of(blocks_, [](const Block* block) {
    return !block->done && std::ranges::any_of(block->warps, [](const auto& warp) {
      return warp->alive != 0 && (warp->at != nullptr || !warp->ready.empty());
    });
  });
}

std::uint32_t& Cluster::phase_of(const Warp& w, std::uint32_t lane) {
  if (arrived_in_.empty())
    arrived_in_.assign(blocks_.size(), std::vector<std::uint32_t>(blocks_.front()->threads));
  return arrived_in_[w.block->rank][w.id * kLanes + lane];
}

const Instruction* Cluster::arrive(Warp& w, const Instruction* in) {
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1)
    phase_of(w, static_cast<std::uint32_t>(__builtin_ctz(m))) = phase_ + 1;
  arrived_ += w.active;
  complete_if_all();
  return in + 1;
}

const Instruction* Cluster::wait(Warp& w, const Instruction* in) {
  bool is_over = true;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const std::uint32_t phase = phase_of(w, lane);
    if (phase == 0) w.worker->checks->wrong_mask(facts_of(w, in, lane), "not arrived");
    is_over = is_over && phase <= phase_;
  }
  if (is_over) return in + 1;
  w.waiting.push_back(w.standing(in, Wait::kCluster));
  return w.next_fragment();
}

// Threads that have ended are not waited for.
void Cluster::lanes_left(Block& block, const Warp& w, std::uint32_t lanes) {
  if (!arrived_in_.empty()) {
    for (std::uint32_t m = lanes; m != 0; m &= m - 1)
      arrived_ -= phase_of(w, static_cast<std::uint32_t>(__builtin_ctz(m))) > phase_ ? 1 : 0;
    complete_if_all();
  }
  // What orders blocks is only known where races are looked for
  if (block.alive != 0 || uses_.empty() || blocks_.size() == 1 || !block.is_ordered) return;
  const Use& last = uses_[block.rank];
  if (last.clock != 0 && last.clock >= block.cluster_clock)
    last.facts.warp->worker->checks->left_early(last.facts);
}

void Cluster::complete_if_all() {
  std::uint32_t alive = 0;
  for (const Block* block : blocks_) alive += block->alive;
  if (arrived_ == 0 || arrived_ < alive) return;
  arrived_ = 0;
  ++phase_;
  for (Block* block : blocks_) {
    if (block->is_ordered) block->barrier_of_all();
    for (const auto& warp : block->warps) {
      std::vector<Fragment> left;
      for (Fragment& fragment : warp->waiting) {
        if (fragment.wait != Wait::kCluster) {
          left.push_back(fragment);
          continue;
        }
        ++fragment.at;
        fragment.wait = Wait::kNone;
        warp->ready.push_back(fragment);
      }
      warp->waiting = left;
    }
  }
  order_all();
}

void Cluster::order_all() {
  if (blocks_.size() == 1) return;
  for (Block* block : blocks_) {
    if (!block->is_ordered) return;
    for (const auto& warp : block->warps) {
      block->fence_for_others(*warp);
      block->release(*warp);
    }
    block->advance_clock();
    block->cluster_clock = block->clock;
  }
  for (Block* block : blocks_) block->acquire();
  uses_.clear();
  has_seen_flag_.clear();
  hidden_stores_.clear();
}

void Cluster::see_flag(const Block& storer, const Block& reader) {
  // What was done before `cluster_clock` is known without a flag
  const bool has_fence = std::ranges::any_of(
    storer.warps, [&](const auto& warp) { return warp->device_fence >= storer.cluster_clock; });
  if (!has_fence) return;
  has_seen_flag_.resize(blocks_.size());
  has_seen_flag_[reader.rank] = true;
}

void Cluster::acquire(const Block& block) {
  if (!has_seen_flag_.empty() && has_seen_flag_[block.rank]) order_all();
}

void Cluster::use(Block& target, const AccessFacts& facts) {
  uses_.resize(blocks_.size());
  Use& last = uses_[target.rank];
  if (last.clock >= std::max(target.cluster_clock, 1u)) return; // the first is shown
  last.clock = target.clock;
  last.facts = facts;
}

void Cluster::note_object(const Block& target, std::uint64_t object) {
  objects_.insert({target.rank, object});
}

void Cluster::waited(const Block& target, std::uint64_t object) {
  // Others that wait for the same phase find all ordered
  if (objects_.erase({target.rank, object}) != 0) order_all();
}

} // namespace gmt::executor
