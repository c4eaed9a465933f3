// SPDX-License-Identifier: Apache-2.0
// What is known only when the last event has passed by: Detector::finish() alone is given it. The
// last words of a process may stand in its last record, a launch that a kernel's record belongs to
// may follow that, and a loss may be noted late.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/coalescing/memory_access.h"
#include "analyzer/device_code/kernel_pointers.h"
#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/model/event.h"
#include "analyzer/model/process.h"

namespace gmt {

// A signal by which the host's own code ended, because of the address that it used.
struct HostCrash {
  std::string signal; // "SIGSEGV"
  std::uint64_t address = 0;
  bool is_write = false;
  StackId stack; // of the instruction, and its caller where that is certain
};

struct EndOfTrace {
  Ending ending;
  std::uint64_t lost_records; // for whatever reason
  // Of instrumented kernels, whose records are matched with launches
  const DeviceContexts& device_contexts;
  const MemoryAccess& memory_access; // of --coalescing, joined with the kernels' code
  std::optional<HostCrash> crash = {};
  // What kernels do with their pointers, by their names as linked; empty: nothing is known
  FindPointerUses find_pointer_uses = {};
  // From this order on releases may be among lost_records; 0: none is, as far as the trace says
  std::uint64_t releases_lost_from;
};

} // namespace gmt
