// SPDX-License-Identifier: Apache-2.0
// Kernels that may still run when memory is read that was allocated after their launch, and that
// can have been notified of it: a kernel that waits for work in memory which the host writes too.
// Fed with the events of one process in merged order.
//
// A kernel is notified through memory. It was given some that the host can write as well (pinned,
// managed, registered, imported), the program has __managed__ variables, which no kernel is given,
// or its arguments are not known (a graph's, or not read), or it is not in the trace
// (`unrecordedCalls`) and the only context was not waited for since, or it is surely not: then a
// copy, a set or a memory operation may have written device memory, that some kernel was given, or
// a static variable, while it ran. Whether it can still run is StreamClock's answer, and where that
// is uncertain it can.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/stream_clock.h"

namespace gmt {

class RunningKernels {
public:
  static constexpr Wants kWanted =
    wants(EventKind::kLaunch) | wants(EventKind::kSync) | wants(EventKind::kLife) |
    wants(EventKind::kUse) | wants(EventKind::kCopy) | wants(EventKind::kSet) |
    wants(EventKind::kThread) | kWantsOddAllocations | wants(EventKind::kNote);

  explicit RunningKernels(const ProcessFacts& facts) : facts_(facts) {}

  void follow(const Event& e, const Heap& heap); // behind Heap::apply()
  // Whether a kernel from before the block's allocation may write to it before the copy reads it.
  bool may_write(const Block& block, const Event& copy, const Heap& heap);

private:
  using Point = StreamClock::Point;
  struct Launches { // on one stream
    Point newest;
    Point newest_notified; // of those that share memory with the host; order 0: none
  };

  void on_alloc(const Event& e);
  void on_note(const Event& e);
  void on_sync(const Event& e, const Heap& heap);
  void on_launch(const Event& e, const Heap& heap, std::uint64_t stream, bool of_graph);
  void on_write(const Event& e, const Heap& heap);
  bool is_notified(const Event& launch, const Heap& heap) const;
  bool is_any_running(Point now) const;
  bool may_run() const { return (pending_.any || running_ != 0) && !clock_.is_full(); }
  Point work(const Event& e, std::uint64_t stream, const Heap& heap);
  bool is_pending(const Event& e, std::uint64_t stream) const;
  void flush(const Heap& heap);
  void forget_done();

  const ProcessFacts& facts_;
  StreamClock clock_{StreamClock::Uncertain::kUnordered};
  std::vector<Launches> launches_; // by StreamClock's number of the stream
  std::uint64_t written_ = 0;      // order of the newest write that a running kernel may read
  bool has_managed_variables_ = false;
  bool may_be_unrecorded_ = false; // kernels that may run
  bool has_contexts_ = false;      // more than one
  std::size_t running_ = 0;        // streams in launches_ whose kernels may run

  // Launches that follow one another on a stream are given to the clock together, before anything
  // else is.
  struct {
    Event event{};
    std::uint64_t stream = 0;
    std::uint64_t notified = 0; // order of the newest of these that is
    bool any = false;
  } pending_;
};

} // namespace gmt
