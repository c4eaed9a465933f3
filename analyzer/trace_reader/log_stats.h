// SPDX-License-Identifier: Apache-2.0
// What reading a log cost in records.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gmt {

struct LogStats {
  std::uint64_t records = 0;           // good ones, stacks included
  std::uint64_t torn = 0;              // slots reserved and never finished
  std::uint64_t damaged = 0;           // records whose bytes make no sense
  std::uint64_t unknown_kinds = 0;     // records of a later minor
  std::array<std::uint64_t, 8> lost{}; // by trace::LossCause
  // In which order the first allocation, and the first release or life of an object, were lost; 0:
  // none was, unless what was lost is not known
  std::uint64_t allocations_lost_from = 0, releases_lost_from = 0;
  bool lost_unknown = false;    // records of any kind: before 1.6
  std::string skipped;          // why nothing of the file was read; empty if it was
  bool numbers_threads = false; // by kThread records: since 1.5
};

} // namespace gmt
