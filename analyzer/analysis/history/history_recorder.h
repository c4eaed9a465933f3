// SPDX-License-Identifier: Apache-2.0
// Makes a MemoryHistory while the events of one process pass by. Memory and time an event are
// bounded; the heap reports each change of device memory, and the events give the time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis/history/cache_maps.h"
#include "analyzer/analysis/history/history_columns.h"
#include "analyzer/analysis/history/history_size.h"
#include "analyzer/analysis/history/memory_history.h"
#include "analyzer/analysis/history/peak_window.h"
#include "analyzer/analysis/history/range_lanes.h"
#include "analyzer/analysis/history/torch_phases.h"
#include "analyzer/analysis/memory_tables.h"
#include "analyzer/analysis/time_window.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/heap/memory_watch.h"
#include "analyzer/heap/nvtx_ranges.h"

namespace gmt {

class HistoryRecorder final : public MemoryWatch {
public:
  // The facts must live as long.
  HistoryRecorder(const HistorySize& size, const TimeSpan& span, const ProcessFacts& facts)
      : size_(size), facts_(facts), ranges_(facts.ranges()), window_(span), columns_(size.columns),
        tensors_(size.columns), phases_(facts), maps_(facts), is_part_(!span.is_all()) {}

  void follow(const Event& e, const Heap& heap); // before the heap applies it, behind Ranges
  void on_change(const MemoryChange& change) override;
  void on_tensor(const MemoryChange& change) override;

  // Once, behind the last event.
  MemoryHistory finish(std::span<const StackUse> uses, const Heap& heap);

private:
  bool advance(); // whether this moment is inside the window
  void follow_call(const Event& e);
  void add_ranges(MemoryHistory& history);
  LayerSeries::Id range_of(const MemoryChange& change);
  LayerSeries::Id library_of(StackId stack);

  const HistorySize size_;
  const ProcessFacts& facts_;
  const Ranges& ranges_;
  TimeWindow window_;
  HistoryColumns columns_;
  HistoryColumns tensors_; // by call stack: the first of its sets
  PeakWindow peak_;
  RangeLanes lanes_;
  TorchPhases phases_;
  CacheMaps maps_;
  std::vector<MemoryHistory::Failure> failures_;
  std::uint64_t more_failures_ = 0;
  // Of live blocks that were allocated inside ranges, by Block::allocated_at
  std::unordered_map<std::uint64_t, Ranges::Path> paths_;
  std::vector<std::string> libraries_;           // by layer
  std::vector<LayerSeries::Id> stack_libraries_; // by StackId: 1 + its layer, 0 not looked up
  std::uint64_t now_ = 0, first_call_ = 0, last_shown_ = 0;
  bool has_begun_ = false, is_shown_ = false;
  const bool is_part_;
};

} // namespace gmt
