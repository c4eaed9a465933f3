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
  const Trigger& of_block(std::uint32_t number) const {
    return triggers[std::size_t{number} * (1 + warps)];
  }
  const Trigger& of_warp(std::uint32_t number, std::uint32_t warp) const {
    return triggers[std::size_t{number} * (1 + warps) + 1 + warp];
  }
};

// What the secondary launch knows of its primary one.
class PrimaryBeside final : public LaunchesBeside {
public:
  explicit PrimaryBeside(std::shared_ptr<const PrimaryLaunch> primary)
      : primary_(std::move(primary)) {}
  void wait() { has_waited_.store(true, std::memory_order_relaxed); } // some block

  const EarlierLaunch& first() const override { return *primary_; }
  const EarlierLaunch* of_run(std::uint32_t run) const override {
    return run >= primary_->first_run && run < primary_->end_run ? primary_.get() : nullptr;
  }
  bool is_over(const Block& block, const EarlierLaunch& launch,
               const EarlierAccess& access) const override;
  bool is_over_for_all() const override { return false; }
  const char* how_beside(const EarlierLaunch& /*launch*/) const override { return kPrimary; }

private:
  std::shared_ptr<const PrimaryLaunch> primary_;
  std::atomic<bool> has_waited_{false};
};

} // namespace gmt::executor
