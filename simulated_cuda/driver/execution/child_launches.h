// SPDX-License-Identifier: Apache-2.0
// What a kernel has launched by the device's runtime.
#pragma once

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/streams/graph.h"
#include "simulated_cuda/executor/machine/device_launches.h"

#include <vector>

namespace gmt::sim {

struct Stream;

// Each is done before the next one, and so is what it launches itself. An error that ends the
// context ends it.
void run_children(const Kernel& parent, const KernelOperation& operation, const Stream& stream,
                  const std::vector<executor::DeviceLaunch>& children);

} // namespace gmt::sim
