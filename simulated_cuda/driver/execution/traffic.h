// SPDX-License-Identifier: Apache-2.0
// What the instructions of a launch moved, for the observer of kernels.
#pragma once

#include "simulated_cuda/executor/machine/traffic.h"
#include "trace/execution_observer.h"

namespace gmt::sim {

bool is_traffic_asked_for();
void observe_traffic(const trace::ExecutionLaunch& launch, const executor::Traffic& traffic);

} // namespace gmt::sim
