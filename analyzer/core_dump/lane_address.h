// SPDX-License-Identifier: Apache-2.0
// The address that one thread computed for an access that lies behind it, from the registers that a
// core dump has of it. Nothing where these may have changed since: the access itself or an
// instruction between it and where the thread stands wrote one of them, or the way there was not
// straight. Loads often overwrite one of the two registers of their address.
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

struct LaneAddress {
  std::uint64_t address = 0;
  bool is_low_half = false; // the upper 32 bits are lost, and 0 here
};

// `ahead`: where the thread stands, in bytes behind the access, in the same function.
std::optional<LaneAddress> lane_address(const DumpCode& access, std::int64_t ahead,
                                        const LaneRegisters& registers);

} // namespace gmt
