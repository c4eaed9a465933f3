// SPDX-License-Identifier: Apache-2.0
// --coalescing on the simulated device, which counts sectors and wavefronts itself: sums over the
// launches of each context in access-<n>.log, and the code that they belong to in `code`, both as
// trace/FORMAT.md has them. An instruction's offset is its number in the PTX of its function.
#pragma once

#include "trace/execution_observer.h"

namespace gmt::interposer {

void record_traffic(const trace::ExecutionTraffic& traffic) noexcept;
void forget_traffic() noexcept; // a forked child's trace has none yet

} // namespace gmt::interposer
