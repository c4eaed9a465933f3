// SPDX-License-Identifier: Apache-2.0
// A launch as the executor gets it: what the kernel is given, what of memory it reaches, how it is
// checked and in which orders it runs. Driver lock held.
#pragma once

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/execution/launch_observer.h"
#include "simulated_cuda/driver/streams/graph.h"
#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/device_launches.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gmt::sim {

struct Stream;

// A launch that did not run, and why.
executor::Outcome not_run(const std::string& reason);

// `depth`: how many launches by kernels led to this one, of a tree that expects it. What the
// kernel launches is put to the children.
executor::Outcome run_code(const Kernel& kernel, const KernelOperation& operation,
                           const Stream& stream, const trace::ExecutionLaunch& identified,
                           LaunchObserver& observer, executor::Accesses* accesses,
                           std::uint32_t depth, executor::LaunchTree& tree,
                           std::vector<executor::DeviceLaunch>* children);

} // namespace gmt::sim
