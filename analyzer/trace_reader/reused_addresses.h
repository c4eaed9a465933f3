// SPDX-License-Identifier: Apache-2.0
// Addresses that several object files had in turn, as a plug-in and another one that was loaded
// behind it. Those that are not the last ones there get addresses of their own, which no machine
// has, so that an address of a call stack is one function wherever it is looked up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/trace_reader/object_files.h"

namespace gmt {

void move_reused(std::vector<Module>& modules);

// As the process had it.
constexpr std::uint64_t machine_address(std::uint64_t address) {
  return address & 0xffff'ffff'ffff;
}

class ReusedAddresses {
public:
  explicit ReusedAddresses(std::span<const Module> moved); // some of them
  bool any() const { return !modules_.empty(); }
  // Of a return address in the call stack of a record with that order: a stack is captured after
  // its object files were noted, and before the record gets its order.
  std::uint64_t own_address(std::uint64_t address, std::uint64_t order) const;
  bool may_move(std::uint64_t address) const;

private:
  struct Range {
    std::uint64_t start, end, loaded, unloaded, shift;
    bool holds(std::uint64_t address) const { return address > start && address <= end; }
  };
  std::vector<Range> modules_;
};

} // namespace gmt
