// SPDX-License-Identifier: Apache-2.0
// The limits of a launch while it runs, its observer's questions, and its end a while after a
// fault.
#pragma once

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <chrono>
#include <optional>

namespace gmt::executor {

// When a launch has had enough, and when its observer is asked. It belongs to the thread that runs
// the grid.
class Watch {
public:
  Watch(const Launch& launch, Observer& observer)
      : launch_(launch), observer_(observer), start_(Clock::now()), asked_(start_) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // After a turn of a block. `instructions` of this worker: they say whether it is time to look.
  void after_turn(GridRun& run, std::uint64_t instructions) {
    if (launch_.limits.instructions != 0 && run.instructions() > launch_.limits.instructions)
      run.halt("it executed as many instructions as are allowed");
    if (++calls_ % 16 != 0 && instructions - at_last_look_ < 200000) return;
    at_last_look_ = instructions;
    look(run);
  }

  void look(GridRun& run) {
    const Clock::time_point now = Clock::now();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    if (launch_.limits.seconds > 0 && elapsed > launch_.limits.seconds)
      run.halt("it ran for as long as is allowed");
    if (run.has_fault()) look_at_fault(run, now);
    if (std::chrono::duration<double>(now - asked_).count() < kProgressSeconds) return;
    asked_ = now;
    if (!observer_.progress(run.done(), launch_.grid.count(), elapsed))
      run.halt("it was interrupted");
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kProgressSeconds = 0.1;
  static constexpr double kSecondsAfterFault = 2; // of a launch that a GPU would have ended

  void look_at_fault(GridRun& run, Clock::time_point now) {
    if (!fault_seen_) fault_seen_ = now;
    if (std::chrono::duration<double>(now - *fault_seen_).count() > kSecondsAfterFault)
      run.end_faulted();
  }

  const Launch& launch_;
  Observer& observer_;
  Clock::time_point start_, asked_;
  std::optional<Clock::time_point> fault_seen_;
  std::uint64_t calls_ = 0, at_last_look_ = 0;
};

} // namespace gmt::executor
