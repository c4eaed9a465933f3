// SPDX-License-Identifier: Apache-2.0
// Sums over time, a series for each, in bounded room. Time is cut into buckets; of each bucket the
// highest sum and the last one are kept, so no peak is lost. When all series together have too many
// buckets, each two become one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/analysis/history/memory_history.h"

namespace gmt {

class CounterSeries {
public:
  explicit CounterSeries(std::size_t most) : most_(std::max<std::size_t>(most, 16)) {}

  // The sum from this time on. Times never fall.
  void set(std::size_t series, std::uint64_t time, std::uint64_t bytes) {
    if (series >= all_.size()) all_.resize(series + 1);
    std::vector<Bucket>& buckets = all_[series];
    const Bucket now{{time, bytes}, {time, bytes}};
    if (!buckets.empty() && is_same(buckets.back(), now)) {
      join(buckets.back(), now);
      return;
    }
    buckets.push_back(now);
    if (++count_ > most_) coarsen();
  }
  std::vector<MemoryHistory::Sample> samples(std::size_t series) const {
    std::vector<MemoryHistory::Sample> result;
    if (series >= all_.size()) return result;
    for (const Bucket& bucket : all_[series]) {
      result.push_back(bucket.high);
      if (bucket.last.time != bucket.high.time) result.push_back(bucket.last);
    }
    return result;
  }
  std::uint64_t width() const { return std::uint64_t{1} << shift_; }

private:
  struct Bucket {
    MemoryHistory::Sample high, last;
  };

  bool is_same(const Bucket& a, const Bucket& b) const {
    return a.last.time >> shift_ == b.high.time >> shift_;
  }
  static void join(Bucket& bucket, const Bucket& later) {
    if (later.high.bytes >= bucket.high.bytes) bucket.high = later.high;
    bucket.last = later.last;
  }
  void coarsen() {
    while (count_ > most_ / 2 && shift_ < 63) {
      ++shift_;
      count_ = 0;
      for (std::vector<Bucket>& buckets : all_) {
        std::size_t kept = 0;
        for (const Bucket& bucket : buckets) {
          if (kept != 0 && is_same(buckets[kept - 1], bucket)) join(buckets[kept - 1], bucket);
          else buckets[kept++] = bucket;
        }
        buckets.resize(kept);
        count_ += kept;
      }
    }
  }

  const std::size_t most_;
  std::vector<std::vector<Bucket>> all_;
  std::size_t count_ = 0;
  unsigned shift_ = 0;
};

} // namespace gmt
