// SPDX-License-Identifier: Apache-2.0
// Who hears of what happens inside kernels: the table that a tool gave by the exported function of
// trace/execution_observer.h. Its functions may be called with the driver's lock held.
#pragma once

#include "trace/execution_observer.h"

#include <cstdint>

namespace gmt::sim {

// Null before one is given, and where its version is another.
const trace::ExecutionObserver* execution_observer();

// On the thread of a CUDA call, inside it: the number for ExecutionLaunch::call and ::made.
std::uint64_t observed_call();

// A call is refused because it is not implemented here: `what` of it, or null for all of it.
void observe_refusal(const char* function, const char* what);

} // namespace gmt::sim
