// SPDX-License-Identifier: Apache-2.0
// Which calls give work to streams, and what each call lets others know: feeds a StreamClock with
// all calls of a process. A detector that asks about the order of work gives every event that it
// sees to follow(), and what follow() leaves to start(), which names the work; end() says what the
// host knows when the call has returned. Sources: cuda.h and "API synchronization behavior" in the
// CUDA driver API's manual.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/orderings.h"
#include "analyzer/detectors/shared/stream_clock.h"

namespace gmt {

// The stream that a call's work goes to; none if it makes no work.
std::optional<std::uint64_t> stream_of_work(const Event& e);

// Whether a copy that waits reads memory that CUDA does not know, and writes the device's. Such a
// call returns when its source may be used again (manual, API synchronization behavior).
bool is_copy_from_pageable(const Event& copy, const Heap& heap);

class WorkOrder {
public:
  // Lives of streams, events and graphs are needed from the start of the trace, all other calls
  // from the first work on that is asked about.
  static constexpr Wants kAsleep = wants(EventKind::kLife) | wants(EventKind::kSync) |
                                   wants(EventKind::kUse) | wants(EventKind::kGraphChange) |
                                   wants(EventKind::kThread);
  static constexpr Wants kAwake = kAsleep | wants(EventKind::kFree) | wants(EventKind::kCopy) |
                                  wants(EventKind::kSet) | wants(EventKind::kLaunch) |
                                  wants(EventKind::kNote);

  // Whether a copy from pageable memory may go on behind its call, as the manual says, or counts
  // as done, as it nearly always is.
  enum class PageableCopies : std::uint8_t { kDoneAtReturn, kMayGoOn };

  WorkOrder(const ProcessFacts& facts, PageableCopies pageable)
      : facts_(facts), pageable_(pageable), orderings_(facts) {
    clock_.sees_names(facts);
  }

  // What is of no call's work. False: the event is a free, or may give work to a stream.
  bool follow(const Event& e, const Heap& heap, bool is_awake);
  // The work that the call gives to a stream, unless it is no more than part of another call, or
  // of a graph that is being captured.
  std::optional<StreamClock::Point> start(const Event& e, const Heap& heap);
  void end(const Event& e, StreamClock::Point work, const Heap& heap);
  // A release of memory whose frees are in no stream's order.
  void on_release(const Event& e);

  // Whether it is known how each call since then orders work: only then "not ordered" is certain.
  // Where it is not, report_unchecked() will say so.
  bool is_certain_since(std::uint64_t order);
  // At the end: what was not checked of this kind.
  void report_unchecked(std::string_view kind, Findings& findings) const;
  // Whether lost records may have ordered anything, which is said then.
  static bool report_losses(std::string_view kind, const EndOfTrace& end, Findings& findings);

  StreamClock& clock() { return clock_; }
  const StreamClock& clock() const { return clock_; }

private:
  void on_other(const Event& e);
  bool copy_waits(const Event& e, const Heap& heap) const;
  bool may_go_on(const Event& e, const Heap& heap) const;
  bool is_peer_copy(const Event& e, const Heap& heap) const;

  const ProcessFacts& facts_;
  const PageableCopies pageable_;
  Orderings orderings_;
  StreamClock clock_;
  struct {
    std::uint64_t order = 0;
    std::uint16_t api = trace::kNoApi;
  } last_unknown_; // call of which it is not known how it orders
  std::uint64_t unsure_ = 0;
  std::uint16_t unsure_because_of_ = trace::kNoApi;
};

} // namespace gmt
