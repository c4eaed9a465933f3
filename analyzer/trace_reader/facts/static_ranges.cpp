// SPDX-License-Identifier: Apache-2.0

#include "analyzer/trace_reader/facts/static_ranges.h"

#include <algorithm>
#include <iterator>

namespace gmt {

StaticRanges::StaticRanges(std::span<const Module> modules) : modules_(modules) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    for (const auto& [begin, end] : modules_[i].variables) ranges_.push_back({begin, end, i});
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::uint64_t reach = 0;
  for (Range& range : ranges_) {
    reach = std::max(reach, range.end);
    range.reach = reach;
  }
}

// Arguments of kernels lead to device memory, and so to the same gap, again and again.
const Module* StaticRanges::find(std::uint64_t address, std::uint64_t order) const {
  if (address >= gap_begin_ && address < gap_end_) return nullptr;
  const auto next = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  for (auto at = next; at != ranges_.begin() && (--at)->reach > address;) {
    const Module& module = modules_[at->module];
    if (address < at->end && module.loaded <= order && order < module.unloaded) return &module;
  }
  const std::uint64_t before = next != ranges_.begin() ? std::prev(next)->reach : 0;
  if (before <= address) {
    gap_begin_ = before;
    gap_end_ = next != ranges_.end() ? next->begin : UINT64_MAX;
  }
  return nullptr;
}

} // namespace gmt
