// SPDX-License-Identifier: Apache-2.0
// The address that one thread computed for an access that lies behind it, from the registers that a
// core dump has of it. Nothing where these may have changed since: the access itself or an
// instruction between it and where the thread stands wrote one of them, or the way there was not
// straight.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/core_dump/dump_modules.h"
#include "analyzer/core_dump/dump_tables.h"

namespace gmt {

struct LaneRegisters {
  const DumpTables& tables;
  const DumpTables::Section* general = nullptr;
  const DumpTables::Section* uniform = nullptr;
  const DumpTables::Section* predicates = nullptr;
};

// `ahead`: where the thread stands, in bytes behind the access, in the same function.
std::optional<std::uint64_t> lane_address(const DumpCode& access, std::int64_t ahead,
                                          const LaneRegisters& registers);

} // namespace gmt
