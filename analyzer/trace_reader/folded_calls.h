// SPDX-License-Identifier: Apache-2.0
// What a note of the name `unrecordedCalls` says: how many calls are not in the trace, because they
// were outside of --record-range, or were dropped when the trace was folded.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gmt {

struct FoldedCalls {
  std::uint64_t records = 0;
  std::uint64_t allocations = 0, allocated_bytes = 0; // each with its release
  std::uint64_t launches = 0, copies = 0;
  std::uint64_t others = 0; // of the records: no calls, but what belonged to these
  bool is_folded = true;    // else out of the range: then `records` alone is known

  void add(const FoldedCalls& more) {
    records += more.records;
    allocations += more.allocations;
    allocated_bytes += more.allocated_bytes;
    launches += more.launches;
    copies += more.copies;
    others += more.others;
  }

  // The note's words behind the first, which is `records`.
  std::uint64_t second() const {
    return std::min(allocations, kMost) | std::min(launches, kMost) << 32;
  }
  std::uint64_t third() const { return allocated_bytes; }
  std::uint64_t fourth() const {
    return kFolded | std::min(others, kMostOthers) << 32 | std::min(copies, kMost);
  }
  static FoldedCalls of(std::uint64_t first, std::uint64_t second, std::uint64_t third,
                        std::uint64_t fourth) {
    return {first,
            second & kMost,
            third,
            second >> 32,
            fourth & kMost,
            fourth >> 32 & kMostOthers,
            (fourth & kFolded) != 0};
  }

private:
  static constexpr std::uint64_t kMost = 0xffffffff, kMostOthers = 0x7fffffff;
  static constexpr std::uint64_t kFolded = std::uint64_t{1} << 63;
};

} // namespace gmt
