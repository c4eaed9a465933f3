// SPDX-License-Identifier: Apache-2.0
// NVTX ranges with their begin and end, of each thread and of the process. Of very many ranges the
// longest are kept.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis/history/memory_history.h"
#include "analyzer/heap/nvtx_ranges.h"

namespace gmt {

class RangeLanes {
public:
  static constexpr std::size_t kMost = 2000; // that are shown, unless more are asked for
  static constexpr std::uint32_t kProcess = ~std::uint32_t{0}; // thread of a range that has none

  explicit RangeLanes(std::size_t most = kMost) : most_(most) {}

  void on_range(const Event& e, const Ranges& ranges, std::uint64_t now);
  // By begin; those that are open end now.
  std::vector<MemoryHistory::Range> take(std::uint64_t now);
  std::uint64_t left_out() const { return left_out_; } // once taken

private:
  using Range = MemoryHistory::Range;
  struct Started {
    std::uint64_t id = 0;
    Range range;
  };

  void end(Range range, std::uint64_t now);
  void end_above(std::vector<Range>& open, std::size_t stay, std::uint64_t now);
  void keep_longest(std::size_t most);

  const std::size_t most_;
  std::unordered_map<std::uint32_t, std::vector<Range>> open_; // by thread, outermost first
  std::vector<Started> started_;
  std::vector<Range> ended_;
  std::uint64_t left_out_ = 0;
};

} // namespace gmt
