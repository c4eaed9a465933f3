// SPDX-License-Identifier: Apache-2.0
// What the simulated device says of kernels becomes records of the trace
// (trace/execution_observer.h): faults, launches that did not run to their end, malloc() and free()
// of kernels. On a real driver nothing is found and nothing happens.
#pragma once

namespace gmt::interposer {

void begin_execution_observer() noexcept;  // the driver is known
void forget_execution_observer() noexcept; // a forked child begins anew

} // namespace gmt::interposer
