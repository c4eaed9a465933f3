// SPDX-License-Identifier: Apache-2.0
// A worker's blocks in turn. When all of them spin and no other can start, the processor is left to
// the workers that they wait for.
#include "simulated_cuda/executor/machine/workers/dispatcher.h"

#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/machine/report_sink.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kSpinsUntilNew = 128; // turns of spinning blocks, before one more starts
constexpr std::size_t kClustersBesideDelayed = 4;
constexpr std::uint64_t kBlocksUntilSettled = 1024;
// A block goes on for so long after a mistake for which a GPU would have stopped: others may follow
// that are worth a report. A refused access takes as long as some instructions.
constexpr std::uint64_t kInstructionsAfterFault = 1 << 20, kInstructionsOfFault = 8;

} // namespace

void Dispatcher::run() {
  worker_.still_since.store(Worker::kBusy);
  take_turns();
  worker_.stillness = nullptr;
  for (const auto& block : blocks_) note_error(*block); // they were stopped
  if (!blocks_.empty()) worker_.stood = worker_.checks->location(blocks_.front()->standing());
  else worker_.still_since.store(Worker::kWithoutBlocks);
}

void Dispatcher::take_turns() {
  std::size_t at = 0;
  bool has_finished = true; // one of them, since the first had its turn
  while (!run_.is_halted()) {
    if (at >= blocks_.size()) {
      at = 0;
      pass_time();
      if (has_finished) stillness_.progress();
      else if (stillness_.after_round(blocks_, may_add_block())) return run_.end_faulted();
      const bool is_wanted =
        wants_others_ && blocks_.size() < kClustersBesideDelayed * rules_.cluster_blocks;
      const bool may_add =
        blocks_.empty() || rules_.starts_all || is_wanted || spins_ >= kSpinsUntilNew;
      wants_others_ = false;
      const bool is_new = may_add && blocks_.size() < rules_.most && add_block();
      if (blocks_.empty()) return;
      if (is_new) at = blocks_.size() - rules_.cluster_blocks;
      else if (!has_finished && run_.worker_count() > 1) sched_yield();
      has_finished = false;
    }
    Block& block = *blocks_[at];
    if (!block.done) run_block(block);
    if (!block.cluster->is_done()) {
      ++at;
      continue;
    }
    has_finished = true;
    const std::size_t cluster = at / rules_.cluster_blocks, first = cluster * rules_.cluster_blocks;
    for (std::size_t i = 0; i < rules_.cluster_blocks; ++i) finish(*blocks_[first + i]);
    if (!start(first)) {
      const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(first);
      blocks_.erase(begin, begin + static_cast<std::ptrdiff_t>(rules_.cluster_blocks));
      clusters_.erase(clusters_.begin() + static_cast<std::ptrdiff_t>(cluster));
    }
    say_oldest();
    at = 0; // the earliest first
  }
}

// Where nothing else can happen, a later time comes at once. While others may write memory of the
// device, what waits may wait for them, too: then no time is later than the real one.
void Dispatcher::pass_time() {
  const bool only_waits = worker_.time.end_round() && !blocks_.empty();
  worker_.waits_for_time.store(only_waits, std::memory_order_relaxed);
  worker_.rounds.fetch_add(1);
  const bool waited = std::exchange(only_waited_, only_waits);
  if (!only_waits) return;
  if (!waited) rounds_ = run_.rounds(); // others see later what this one wrote last
  const bool may_start = run_.has_blocks_left() && blocks_.size() < rules_.most;
  if (may_start || !run_.waits_for_time(worker_, rounds_)) return;
  std::uint64_t most = ~std::uint64_t{0};
  if (rules_.keeps_real_time) {
    const auto real = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin_);
    const auto cycles = static_cast<std::uint64_t>(real.count()) * kCyclesPerMicrosecond;
    if (worker_.time.skipped() >= cycles) return;
    most = cycles - worker_.time.skipped();
  }
  worker_.time.jump(most);
}

bool Dispatcher::may_add_block() const {
  return run_.has_blocks_left() && (blocks_.size() < rules_.most || !rules_.fill_gpu);
}

bool Dispatcher::add_block() {
  if (!run_.has_blocks_left()) return false;
  spins_ = 0;
  const std::size_t first = blocks_.size();
  std::vector<Block*> together;
  for (std::size_t i = 0; i < rules_.cluster_blocks; ++i) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->prepare(worker_);
    together.push_back(blocks_.back().get());
  }
  clusters_.push_back(std::make_unique<Cluster>(together));
  if (start(first)) return true;
  blocks_.resize(first);
  clusters_.pop_back();
  return false;
}

bool Dispatcher::start(std::size_t first) {
  std::uint64_t number = 0;
  if (!run_.take(worker_, &number)) return false;
  clusters_[first / rules_.cluster_blocks]->start();
  for (std::size_t i = 0; i < rules_.cluster_blocks; ++i) blocks_[first + i]->start(number + i);
  return true;
}

void Dispatcher::say_oldest() {
  std::uint64_t oldest = kNoBlock;
  for (const auto& block : blocks_) oldest = std::min(oldest, block->number);
  worker_.oldest.store(oldest);
}

void Dispatcher::run_block(Block& block) {
  while (!block.done) {
    const std::uint64_t before = worker_.instructions;
    const bool ran = block.run();
    if (block.gpu_error != 0) after_fault(block, worker_.instructions - before);
    if (rules_.counts_instructions) {
      run_.count_instructions(worker_.instructions - counted_);
      counted_ = worker_.instructions;
    }
    if (after_turn_) after_turn_();
    if (run_.is_halted()) return;
    if (run_.last() < block.number) block.done = block.is_left_out = true;
    if (!ran && !block.done) {
      if (block.cluster->can_go_on()) return; // it waits for others of the cluster
      if (block.cluster->is_left_out()) block.done = block.is_left_out = true;
      else block.stuck();
    }
    if (!block.spinning || block.done) continue;
    ++spins_;
    GridOrdering* ordering = worker_.grid->ordering;
    wants_others_ |= ordering != nullptr && ordering->delays().wants_others(block);
    // What spins may wait for a block that has ended the grid
    if (run_.has_ended() && ++late_spins_ > kSpinsUntilNew * blocks_.size())
      block.done = block.is_left_out = true;
    return;
  }
}

void Dispatcher::after_fault(Block& block, std::uint64_t instructions) {
  run_.note_fault();
  block.instructions_after += instructions;
  const std::uint64_t cost = block.instructions_after + kInstructionsOfFault * block.faults;
  if (!block.done && cost > kInstructionsAfterFault) block.end_faulted();
}

void Dispatcher::note_error(const Block& block) {
  if (block.gpu_error == 0 || block.number >= worker_.error_block) return;
  worker_.error_block = block.number;
  worker_.gpu_error = block.gpu_error;
}

void Dispatcher::finish(Block& block) {
  note_error(block);
  if (!block.is_left_out && !block.has_ended_grid) run_.count_done();
  if (++finished_ % kBlocksUntilSettled == 0) worker_.checks->settle(run_.done_before());
}

} // namespace gmt::executor
