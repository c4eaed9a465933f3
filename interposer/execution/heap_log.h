// SPDX-License-Identifier: Apache-2.0
// malloc() and free() of kernels that the simulated device executes, in device-<n>.log as the drain
// of a ring would write them, one log a context. Contexts whose kernels have a ring of their own
// are left to that.
#pragma once

#include "trace/execution_observer.h"

namespace gmt::interposer {

void record_heap_call(const trace::ExecutionHeapCall& call) noexcept;
void forget_heap_logs() noexcept; // a forked child's trace has none yet

} // namespace gmt::interposer
