// SPDX-License-Identifier: Apache-2.0
// The time that kernels read: it advances with what is executed, and jumps where all warps that
// can run do nothing but look at it. So a wait of 100 ms is short, and a seed gives the same times
// again. A sleep lasts where others have nothing to do, and else no time at all, as CUDA allows:
// what they do takes far longer here than on a GPU, and a limit of time would pass too early. Each
// worker has its own clock; %globaltimer is that of the whole launch, which never goes back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace gmt::executor {

inline constexpr std::uint64_t kCyclesPerMicrosecond = 1980; // of an H100's clock

class VirtualTime {
public:
  // Cycles, beside the instructions that the worker has executed before this turn.
  std::uint64_t read() {
    ++reads_;
    return ++ticks_ + skipped_;
  }
  void sleep(std::uint64_t nanoseconds) {
    reads_ += kReadsOfSleep;
    ++ticks_;
    slept_in_turn_ += nanoseconds * kCyclesPerMicrosecond / 1000;
  }

  // A warp's turn ends. `branches` it was allowed back, if it had more of them than that.
  void end_turn(bool is_spinning, std::uint32_t branches) {
    slept_in_round_ = std::max(slept_in_round_, slept_in_turn_);
    if (!is_spinning || kBranchesOfRead * reads_ < branches) only_polls_ = false;
    reads_ = slept_in_turn_ = 0;
  }
  // All warps had their turns. True if none of them did anything but wait for a later time.
  bool end_round() {
    slept_ = std::exchange(slept_in_round_, 0);
    const bool only_polled = only_polls_;
    only_polls_ = true;
    if (!only_polled) waited_ = 0;
    return only_polled;
  }
  // By an eighth of the wait so far, or as long as a warp slept in the round; not by more than
  // `most`.
  void jump(std::uint64_t most) {
    const std::uint64_t step = std::max<std::uint64_t>(waited_ / 8, kLeastStep);
    waited_ += std::min(step, most);
    skipped_ += std::min(std::max(step, slept_), most);
  }
  std::uint64_t skipped() const { return skipped_; }

private:
  static constexpr std::uint64_t kBranchesOfRead = 4; // that a loop may have for each look
  static constexpr std::uint64_t kReadsOfSleep = 16;  // which ends a turn as soon as 64 branches do
  static constexpr std::uint64_t kLeastStep = 1024;   // cycles

  std::uint64_t ticks_ = 0, skipped_ = 0, waited_ = 0;
  std::uint64_t reads_ = 0, slept_in_turn_ = 0, slept_in_round_ = 0, slept_ = 0;
  bool only_polls_ = true;
};

// %globaltimer of one launch, in nanoseconds behind its beginning.
class LaunchTime {
public:
  std::uint64_t at_least(std::uint64_t cycles) {
    const std::uint64_t now = cycles * 1000 / kCyclesPerMicrosecond;
    std::uint64_t latest = latest_.load(std::memory_order_relaxed);
    while (latest < now && !latest_.compare_exchange_weak(latest, now)) {
    }
    return std::max(latest, now);
  }
  std::uint64_t latest() const { return latest_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> latest_{0};
};

} // namespace gmt::executor
