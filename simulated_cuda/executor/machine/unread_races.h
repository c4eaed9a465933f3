// SPDX-License-Identifier: Apache-2.0
// Races of two plain stores to shared memory. They are said when the bytes are read: programs let
// all threads that have nothing to store write to one spare element, as CUB does where it scatters
// some of its items, and no value of it is ever used. Until then the table's entry says kUnread for
// the last store, so that whatever meets it comes here.
#pragma once

#include "simulated_cuda/executor/machine/report_sink.h"

#include <cstdint>
#include <unordered_map>

namespace gmt::executor {

class UnreadRaces {
public:
  // The second of the two stores has been done to a granule of its own block.
  static void keep(Block& block, std::uint64_t granule, const AccessFacts& facts,
                   const OtherThread& other);
  // Before another access of the granule: the entry is that of the last store again.
  static void look(Block& block, std::uint64_t granule, bool reads, ReportSink& reports);
  static void forget(Block& block); // its memory is another block's now

private:
  struct Race {
    std::uint32_t store = 0; // of the entry
    AccessFacts facts;
    OtherThread other;
  };
  std::unordered_map<std::uint64_t, Race> races_; // by granule
};

} // namespace gmt::executor
