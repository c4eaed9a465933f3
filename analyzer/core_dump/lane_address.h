// SPDX-License-Identifier: Apache-2.0
// The address that one thread computed for an access that lies behind it, from the registers that a
// core dump has of it. Loads often overwrite a register of their address. Where only the upper half
// of an address is lost, the lower one is given.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/core_dump/register_history.h"

namespace gmt {

struct LaneAddress {
  std::uint64_t address = 0;
  bool is_low_half = false; // the upper 32 bits are lost, and 0 here
};

// `ahead`: where the thread stands, in bytes behind the access, in the same function. Nothing if
// the way there was not straight.
std::optional<LaneAddress> lane_address(const DumpCode& access, std::int64_t ahead,
                                        const LaneRegisters& registers);

} // namespace gmt
