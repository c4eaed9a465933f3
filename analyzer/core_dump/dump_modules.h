// SPDX-License-Identifier: Apache-2.0
// The code that a core dump has: the images of a context's modules, at the addresses that the GPU
// executed. Looks at each address once.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/core_dump/dump_tables.h"
#include "analyzer/device_code/cubin.h"
#include "analyzer/device_code/sass.h"

namespace gmt {

struct DumpCode {
  struct Words {
    std::uint64_t low = 0, high = 0;
  };
  Cubin::Location location;
  unsigned architecture = 0;
  std::optional<Instruction> access;     // what it does to memory
  std::optional<AddressOperand> operand; // how it makes its address
  const Cubin* cubin = nullptr;          // that has it
  // Of an access: where the function's branches go, in bytes behind it and in order, with the
  // function's beginning. Nothing if that of one is not known.
  std::optional<std::vector<std::int64_t>> branch_targets;
  // What a call of __assertfail says, if it is one.
  std::string_view assertion() const;
  // Of the instruction so many bytes behind it, in the same function; zeros where there is none.
  Words words(std::int64_t behind) const;
};

class DumpModules {
public:
  DumpModules(const DumpTables& tables, const DumpTables::Section* modules);

  // Null if the address is in no module.
  const DumpCode* find(std::uint64_t address);

private:
  std::vector<Cubin> cubins_;
  std::map<std::uint64_t, std::optional<DumpCode>> known_; // by address
};

} // namespace gmt
