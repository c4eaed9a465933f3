// SPDX-License-Identifier: Apache-2.0
// Function, file and line of an address from one file's DWARF, with inlined functions as places of their own.
// Used by symbols. Units are found by their own ranges (not every compiler writes .debug_aranges); only the
// units that hold a wanted address are read.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <elfutils/libdw.h>

#include "analyzer/symbols.h"

namespace gmt {

class DwarfLookup {
public:
  explicit DwarfLookup(Elf* elf); // borrowed; must outlive this
  ~DwarfLookup();
  DwarfLookup(const DwarfLookup&) = delete;
  DwarfLookup& operator=(const DwarfLookup&) = delete;

  // Innermost first; empty if no unit covers the address. The last place's function may be a plain name
  // without scope and parameters (functions of internal linkage): the symbol table knows better.
  std::vector<SymbolPlace> places(std::uint64_t address);

private:
  struct Range {
    std::uint64_t low, high; // high exclusive
    Dwarf_Die die;
  };
  using Ranges = std::vector<Range>;

  void index_units();
  Ranges& functions_of(const Dwarf_Die& unit);
  static void add_ranges(Ranges& ranges, Dwarf_Die& die);
  static void add_functions(Ranges& ranges, Dwarf_Die& parent, unsigned depth);
  static void sort(Ranges& ranges);
  static const Range* find(const Ranges& ranges, std::uint64_t address);

  Dwarf* dwarf_;
  Ranges units_;
  std::map<const void*, Ranges> functions_; // by the unit's first byte
};

} // namespace gmt
