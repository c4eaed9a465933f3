// SPDX-License-Identifier: Apache-2.0
// Times of a trace, from the pairs of clocks that were read at its beginning and at its end.
// Without an end the speed of the records' clock is not known.
#pragma once

#include <cstdint>

#include "analyzer/model/event.h"
#include "analyzer/model/trace_names.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class ClockPairs final : public TraceClock {
public:
  explicit ClockPairs(const TraceDir& trace)
      : begin_ticks_(trace.info.tsc), begin_realtime_(trace.info.realtime_ns),
        nanoseconds_per_tick_(speed_of(trace)) {}

  std::uint64_t realtime_of(std::uint64_t ticks) const override {
    if (nanoseconds_per_tick_ <= 0 || begin_realtime_ == 0 || ticks < begin_ticks_) return 0;
    return begin_realtime_ + static_cast<std::uint64_t>(nanoseconds(ticks - begin_ticks_));
  }
  double nanoseconds(std::uint64_t ticks) const override {
    return static_cast<double>(ticks) * nanoseconds_per_tick_;
  }

private:
  static double speed_of(const TraceDir& trace) {
    const TraceInfo& begin = trace.info;
    const auto& end = trace.completion;
    if (!end || begin.tsc == 0 || end->tsc <= begin.tsc || end->monotonic_ns <= begin.monotonic_ns)
      return 0;
    return static_cast<double>(end->monotonic_ns - begin.monotonic_ns) /
           static_cast<double>(end->tsc - begin.tsc);
  }

  std::uint64_t begin_ticks_, begin_realtime_;
  double nanoseconds_per_tick_;
};

} // namespace gmt
