// SPDX-License-Identifier: Apache-2.0
// Threads with their addresses, joined to runs of evenly spaced ones: a warp's 32 addresses are
// most often one run, and a block's, too. Which block and thread are meant where there is only one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/core_dump/core_dump.h"
#include "analyzer/core_dump/lane_address.h"

namespace gmt {

class LaneRuns {
public:
  void see(const Extents& block, const Extents& thread);
  // `extents` of a block; 0 where unknown.
  void add(const Extents& block, const Extents& thread, const Extents& extents,
           const LaneAddress& address);
  void move_to(DumpFault& fault); // what was added; closes this

private:
  struct Entry {
    Extents block{};
    std::uint64_t thread = 0;
    std::uint64_t address = 0;
  };
  using Entries = std::vector<Entry>;
  // At most kMostRuns
  std::vector<DumpLanes> joined(Entries& entries);

  Entries whole_, low_halves_;
  std::optional<Extents> block_, thread_;
  bool several_blocks_ = false, several_threads_ = false, any_ = false, full_ = false;
};

} // namespace gmt
