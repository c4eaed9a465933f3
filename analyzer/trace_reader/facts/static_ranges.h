// SPDX-License-Identifier: Apache-2.0
// Where the object files of a process have their variables, as the trace's `modules` file says
// (since 1.5).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/trace_reader/object_files.h"

namespace gmt {

class StaticRanges {
public:
  explicit StaticRanges(std::span<const Module> modules);

  // The object file whose variables lie at the address at that order; null if none does.
  const Module* find(std::uint64_t address, std::uint64_t order) const;

private:
  struct Range {
    std::uint64_t begin, end;
    std::size_t module;      // in modules_
    std::uint64_t reach = 0; // the largest end up to this one
  };

  std::span<const Module> modules_;
  std::vector<Range> ranges_; // by begin; an address may be several modules', one after the other
  // Between two of them, where the last address was
  mutable std::uint64_t gap_begin_ = 0, gap_end_ = 0;
};

} // namespace gmt
