// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/timeline/timeline_recorder.h"

#include <algorithm>
#include <tuple>

#include "analyzer/heap/memory_kinds.h"

namespace gmt {
namespace {

using Kind = EventKind;
using Slice = Timeline::Slice;

// Importance, and what makes the order one of its own.
auto rank_of(const Slice& s) {
  return std::tuple(s.result != 0, s.ticks, s.begin, s.thread, s.call);
}

// What the call is about, for a person who looks at it.
std::uint64_t bytes_of(const Event& e) {
  switch (e.kind) {
  case Kind::kAlloc: return e.allocation().bytes;
  case Kind::kCopy: return e.copy().bytes;
  default: return 0;
  }
}

std::uint32_t number_in(std::unordered_map<std::string, std::uint32_t>& numbers,
                        std::vector<std::string>& names, std::string_view name) {
  const auto [at, is_new] =
    numbers.try_emplace(std::string(name), static_cast<std::uint32_t>(names.size()));
  if (is_new) names.emplace_back(name);
  return at->second;
}

} // namespace

bool is_less_important(const Slice& a, const Slice& b) { return rank_of(a) < rank_of(b); }

void TimelineRecorder::begin(const Event& e) {
  has_begun_ = true;
  timeline_.begin = now_;
  timeline_.begin_realtime = facts_.realtime(e);
  window_.begin_at(now_, facts_);
}

void TimelineRecorder::follow(const Event& e) {
  now_ = std::max(now_, e.time);
  if (e.kind == Kind::kRange) lanes_.on_range(e, ranges_, now_);
  if (!is_call(e.kind)) return;
  if (!has_begun_) begin(e);
  if (e.is_nested || !window_.contains(e.time)) return;
  add_slice(e);
}

std::uint16_t TimelineRecorder::number_of_call(const Event& e) {
  return static_cast<std::uint16_t>(number_in(calls_, timeline_.calls, facts_.call_name(e)));
}

std::uint32_t TimelineRecorder::number_of_kernel(const Event& e) {
  if (e.kind != Kind::kLaunch) return Timeline::kNoKernel;
  const std::string_view name = facts_.handle_name(e.launch().function);
  return name.empty() ? Timeline::kNoKernel : number_in(kernels_, timeline_.kernels, name);
}

void TimelineRecorder::add_slice(const Event& e) {
  threads_.insert(e.thread);
  timeline_.slices.push_back({.begin = e.time - std::min(e.time, timeline_.begin),
                              .ticks = e.ticks,
                              .bytes = bytes_of(e),
                              .thread = e.thread,
                              .kernel = number_of_kernel(e),
                              .call = number_of_call(e),
                              .result = e.result,
                              .is_runtime = e.from_runtime});
  if (timeline_.slices.size() >= size_.slices + size_.slices / 2) keep_important(size_.slices);
}

void TimelineRecorder::keep_important(std::size_t most) {
  std::vector<Slice>& slices = timeline_.slices;
  if (slices.size() <= most) return;
  const auto middle = slices.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(slices.begin(), middle, slices.end(),
                   [](const Slice& a, const Slice& b) { return is_less_important(b, a); });
  timeline_.left_out_slices += slices.size() - most;
  slices.resize(most);
}

void TimelineRecorder::on_change(const MemoryChange& change) {
  const Memory memory{change.device, change.block.memory_kind};
  const auto [at, is_new] = memory_.try_emplace(memory);
  Sum& sum = at->second;
  if (is_new) sum.series = memory_.size() - 1;
  sum.bytes += static_cast<std::uint64_t>(change.bytes); // modulo 2^64: it may be negative
  if (window_.is_before(now_)) sum.at_begin = sum.bytes;
  else if (window_.contains(now_)) sums_.set(sum.series, now_, sum.bytes);
}

std::vector<Timeline::Counter> TimelineRecorder::counters() const {
  std::vector<Timeline::Counter> counters;
  const std::uint64_t first = std::max(window_.first(), timeline_.begin);
  for (const auto& [memory, sum] : memory_) {
    Timeline::Counter counter{memory.first, std::string(memory_noun(memory.second)), {}};
    counter.samples = sums_.samples(sum.series);
    if (counter.samples.empty() || counter.samples.front().time > first)
      counter.samples.insert(counter.samples.begin(), {first, sum.at_begin});
    for (Timeline::Sample& sample : counter.samples)
      sample.time -= std::min(sample.time, timeline_.begin);
    counters.push_back(std::move(counter));
  }
  return counters;
}

Timeline TimelineRecorder::finish() {
  keep_important(size_.slices);
  std::ranges::sort(timeline_.slices, {},
                    [](const Slice& s) { return std::tuple(s.begin, s.thread, ~s.ticks, s.call); });
  timeline_.nanoseconds_per_unit = facts_.nanoseconds(1);
  timeline_.counters = counters();
  timeline_.sample_width = sums_.width();
  timeline_.ranges = lanes_.take(now_);
  timeline_.left_out_ranges = lanes_.left_out();
  std::erase_if(timeline_.ranges, [this](const MemoryHistory::Range& range) {
    return window_.is_before(range.end) ||
           (!window_.contains(range.begin) && !window_.is_before(range.begin));
  });
  for (MemoryHistory::Range& range : timeline_.ranges) {
    threads_.insert(range.thread);
    range.begin -= std::min(range.begin, timeline_.begin);
    range.end -= std::min(range.end, timeline_.begin);
  }
  threads_.erase(RangeLanes::kProcess);
  for (const std::uint32_t thread : threads_)
    timeline_.threads.push_back({thread, std::string(ranges_.thread_name(thread))});
  timeline_.end = now_ - std::min(now_, timeline_.begin);
  return std::move(timeline_);
}

} // namespace gmt
