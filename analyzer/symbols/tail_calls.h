// SPDX-License-Identifier: Apache-2.0
// Which calls lead to a function that may be gone from the stack. A function that ends in a call to
// another one jumps there (a tail call): its own frame is gone, and the stack shows the other one
// right above the caller. DWARF's call sites say which function was called and which ones make tail
// calls. What cannot be known is left out: calls through pointers, functions of other files, and
// the functions that nvcc puts instead of a kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "analyzer/model/finding.h"

namespace gmt {

class DwarfLookup;
class ElfFile;

class TailCalls {
public:
  explicit TailCalls(DwarfLookup& dwarf) : dwarf_(dwarf) {} // borrowed; must outlive this

  // First all return addresses, then once the file's own symbol tables, for functions of other
  // units.
  void want(std::uint64_t return_address);
  void resolve(const ElfFile& tables);

  // What is called right before that address; nullptr unless it makes tail calls.
  std::shared_ptr<const Callee> at(std::uint64_t return_address) const;

private:
  struct Called {
    std::string linked_name;            // empty if only its own unit can know it
    std::vector<Dwarf_Die> definitions; // with code, clones included
    std::shared_ptr<const Callee> callee;
  };

  // The definitions with code of one declaration, in the unit that covers an address.
  std::vector<Dwarf_Die> definitions_beside(std::uint64_t address, const void* declaration);

  DwarfLookup& dwarf_;
  std::map<const void*, std::unordered_map<const void*, std::vector<Dwarf_Die>>>
    units_;                                           // by declaration
  std::map<const void*, Called> called_;              // by the first byte of the declaration
  std::map<std::uint64_t, const Called*> by_address_; // return addresses
};

} // namespace gmt
