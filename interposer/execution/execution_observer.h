// SPDX-License-Identifier: Apache-2.0
// What the simulated device says of kernels becomes records of the trace
// (trace/execution_observer.h): faults, launches that did not run to their end, malloc() and free()
// of kernels. On a real driver nothing is found and nothing happens.
#pragma once

#include <cstdint>

#include "trace/execution_observer.h"

namespace gmt::interposer {

void begin_execution_observer() noexcept;  // the driver is known
void forget_execution_observer() noexcept; // a forked child begins anew

// What checks in the code of kernels found.
void record_checked_fault(const trace::ExecutionFault& fault) noexcept;
// Launches of a kernel that ran without such checks; `kernel` may be empty.
void record_unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept;

// True: what this thread copies from now on is the tool's, and no read of the program's.
void set_own_copies(bool begin) noexcept;

} // namespace gmt::interposer
