// SPDX-License-Identifier: Apache-2.0
// Since launches of one executable graph follow each other, those that have ended are always the
// first ones.

#include "analyzer/device_heap/graph_launches.h"

#include <algorithm>

namespace gmt {

void GraphLaunches::add(const GraphLaunch& launch) {
  ++count_;
  if (kept_.size() < kMostKept) kept_.push_back(launch);
}

void GraphLaunches::wait_for_stream(std::uint64_t stream, std::uint64_t until) {
  for (std::size_t i = kept_.size(); i > ended_; --i) {
    if (kept_[i - 1].stream == stream) return end(i, until);
  }
}

void GraphLaunches::end(std::size_t stop, std::uint64_t until) {
  for (; ended_ < stop; ++ended_) kept_[ended_].ended = until;
}

GraphLaunches::Range GraphLaunches::at(std::uint64_t host_time) const {
  if (count_ == 0) return {};
  const std::uint64_t earliest = host_time - std::min(host_time, kDeviceClockError);
  const std::uint64_t latest = host_time + kDeviceClockError;
  if (kept_.front().begun > latest) return {1, count_}; // the clocks say nothing
  std::uint64_t first = 1, last = 1;
  while (last < kept_.size() && kept_[last].begun <= latest) ++last;
  if (last == kept_.size()) last = count_;
  while (first <= ended_ && first < last && kept_[first - 1].ended < earliest) ++first;
  return {first, last};
}

const GraphLaunch& GraphLaunches::launch(std::uint64_t number) const {
  return kept_[std::min<std::uint64_t>(number, kept_.size()) - 1];
}

bool GraphLaunches::is_one_site(Range range) const {
  for (std::uint64_t n = range.first; n < std::min<std::uint64_t>(range.last, kept_.size()); ++n) {
    if (launch(n).stack != launch(n + 1).stack) return false;
  }
  return true;
}

} // namespace gmt
