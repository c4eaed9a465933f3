// SPDX-License-Identifier: Apache-2.0
// Function, file and line of an address from one file's DWARF, with inlined functions as frames of
// their own. Units are found by their own ranges (not every compiler writes .debug_aranges); only
// the units that hold a wanted address are read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

#include "analyzer/symbols/symbols.h"

namespace gmt {

// Of nested scopes: damaged files must not recurse without end
inline constexpr unsigned kDeepestScope = 256;

// A function's name, demangled if it is known as linked; empty if there is none.
std::string function_name(Dwarf_Die die);

class DwarfLookup {
public:
  explicit DwarfLookup(Elf* elf); // borrowed; must outlive this; null: nothing is known
  ~DwarfLookup();
  DwarfLookup(const DwarfLookup&) = delete;
  DwarfLookup& operator=(const DwarfLookup&) = delete;

  // Innermost first; empty if no unit covers the address. The last frame's function may be a plain
  // name without scope and parameters (functions of internal linkage): the symbol table knows
  // better.
  std::vector<SourceFrame> frames(std::uint64_t address);

  // The function that has the code at an address; false if none is known.
  bool function_at(std::uint64_t address, Dwarf_Die& function);
  struct Range {
    std::uint64_t low, high; // high exclusive
    Dwarf_Die die;
  };
  using Ranges = std::vector<Range>;
  // All functions with code in the unit that covers an address, each once for each range of its
  // code; nullptr without a unit. One unit's functions stay where they are.
  const Ranges* functions_beside(std::uint64_t address);

  // Whether lines are missing because their tables are too large.
  bool left_out_lines() const { return left_out_lines_; }

private:
  bool may_read_lines(Dwarf_Die& unit);
  void index_units();
  Ranges& functions_of(const Dwarf_Die& unit);
  static Dwarf_Die functions_root(const Dwarf_Die& unit);
  static void add_ranges(Ranges& ranges, Dwarf_Die& die);
  static void add_functions(Ranges& ranges, Dwarf_Die& parent, unsigned depth);
  static void sort(Ranges& ranges);
  static const Range* find(const Ranges& ranges, std::uint64_t address);

  Dwarf* dwarf_;
  std::span<const char> line_tables_;      // .debug_line
  std::map<std::uint64_t, bool> may_read_; // by the table's offset
  std::uint64_t line_bytes_ = 0;           // of those that were read
  bool left_out_lines_ = false;
  Ranges units_;
  std::map<const void*, Ranges> functions_; // by the unit's first byte
};

} // namespace gmt
