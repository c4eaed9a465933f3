// SPDX-License-Identifier: Apache-2.0
// The heap, the models and the findings of a process that may be running, from its trace on disk.
// Each poll reads new records only. The process does not notice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "analyzer/analysis/arbiter.h"
#include "analyzer/analysis/dispatch.h"
#include "analyzer/analysis/grouping.h"
#include "analyzer/analysis/process_model.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/heap/heap.h"
#include "analyzer/heap/memory_watch.h"
#include "analyzer/model/finding.h"
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
  // Sees each change of device memory from the next poll on, and must live as long.
  void watch(MemoryWatch& watch) { heap_.watch(watch); }
  // What calls have shown since the last time; equal findings are one. What only the end of a trace
  // shows, such as leaks, is not among it.
  std::vector<Finding> take_findings() { return findings_.take_findings(); }

  // The parent has written how the process ended, and everything was read.
  bool has_ended() const { return has_ended_; }
  const Heap& heap() const { return heap_; }
  const ProcessModel& model() const { return model_; }
  const StackTable& stacks() const { return stream_.stacks(); }
  const TraceDir& trace() const { return stream_.trace(); }
  Totals totals() const;                                       // so far
  std::uint64_t failures() const { return failures_; }         // allocations that CUDA refused
  std::uint64_t newest_order() const { return newest_order_; } // of the calls that were read

private:
  std::uint64_t drain();
  void follow(const Event& e);

  const AnalysisOptions options_;
  EventStream stream_;
  ProcessModel model_;
  Heap heap_;
  Arbiter arbiter_;
  Grouping findings_;
  Dispatch detectors_;
  Totals totals_;
  std::uint64_t failures_ = 0, newest_order_ = 0;
  bool has_ended_ = false;
};

} // namespace gmt
