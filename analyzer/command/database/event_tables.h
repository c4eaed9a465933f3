// SPDX-License-Identifier: Apache-2.0
// The tables of calls, of allocations and of NVTX ranges, from a walk through a trace.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/analysis/time_window.h"
#include "analyzer/command/database/frame_tables.h"
#include "analyzer/command/database/sql_file.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class EventTables {
public:
  // Events outside the span are left out.
  EventTables(SqlFile& file, const TimeSpan& span, bool with_symbols)
      : file_(file), span_(span), with_symbols_(with_symbols), frames_(file) {}

  // The whole trace of a process. The time of its first call, ns of CLOCK_REALTIME, 0 if unknown.
  std::uint64_t add(const TraceDir& trace, std::uint64_t process);
  FrameTables& frames() { return frames_; }

private:
  class Walk;

  SqlFile& file_;
  const TimeSpan span_;
  const bool with_symbols_;
  FrameTables frames_;
  std::uint64_t events_ = 0, blocks_ = 0, stacks_ = 0, ranges_ = 0; // numbers that are given out
};

} // namespace gmt
