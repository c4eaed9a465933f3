// SPDX-License-Identifier: Apache-2.0
// Names and times of a trace, as it gives them so far: two interfaces for what needs no more of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/model/event.h"

namespace gmt {

class TraceNames {
public:
  virtual ~TraceNames() = default;
  virtual std::string_view api_name(std::uint16_t api) const = 0; // as_written(); "?" if unknown
  // Of a kernel or module; empty if unknown
  virtual std::string_view handle_name(std::uint64_t handle) const = 0;
  virtual std::string_view text(std::uint64_t id) const = 0; // of a kText record, empty if unknown

  // The call as the program wrote it: the runtime's name where one led here, else the driver's.
  std::string_view call_name(const Event& e) const {
    return api_name(e.via != trace::kNoApi ? e.via : e.api);
  }
};

class TraceClock {
public:
  virtual ~TraceClock() = default;
  std::uint64_t realtime(const Event& e) const { return realtime_of(e.time); }
  // ns of CLOCK_REALTIME, 0 if not known
  virtual std::uint64_t realtime_of(std::uint64_t ticks) const = 0;
  virtual double nanoseconds(std::uint64_t ticks) const = 0; // 0 if the clock's speed is not known
};

} // namespace gmt
