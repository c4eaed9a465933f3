// SPDX-License-Identifier: Apache-2.0
// What is recorded at each event. history_layers.cpp has what is made of it at the end.

#include "analyzer/analysis/history/history_recorder.h"

#include <algorithm>
#include <iterator>

#include "analyzer/analysis/history/history_layers.h"
#include "analyzer/analysis/history/history_stacks.h"

namespace gmt {
namespace {

using Kind = EventKind;

constexpr std::size_t kMostFailures = 200;

// Whether the call is counted, and as what.
bool activity_of(const Event& e, Activity& activity) {
  switch (e.kind) {
  case Kind::kAlloc: activity = e.succeeded() ? Activity::kAllocation : Activity::kFailure; break;
  case Kind::kFree: activity = Activity::kFree; break;
  case Kind::kCopy:
  case Kind::kSet: activity = Activity::kCopy; break;
  case Kind::kLaunch: activity = Activity::kLaunch; break;
  case Kind::kSync: activity = Activity::kWait; break;
  default: return false;
  }
  return e.succeeded() || activity == Activity::kFailure;
}

std::string library_name(const Caller& caller) {
  if (!caller.owner.empty()) return std::string(caller.owner);
  if (caller.module.empty()) return "unknown";
  return std::string(caller.module.substr(caller.module.rfind('/') + 1));
}

// A layer for each kind of memory of each device.
LayerSeries::Id kind_layer(const MemoryChange& change) {
  return static_cast<LayerSeries::Id>(change.device + 1) * kKindsADevice +
         static_cast<LayerSeries::Id>(change.block.memory_kind);
}

} // namespace

void HistoryRecorder::follow(const Event& e, const Heap& heap) {
  now_ = std::max(now_, e.time);
  const bool is_of_maps = e.kind == Kind::kTensor || e.kind == Kind::kMemoryInfo;
  if (is_of_maps && is_shown_) maps_.follow(e, heap, now_);
  if (e.kind == Kind::kRange) lanes_.on_range(e, ranges_, now_);
  if (is_call(e.kind) || e.kind == Kind::kTensor) phases_.follow(e, now_);
  if (!is_call(e.kind)) return;
  if (!advance()) return;
  if (!e.is_nested) follow_call(e);
}

bool HistoryRecorder::advance() {
  if (!has_begun_) {
    has_begun_ = true;
    first_call_ = now_;
    window_.begin_at(now_, facts_);
  }
  if (!window_.contains(now_)) {
    is_shown_ = false;
    return false;
  }
  if (!is_shown_ && is_part_) {
    columns_.restart(now_);
    tensors_.restart(now_);
  }
  is_shown_ = true;
  last_shown_ = now_;
  columns_.advance(now_);
  tensors_.advance(now_);
  return true;
}

void HistoryRecorder::follow_call(const Event& e) {
  Activity activity;
  if (e.in_flight() || !activity_of(e, activity)) return;
  columns_.count(activity);
  if (activity != Activity::kFailure) return;
  if (failures_.size() == kMostFailures) ++more_failures_;
  else failures_.push_back({now_, e.allocation().bytes, e.stack});
}

LayerSeries::Id HistoryRecorder::range_of(const MemoryChange& change) {
  if (!ranges_.any()) return 0;
  const auto known = paths_.find(change.block.allocated_at);
  if (change.bytes < 0) {
    if (known == paths_.end()) return 0;
    const Ranges::Path path = known->second;
    paths_.erase(known);
    return path;
  }
  if (known != paths_.end()) return known->second; // it grew
  const Ranges::Path path = ranges_.here();
  if (path != 0) paths_[change.block.allocated_at] = path;
  return path;
}

LayerSeries::Id HistoryRecorder::library_of(StackId stack) {
  if (stack.value >= stack_libraries_.size()) stack_libraries_.resize(stack.value + std::size_t{1});
  LayerSeries::Id& known = stack_libraries_[stack.value];
  if (known != 0) return known - 1;
  const std::string name = library_name(facts_.caller(stack));
  const auto at = std::ranges::find(libraries_, name);
  known = static_cast<LayerSeries::Id>(at - libraries_.begin()) + 1;
  if (at == libraries_.end()) libraries_.push_back(name);
  return known - 1;
}

void HistoryRecorder::on_change(const MemoryChange& change) {
  const StackId stack = change.block.allocated;
  const LayerSeries::Id range = range_of(change);
  if (!is_shown_ && last_shown_ != 0) return; // behind the window
  columns_.change({stack.value, kind_layer(change), range, library_of(stack)}, change.bytes,
                  change.live_bytes);
  if (is_shown_) peak_.add(now_, change.live_bytes);
}

void HistoryRecorder::on_tensor(const MemoryChange& change) {
  if (!has_begun_ || (!is_shown_ && last_shown_ != 0)) return;
  tensors_.change({change.block.allocated.value}, change.bytes, change.live_bytes);
}

// Those that are open inside the window, as far as they are.
void HistoryRecorder::add_ranges(MemoryHistory& history) {
  history.ranges = lanes_.take(now_);
  history.more_ranges = lanes_.left_out();
  std::ranges::move(phases_.take(), std::back_inserter(history.ranges));
  const std::uint64_t begin = columns_.begin(), end = is_part_ ? last_shown_ : now_;
  if (is_part_) {
    std::erase_if(history.ranges, [begin, end](const MemoryHistory::Range& range) {
      return range.end < begin || range.begin > end;
    });
  }
  for (MemoryHistory::Range& range : history.ranges) {
    range.begin = std::max(range.begin, begin) - begin;
    range.end = std::max(std::min(range.end, end), begin) - begin;
  }
}

MemoryHistory HistoryRecorder::finish(std::span<const StackUse> uses, const Heap& heap) {
  const MemoryUse& use = heap.use();
  if (last_shown_ == 0 && is_part_) columns_.restart(now_); // no call is inside the window
  columns_.close();
  tensors_.close();
  columns_.coarsen_to(tensors_.width());
  tensors_.coarsen_to(columns_.width());
  MemoryHistory history;
  history.is_part = is_part_;
  history.nanoseconds_per_unit = facts_.nanoseconds(1);
  history.column_width = columns_.width();
  history.columns = columns_.columns();
  history.sets = layer_sets(columns_, {ranges_, libraries_}, size_.layers);
  if (use.tensors().any() && columns_.begin() == tensors_.begin())
    history.sets.push_back(tensor_layers(tensors_, size_.layers));
  const std::uint64_t begin = columns_.begin();
  const auto since_begin = [begin](std::uint64_t time) { return time - std::min(time, begin); };
  history.peak_time = since_begin(peak_.peak_time());
  history.around_peak = peak_.window();
  for (MemoryHistory::Sample& sample : history.around_peak) sample.time = since_begin(sample.time);
  history.failures = std::move(failures_);
  for (MemoryHistory::Failure& failure : history.failures) failure.time = since_begin(failure.time);
  history.more_failures = more_failures_;
  history.begin = begin - std::min(begin, first_call_);
  add_ranges(history);
  choose_stacks({uses, use, facts_}, size_.stacks, history);
  if (is_shown_) history.cache_maps = maps_.take(heap, now_);
  for (CacheMap& map : history.cache_maps) map.time = since_begin(map.time);
  return history;
}

} // namespace gmt
