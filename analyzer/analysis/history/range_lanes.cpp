// SPDX-License-Identifier: Apache-2.0
// Programs may pop more than they push, and logs may have lost records: what does not fit is left
// out.

#include "analyzer/analysis/history/range_lanes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/analysis/history/longest_ranges.h"

namespace gmt {

using trace::RangeOp;

std::uint64_t keep_longest_ranges(std::vector<MemoryHistory::Range>& ranges, std::size_t most) {
  if (ranges.size() <= most) return 0;
  const std::uint64_t gone = ranges.size() - most;
  const auto length = [](const MemoryHistory::Range& range) { return range.end - range.begin; };
  std::ranges::nth_element(ranges, ranges.begin() + static_cast<std::ptrdiff_t>(most),
                           std::ranges::greater{}, length);
  ranges.resize(most);
  return gone;
}

void RangeLanes::on_range(const Event& e, const Ranges& ranges, std::uint64_t now) {
  const event::Range& view = e.range();
  switch (view.op) {
  case RangeOp::kPush: {
    std::vector<Range>& open = open_[e.thread];
    open.push_back(
      {ranges.name_of(e), now, now, e.thread, static_cast<std::uint32_t>(open.size())});
    break;
  }
  case RangeOp::kPop: end_above(open_[e.thread], view.open_ranges(), now); break;
  case RangeOp::kThread: end_above(open_[e.thread], 0, now); break;
  case RangeOp::kStart:
    if (started_.size() < most_)
      started_.push_back({view.id, {ranges.name_of(e), now, now, kProcess, 0}});
    break;
  case RangeOp::kEnd: {
    const auto at = std::ranges::find(started_, view.id, &Started::id);
    if (at == started_.end()) break;
    end(std::move(at->range), now);
    started_.erase(at);
    break;
  }
  default: break;
  }
}

void RangeLanes::end(Range range, std::uint64_t now) {
  range.end = now;
  ended_.push_back(std::move(range));
  if (ended_.size() >= 4 * most_) keep_longest(2 * most_);
}

void RangeLanes::end_above(std::vector<Range>& open, std::size_t stay, std::uint64_t now) {
  while (open.size() > stay) {
    end(std::move(open.back()), now);
    open.pop_back();
  }
}

void RangeLanes::keep_longest(std::size_t most) { left_out_ += keep_longest_ranges(ended_, most); }

std::vector<MemoryHistory::Range> RangeLanes::take(std::uint64_t now) {
  for (auto& [thread, open] : open_) {
    for (Range& range : open) range.is_open = true;
    end_above(open, 0, now);
  }
  for (Started& started : started_) {
    started.range.is_open = true;
    end(std::move(started.range), now);
  }
  started_.clear();
  keep_longest(most_);
  std::ranges::sort(ended_, [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.thread, a.depth, a.name) <
           std::tie(b.begin, b.thread, b.depth, b.name);
  });
  return std::move(ended_);
}

} // namespace gmt
