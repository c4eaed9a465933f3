// SPDX-License-Identifier: Apache-2.0
// Takes what the executor says about one launch to the tool that observes the device
// (trace/execution_observer.h), with the launch's identity; keeps printed text, draws the progress
// line and ends a launch that has to end early. Driver lock held.
#pragma once

#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/executor/executor.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace gmt::sim {

class LaunchObserver final : public executor::Observer {
public:
  // The kernel's name outlives this. `seconds_left` of the run; negative: no limit. Without
  // `is_wanted` it says nothing of what the kernel does to memory.
  LaunchObserver(const trace::ExecutionLaunch& launch, double seconds_left, bool is_wanted)
      : launch_(launch), seconds_left_(seconds_left), is_wanted_(is_wanted) {}
  ~LaunchObserver() override;
  LaunchObserver(const LaunchObserver&) = delete;
  LaunchObserver& operator=(const LaunchObserver&) = delete;

  void report(const executor::Report& report) override;
  void heap_event(const executor::HeapEvent& event) override;
  void print(const std::string& text) override;
  void print_error(const std::string& text) override;
  bool progress(std::uint64_t done, std::uint64_t blocks, double seconds) override;

  void skipped(trace::ExecutionEnd end, const std::string& reason,
               const executor::Location& location, const executor::Outcome& outcome,
               bool as_asked = false) const;

  // Which memory it used; nothing is said where that is not known.
  void accesses(const executor::Accesses& accesses) const;

  // Why progress() ended the launch; empty if it did not.
  const std::string& why_ended() const { return why_ended_; }
  bool run_is_over() const { return run_is_over_; }
  bool saw_deadlock() const { return !other_sides_.empty(); }
  // The error with which a GPU ends the context, of a free() in the kernel; 0: none
  std::uint32_t heap_error() const { return heap_error_; }

private:
  bool is_other_side(const executor::Report& report);
  std::uint32_t error_of(const executor::HeapEvent& event) const;
  void set_heap_block(trace::ExecutionFault& fault) const;
  static void set_variable(trace::ExecutionFault& fault, std::string& name);
  static void set_local_memory(trace::ExecutionFault& fault);

  trace::ExecutionLaunch launch_;
  double seconds_left_;
  bool is_wanted_;
  std::string why_ended_;
  bool run_is_over_ = false;
  bool line_drawn_ = false;
  std::uint32_t heap_error_ = 0;
  // Of deadlocks: function and line of PTX of the thread that waits elsewhere
  std::set<std::pair<std::string, std::uint32_t>> other_sides_;
};

} // namespace gmt::sim
