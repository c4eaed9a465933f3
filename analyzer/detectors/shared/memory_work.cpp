// SPDX-License-Identifier: Apache-2.0
// Which bytes meet: see memory_work.h.

#include "analyzer/detectors/shared/memory_work.h"

#include "analyzer/detectors/shared/rows_overlap.h"

namespace gmt {
namespace {

// Kernels raise flags with stores of so many bytes, and seldom mind who does it.
constexpr std::uint64_t kBytesOfFlag = 8;
constexpr std::uint64_t kNumberedNodes = 64;         // of a graph: event::Execution::before
constexpr std::uint64_t kMostRowsCompared = 1 << 22; // of two pieces of work in all

// One way in which work uses rows of a block.
struct UseOfRows {
  Rows rows;
  bool writes = false, is_strong = false;
};

UseOfRows use_of_rows(const event::UsedRows& used) {
  return {{.address = used.address,
           .pitch = used.pitch,
           .width = used.width,
           .height = used.count,
           .slice = used.count},
          used.is_written,
          used.is_strong};
}

std::vector<UseOfRows> uses_of(const MemoryWork& work) {
  if (!work.is_exact()) return {{work.rows, work.writes, false}};
  std::vector<UseOfRows> uses;
  for (const event::UsedRows& used : work.used) uses.push_back(use_of_rows(used));
  return uses;
}

std::uint64_t bytes_of(const UseOfRows& use) { return use.rows.width * use.rows.count(); }

bool may_wait(const MemoryWork& work) { return work.launch != nullptr && work.launch->may_wait; }

} // namespace

// What is worst of all pairs of uses.
Meeting meeting_of(const MemoryWork& earlier, const MemoryWork& later) {
  Meeting meeting;
  const std::vector<UseOfRows> of_earlier = uses_of(earlier), of_later = uses_of(later);
  const bool both_kernels = earlier.is_kernel() && later.is_kernel();
  const bool both_may_wait = may_wait(earlier) && may_wait(later);
  std::uint64_t left = kMostRowsCompared;
  for (const UseOfRows& a : of_earlier) {
    for (const UseOfRows& b : of_later) {
      if (!a.writes && !b.writes) continue;
      const std::uint64_t rows = rows_to_compare(a.rows, b.rows);
      if (rows > left) {
        meeting.is_compared = false;
        continue;
      }
      left -= rows;
      if (!overlap(a.rows, b.rows)) continue;
      const bool any_strong = a.is_strong || b.is_strong;
      meeting.is_talk |= any_strong && (both_may_wait || !both_kernels);
      if (a.is_strong && b.is_strong) continue; // they do not race with each other
      const bool is_flag = both_kernels && a.writes && b.writes && bytes_of(a) <= kBytesOfFlag &&
                           bytes_of(b) <= kBytesOfFlag;
      const bool is_poll = any_strong && (both_may_wait || !both_kernels);
      const bool is_certain = !is_flag && !is_poll;
      if (meeting.is_race && (meeting.is_certain || !is_certain)) continue;
      meeting.is_race = true;
      meeting.is_certain = is_certain;
      meeting.earlier_writes = a.writes;
      meeting.later_writes = b.writes;
      meeting.address = b.rows.address;
    }
  }
  return meeting;
}

bool are_unordered(const MemoryWork& one, const MemoryWork& other, const StreamClock& clock) {
  const bool is_one_graph =
    one.is_of_graph && other.is_of_graph && one.work.order == other.work.order;
  if (is_one_graph) {
    if (one.index >= kNumberedNodes || other.index >= kNumberedNodes) return false;
    return (one.before >> other.index & 1) == 0 && (other.before >> one.index & 1) == 0 &&
           one.index != other.index;
  }
  if (one.work.stream == other.work.stream) return false;
  const MemoryWork& earlier = one.work.order <= other.work.order ? one : other;
  const MemoryWork& later = one.work.order <= other.work.order ? other : one;
  if (later.past != nullptr) return !StreamClock::is_ordered(earlier.work, *later.past);
  return !clock.is_ordered(earlier.work, later.work);
}

} // namespace gmt
