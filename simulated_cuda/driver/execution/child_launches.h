// SPDX-License-Identifier: Apache-2.0
// What a kernel has launched by the device's runtime.
#pragma once

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/streams/graph.h"
#include "simulated_cuda/executor/machine/device_launches.h"

namespace gmt::sim {

// The launch of `kernel` that a kernel of the operation `parent` has asked for.
KernelOperation child_operation(const Kernel& kernel, const KernelOperation& parent,
                                const executor::DeviceLaunch& child);

} // namespace gmt::sim
