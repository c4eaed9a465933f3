// SPDX-License-Identifier: Apache-2.0
// The part of a run of which details are wanted. Its bounds count from the first call; where the
// speed of the records' clock is not known, everything is inside.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "analyzer/model/trace_names.h"

namespace gmt {

struct TimeSpan {
  std::optional<double> from = {}, to = {}; // nanoseconds from the first call on
  bool is_all() const { return !from && !to; }
};

class TimeWindow {
public:
  explicit TimeWindow(const TimeSpan& span) : span_(span) {}

  // The first call. Times are the trace's own.
  void begin_at(std::uint64_t time, const TraceClock& clock) {
    const double nanoseconds = clock.nanoseconds(1);
    if (nanoseconds <= 0) return;
    if (span_.from) first_ = bound(time, *span_.from / nanoseconds);
    if (span_.to) last_ = bound(time, *span_.to / nanoseconds);
  }
  bool contains(std::uint64_t time) const { return time >= first_ && time <= last_; }
  bool is_before(std::uint64_t time) const { return time < first_; } // the window's begin
  std::uint64_t first() const { return first_; }

private:
  static std::uint64_t bound(std::uint64_t begin, double ticks) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (ticks <= 0) return begin;
    if (ticks >= static_cast<double>(kMost - begin)) return kMost;
    return begin + static_cast<std::uint64_t>(ticks);
  }

  TimeSpan span_;
  std::uint64_t first_ = 0, last_ = std::numeric_limits<std::uint64_t>::max();
};

} // namespace gmt
