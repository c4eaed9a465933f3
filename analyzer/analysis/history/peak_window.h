// SPDX-License-Identifier: Apache-2.0
// Every change of a sum shortly before and behind its peak, which is known only afterwards. The
// newest changes are kept in a ring; it is copied once a peak has stood for half of it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/analysis/history/memory_history.h"

namespace gmt {

class PeakWindow {
public:
  static constexpr std::size_t kReach = 1024; // changes on either side

  void add(std::uint64_t time, std::uint64_t bytes) {
    if (ring_.size() < 2 * kReach) ring_.push_back({time, bytes});
    else ring_[count_ % (2 * kReach)] = {time, bytes};
    ++count_;
    if (bytes > peak_bytes_) {
      peak_bytes_ = bytes;
      peak_time_ = time;
      peak_count_ = count_;
    } else if (count_ - peak_count_ == kReach) {
      window_ = in_order();
    }
  }
  // By their time. Of a peak that is younger than the ring is long, with what there is.
  std::vector<MemoryHistory::Sample> window() const {
    return count_ - peak_count_ < kReach ? in_order() : window_;
  }
  std::uint64_t peak_time() const { return peak_time_; }

private:
  std::vector<MemoryHistory::Sample> in_order() const {
    std::vector<MemoryHistory::Sample> samples;
    const std::uint64_t first = count_ - ring_.size();
    for (std::uint64_t i = first; i < count_; ++i) samples.push_back(ring_[i % (2 * kReach)]);
    return samples;
  }

  std::vector<MemoryHistory::Sample> ring_, window_;
  std::uint64_t count_ = 0, peak_count_ = 0, peak_bytes_ = 0, peak_time_ = 0;
};

} // namespace gmt
