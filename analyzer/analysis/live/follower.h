// SPDX-License-Identifier: Apache-2.0
// The heap and the models of a process that may be running, from its trace on disk. Each poll reads
// new records only. The process does not notice.
#pragma once

#include <cstdint>
#include <filesystem>

#include "analyzer/analysis/process_model.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/heap/heap.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class Follower {
public:
  explicit Follower(const TraceDir& trace);
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Reads what has come since the last call. Returns the number of calls.
  std::uint64_t poll();

  // The parent has written how the process ended, and everything was read.
  bool has_ended() const { return has_ended_; }
  const Heap& heap() const { return heap_; }
  const ProcessModel& model() const { return model_; }
  const StackTable& stacks() const { return stream_.stacks(); }
  const TraceDir& trace() const { return stream_.trace(); }
  Totals totals() const;                               // so far
  std::uint64_t failures() const { return failures_; } // allocations that CUDA refused

private:
  std::uint64_t drain();

  const AnalysisOptions options_;
  EventStream stream_;
  ProcessModel model_;
  Heap heap_;
  Totals totals_;
  std::uint64_t failures_ = 0;
  bool has_ended_ = false;
};

} // namespace gmt
