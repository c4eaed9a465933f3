// SPDX-License-Identifier: Apache-2.0
// Tells the observer which memory a launch used, or a copy or set that is a graph's node. Driver
// lock held.
#pragma once

#include "simulated_cuda/executor/machine/used_rows.h"
#include "trace/execution_observer.h"

namespace gmt::sim {

void observe_accesses(const trace::ExecutionLaunch& launch, const executor::Accesses& accesses);

} // namespace gmt::sim
