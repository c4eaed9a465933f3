// SPDX-License-Identifier: Apache-2.0
// What the instructions of a launch moved, as Launch::traffic gets it: sectors of global memory and
// wavefronts of shared memory, counted from the addresses of each warp as CUPTI's metrics of
// instructions count them on a GPU. Counts are of PTX: what ptxas joins, widens or leaves out is
// counted as it is written.
#pragma once

#include "simulated_cuda/executor/report.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gmt::executor {

struct TrafficCounts {
  std::uint64_t executions = 0, threads = 0;          // by warps; by their threads
  std::uint64_t sectors = 0, ideal_sectors = 0;       // of 32 bytes, of global memory
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0; // of 128 bytes, of shared memory

  void add(const TrafficCounts& more);
};

struct InstructionTraffic {
  static constexpr std::uint32_t kNoBase = 255;

  std::uint32_t number = 0; // of the instruction in its function's PTX, from 0
  Access access = Access::kUnknown;
  Space space = Space::kUnknown; // that the code names
  std::uint32_t bytes = 0;       // of one thread
  // Equal in a function where instructions add their offsets to one register
  std::uint32_t base = kNoBase;
  std::int32_t offset = 0;
  TrafficCounts counts;
};

// A kernel, or a function that it calls.
struct FunctionTraffic {
  std::string name; // as linked
  bool is_kernel = false;
  std::vector<InstructionTraffic> instructions; // all that may be counted, by number
};

struct Traffic {
  std::vector<FunctionTraffic> functions; // the kernel first
  // Of an instruction of a function: innermost first, empty without line information. It may be
  // called until the module changes.
  std::function<std::vector<SourceLine>(std::size_t function, std::uint32_t number)> lines;
};

} // namespace gmt::executor
