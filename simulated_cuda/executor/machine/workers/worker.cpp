// SPDX-License-Identifier: Apache-2.0
// How blocks are given out, and how a grid ends early.
#include "simulated_cuda/executor/machine/workers/worker.h"

#include "simulated_cuda/executor/only_block.h"

#include <algorithm>

namespace gmt::executor {

namespace {

constexpr std::uint64_t kAllBlocks = ~std::uint64_t{0};
std::uint64_t only_block = kAllBlocks;

bool is_left_out(std::uint64_t first, std::uint64_t count) {
  return only_block != kAllBlocks && (only_block < first || only_block - first >= count);
}

} // namespace

void run_only_block(std::uint64_t number) { only_block = number; }

// A worker says what it may get before it takes it: so done_before() never passes it.
bool GridRun::take(Worker& worker, std::uint64_t* block) {
  if (order_.is_mixed()) return take_mixed(worker, block);
  const std::uint64_t before = worker.oldest.load(std::memory_order_relaxed);
  while (true) {
    const std::uint64_t expected = next_.load();
    if (expected >= end()) break;
    worker.oldest.store(std::min(before, expected * cluster_blocks_));
    const std::uint64_t cluster = next_.fetch_add(1);
    *block = cluster * cluster_blocks_;
    if (cluster >= end()) break;
    if (!is_left_out(*block, cluster_blocks_)) return true;
    done_.fetch_add(cluster_blocks_);
  }
  worker.oldest.store(before);
  return false;
}

bool GridRun::take_mixed(Worker& worker, std::uint64_t* block) {
  const std::lock_guard lock(order_mutex_);
  const std::uint64_t before = worker.oldest.load(std::memory_order_relaxed);
  while (has_blocks_left()) {
    const std::uint64_t index = next_.load(std::memory_order_relaxed);
    worker.oldest.store(std::min(before, order_.first_of_window(index) * cluster_blocks_));
    const std::uint64_t cluster = order_.at(index);
    *block = cluster * cluster_blocks_;
    next_.store(index + 1);
    if (cluster >= end()) continue;
    if (!is_left_out(*block, cluster_blocks_)) return true;
    done_.fetch_add(cluster_blocks_);
  }
  worker.oldest.store(before);
  return false;
}

std::uint64_t GridRun::done_before() const {
  std::uint64_t first = order_.first_of_window(next_.load()) * cluster_blocks_;
  for (std::size_t i = 0; i < worker_count_; ++i)
    first = std::min(first, workers_[i].oldest.load());
  return first;
}

void GridRun::end_at(std::uint64_t block, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (block >= last_.load(std::memory_order_relaxed)) return;
  why_ended_ = why;
  last_.store(block, std::memory_order_release);
}

void GridRun::halt(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (is_halted()) return;
  why_halted_ = why;
  halted_.store(true, std::memory_order_release);
}

void GridRun::end_faulted() {
  const std::lock_guard lock(mutex_);
  if (is_halted()) return;
  is_faulted_ = true;
  halted_.store(true, std::memory_order_release);
}

bool GridRun::is_still(std::uint64_t since, bool others_may_write) const {
  const bool may_change = others_may_write && has_polled_.load();
  if (has_ended() || may_change) return false;
  for (std::size_t i = 0; i < worker_count_; ++i) {
    const std::uint64_t still = workers_[i].still_since.load();
    if (still == Worker::kWithoutBlocks && has_blocks_left()) return false; // it takes one
    if (still != since && still != Worker::kWithoutBlocks) return false;
  }
  return moment() == since;
}

std::string GridRun::why() const {
  const std::lock_guard lock(mutex_);
  return has_ended() ? why_ended_ : why_halted_;
}

const Instruction* end_grid(Warp& w, std::uint32_t error, const std::string& why) {
  Block& block = *w.block;
  if (block.gpu_error == 0) block.gpu_error = error;
  block.has_ended_grid = true;
  w.worker->run->end_at(block.number, why);
  w.stop();
  return nullptr;
}

bool GridRun::waits_for_time(const Worker& asks, const std::vector<std::uint64_t>& since) const {
  constexpr std::uint64_t kRounds = 2; // the one that went on, and a whole one
  for (std::size_t i = 0; i < worker_count_; ++i) {
    const Worker& worker = workers_[i];
    if (&worker == &asks) continue;
    if (worker.still_since.load() == Worker::kWithoutBlocks) {
      if (has_blocks_left()) return false; // it has not begun, and takes one
      continue;
    }
    const bool is_later = worker.rounds.load() >= since[i] + kRounds;
    if (!is_later || !worker.waits_for_time.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

std::vector<std::uint64_t> GridRun::rounds() const {
  std::vector<std::uint64_t> rounds(worker_count_);
  for (std::size_t i = 0; i < worker_count_; ++i) rounds[i] = workers_[i].rounds.load();
  return rounds;
}

} // namespace gmt::executor
