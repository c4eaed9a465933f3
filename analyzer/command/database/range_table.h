// SPDX-License-Identifier: Apache-2.0
// The table of NVTX ranges: a row for each, written when it ends. Memory grows with the ranges that
// are open, not with their names. What a program pops without a push, or ends without a start, has
// no row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/command/database/sql_file.h"
#include "analyzer/heap/nvtx_ranges.h"

namespace gmt {

class RangeTable {
public:
  // Nanoseconds from the first call of the process to a time in ticks; nothing if not known.
  using Clock = std::function<std::optional<std::uint64_t>(std::uint64_t ticks)>;

  // `last` is the number of the last row, over all processes.
  RangeTable(SqlFile& file, std::uint64_t process, std::uint64_t& last, Clock clock)
      : rows_(file, "range", 9), process_(process), last_(last), clock_(std::move(clock)) {}

  void on_range(const Event& e, const Ranges& ranges); // a kRange record
  void finish(const Ranges& ranges);                   // those that are still open, once

private:
  void end_above(std::uint32_t thread, std::size_t stay, const Event* end, const Ranges& ranges);
  void add(std::optional<std::uint64_t> thread, std::size_t depth, const Event& begin,
           const Event* end, const Ranges& ranges);

  SqlInsert rows_;
  const std::uint64_t process_;
  std::uint64_t& last_;
  const Clock clock_;
  // What began them
  std::unordered_map<std::uint32_t, std::vector<Event>> open_; // by thread, outermost first
  std::unordered_map<std::uint64_t, Event> started_;           // of the process, by id
};

} // namespace gmt
