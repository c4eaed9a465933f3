// SPDX-License-Identifier: Apache-2.0
// A warp that loads what nothing wrote goes on with tracked registers, until its block is over. So
// a kernel pays for tracking only from there on. All that the warp has in registers and in local
// memory counts as written, but for what it has just loaded.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"

#include <cstdint>

namespace gmt::executor {

// Lanes of a load that got bytes which nothing wrote.
struct UnwrittenLanes {
  struct Lane {
    std::uint64_t missing; // a bit a byte
    std::uint64_t address;
    Space space;
  };
  std::uint32_t lanes = 0;
  Lane of[kLanes];

  void add(std::uint32_t lane, std::uint64_t missing, Space space, std::uint64_t address) {
    lanes |= 1u << lane;
    of[lane] = {missing, address, space};
  }
};

// Behind the load `in` of `count` elements of `bytes` each: where the warp goes on. If registers
// cannot be tracked, the load is reported of lanes that got no written byte.
const Instruction* track_from_here(Warp& w, const Instruction* in, std::uint32_t bytes,
                                   std::uint32_t count, const UnwrittenLanes& unwritten);

// Where the warp executes `in` with tracked registers, of a kernel that had none so far. Null if
// they cannot be tracked.
const Instruction* track_before(Warp& w, const Instruction* in);

} // namespace gmt::executor
