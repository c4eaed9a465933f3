// SPDX-License-Identifier: Apache-2.0
// What is known only when the last event has passed by: Detector::finish() alone is given it. The
// last words of a process may stand in its last record, a launch that a kernel's record belongs to
// may follow that, and a loss may be noted late.
#pragma once

#include <cstdint>

#include "analyzer/coalescing/memory_access.h"
#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/model/process.h"

namespace gmt {

struct EndOfTrace {
  Ending ending;
  std::uint64_t lost_records; // for whatever reason
  // Of instrumented kernels, whose records are matched with launches
  const DeviceContexts& device_contexts;
  const MemoryAccess& memory_access; // of --coalescing, joined with the kernels' code
  // From this order on releases may be among lost_records; 0: none is, as far as the trace says
  std::uint64_t releases_lost_from;
};

} // namespace gmt
