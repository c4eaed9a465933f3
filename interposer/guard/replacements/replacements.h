// SPDX-License-Identifier: Apache-2.0
// What stands in the driver's place while --guard is on. A replacement has its function's type; it
// is reached through the function's entry, so that the call is recorded as the program made it.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "interposer/loader/real_dlsym.h"
#include "trace/api_id.h"

namespace gmt::interposer {

using Install = void (*)(std::uint16_t row, void* function) noexcept;

void install_memory(Install install) noexcept;       // allocations, frees, waits
void install_contexts(Install install) noexcept;     // contexts, pools, peers, captures
void install_queries(Install install) noexcept;      // what CUDA says of addresses and of memory
void install_ranges(Install install) noexcept;       // copies and sets
void install_graph_copies(Install install) noexcept; // copies in graphs
void install_launches(Install install) noexcept;     // --guard-check launch only

// The stream that a row of the per-thread default streams means.
inline CUstream of_thread(CUstream stream) noexcept {
  return stream != nullptr ? stream : CU_STREAM_PER_THREAD;
}

// The driver's own function of a row.
template <class Function> Function* driver_row(std::uint16_t row) noexcept {
  return reinterpret_cast<Function*>(driver_own_function(row));
}

} // namespace gmt::interposer
