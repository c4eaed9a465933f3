// SPDX-License-Identifier: Apache-2.0
// Reads a GPU's core dump: which instruction faulted in which grid, and what the threads that are
// still there have in their registers (analyzer/model/core_dump.h). Bounded: of a fault at most
// kMostRuns runs of addresses are kept, of a dump kMostFaults faults; what is more is counted.
//
// Learnt from dumps of driver 580 (CUDA 13.0, sm_90): a fault of a load stands with its warp; that
// of a store may stand with its multiprocessor alone, whose warp has gone on; of an assert, threads
// stand behind the call; after __trap() warps are marked broken.
#pragma once

#include <cstdint>
#include <span>

#include "analyzer/model/core_dump.h"

namespace gmt {

inline constexpr std::size_t kMostRuns = 8192;
inline constexpr std::size_t kMostFaults = 256;

// Where the bytes are no core dump, `problem` says so.
CoreDump read_core_dump(std::span<const char> bytes);

} // namespace gmt
