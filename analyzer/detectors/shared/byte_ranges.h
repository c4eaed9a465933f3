// SPDX-License-Identifier: Apache-2.0
// Which bytes of a block copies and sets have reached, as ranges. At most kMost are kept: a block
// that is reached in more separate pieces is being filled piece by piece and counts as reached
// everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt {

class ByteRanges {
public:
  static constexpr std::size_t kMost = 64;

  void add(std::uint64_t begin, std::uint64_t end) {
    const auto first =
      std::ranges::find_if(ranges_, [&](const Range& range) { return range.end >= begin; });
    auto last = first;
    for (; last != ranges_.end() && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    ranges_.insert(ranges_.erase(first, last), {begin, end});
    if (ranges_.size() > kMost) ranges_ = {{0, UINT64_MAX}};
  }

  // How many bytes of [begin, end) lie in no range.
  std::uint64_t missing(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t missing = end - begin;
    for (const Range& range : ranges_) {
      const std::uint64_t from = std::max(begin, range.begin), to = std::min(end, range.end);
      if (from < to) missing -= to - from;
    }
    return missing;
  }

private:
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> ranges_; // sorted, apart
};

} // namespace gmt
