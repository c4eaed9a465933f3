// SPDX-License-Identifier: Apache-2.0
// Makes a Timeline while the events of one process pass by. Memory is bounded: of very many calls
// the refused and the longest ones are kept.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/analysis/history/range_lanes.h"
#include "analyzer/analysis/time_window.h"
#include "analyzer/analysis/timeline/counter_series.h"
#include "analyzer/analysis/timeline/timeline.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/memory_watch.h"
#include "analyzer/heap/nvtx_ranges.h"

namespace gmt {

class TimelineRecorder final : public MemoryWatch {
public:
  // The facts must live as long.
  TimelineRecorder(const TimelineSize& size, const TimeSpan& span, const ProcessFacts& facts)
      : size_(size), facts_(facts), ranges_(facts.ranges()), window_(span), lanes_(size.ranges),
        sums_(size.samples) {}

  void follow(const Event& e); // before the heap applies it, behind Ranges
  void on_change(const MemoryChange& change) override;

  Timeline finish(); // once, behind the last event

private:
  using Memory = std::pair<int, trace::MemoryKind>; // of a device

  void begin(const Event& e);
  void add_slice(const Event& e);
  void keep_important(std::size_t most);
  std::uint16_t number_of_call(const Event& e);
  std::uint32_t number_of_kernel(const Event& e);
  std::vector<Timeline::Counter> counters() const;

  const TimelineSize size_;
  const ProcessFacts& facts_;
  const Ranges& ranges_;
  TimeWindow window_;
  RangeLanes lanes_;
  CounterSeries sums_;
  Timeline timeline_;
  struct Sum {
    std::size_t series = 0;
    std::uint64_t bytes = 0, at_begin = 0; // the latter: when the window began
  };
  std::map<Memory, Sum> memory_;
  std::unordered_map<std::string, std::uint32_t> calls_, kernels_; // numbers
  std::set<std::uint32_t> threads_;
  std::uint64_t now_ = 0;
  bool has_begun_ = false;
};

} // namespace gmt
