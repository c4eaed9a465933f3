// SPDX-License-Identifier: Apache-2.0
// A launch whose blocks let the next one begin before it has ended
// (griddepcontrol.launch_dependents), as that one has to know it: it meets the entries of the
// primary launch in the tables of races, and knows nothing of what they are of until its blocks
// wait (griddepcontrol.wait). A launch that lets none begin leaves nothing behind.
#pragma once

#include "simulated_cuda/executor/report.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gmt::executor {

struct Program;

struct PrimaryLaunch {
  // Clocks of a block when it, or one of its warps, let the next launch begin. Its exit does so as
  // well: then they are 0.
  struct Trigger {
    std::uint32_t clock = 0; // what was loaded before has been read
    std::uint32_t fence = 0; // what was stored before is visible
  };
  const Program* program = nullptr;
  std::weak_ptr<const void> module; // that has the program
  std::string kernel;               // as linked
  std::uint64_t call = 0;           // by which the program launched it; 0: unknown
  Extent grid, block, cluster;
  // Its runs: see race_tables.h
  std::uint32_t first_run = 0, end_run = 0;
  std::uint16_t epoch = 0;
  std::uint32_t warps = 0; // of a block
  // By block, its first one and then those of its warps. The first of a block lets the next launch
  // begin; that programs take each thread's for its own is no mistake that is looked for.
  std::vector<Trigger> triggers;

  const Trigger& of_block(std::uint32_t number) const {
    return triggers[std::size_t{number} * (1 + warps)];
  }
  const Trigger& of_warp(std::uint32_t number, std::uint32_t warp) const {
    return triggers[std::size_t{number} * (1 + warps) + 1 + warp];
  }
};

} // namespace gmt::executor
