// SPDX-License-Identifier: Apache-2.0
// A launch whose blocks let the next one begin before it has ended
// (griddepcontrol.launch_dependents), as that one has to know it: it meets the entries of the
// primary launch in the tables of races, and knows nothing of what they are of until its blocks
// wait (griddepcontrol.wait). A launch that lets none begin leaves nothing behind.
#pragma once

#include "simulated_cuda/executor/machine/earlier_launches.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gmt::executor {

struct PrimaryLaunch : EarlierLaunch {
  // Clocks of a block when it, or one of its warps, let the next launch begin. Its exit does so as
  // well: then they are 0.
  struct Trigger {
    std::uint32_t clock = 0; // what was loaded before has been read
    std::uint32_t fence = 0; // what was stored before is visible
  };
  std::weak_ptr<const void> module; // that has the program
  std::uint32_t warps = 0;          // of a block
  // By block, its first one and then those of its warps. The first of a block lets the next launch
  // begin; that programs take each thread's for its own is no mistake that is looked for.
  std::vector<Trigger> triggers;
  // The launch in front of it may still run as well, as no block waited for that before it let the
  // next launch begin; null: that has ended by then.
  std::shared_ptr<const PrimaryLaunch> in_front;
  std::uint32_t chain = 1; // how many launches follow on each other so, itself included

  const Trigger& of_block(std::uint32_t number) const {
    return triggers[std::size_t{number} * (1 + warps)];
  }
  const Trigger& of_warp(std::uint32_t number, std::uint32_t warp) const {
    return triggers[std::size_t{number} * (1 + warps) + 1 + warp];
  }
};

// What the secondary launch knows of its primary one, and of those in front of that.
class PrimaryBeside final : public LaunchesBeside {
public:
  explicit PrimaryBeside(std::shared_ptr<const PrimaryLaunch> primary);
  // Some block has, before or behind its trigger.
  void wait(bool is_before_trigger) {
    has_waited_.store(true, std::memory_order_relaxed);
    if (is_before_trigger) has_waited_first_.store(true, std::memory_order_relaxed);
  }
  // Null: it has ended when the next launch begins.
  std::shared_ptr<const PrimaryLaunch> for_next() const {
    return has_waited_first_.load(std::memory_order_relaxed) ? nullptr : primary_;
  }

  const EarlierLaunch& first() const override { return *first_; }
  const EarlierLaunch* of_run(std::uint32_t run) const override;
  bool is_over(const Block& block, const EarlierLaunch& launch,
               const EarlierAccess& access) const override;
  bool is_over_for_all() const override { return false; }
  const char* how_beside(const EarlierLaunch& launch) const override {
    return &launch == primary_.get() ? kPrimary : kFurther;
  }

private:
  std::shared_ptr<const PrimaryLaunch> primary_;
  const PrimaryLaunch* first_; // of the chain
  std::atomic<bool> has_waited_{false}, has_waited_first_{false};
};

} // namespace gmt::executor
