// SPDX-License-Identifier: Apache-2.0
// One launch: the kernel's PTX is executed, its reports go to the observer, and the context gets
// the error that a GPU would have given. Driver lock held.
// Invariant: a launch that cannot be executed changes nothing but the state of what it might have
// written, which counts as initialised; the program goes on as if it had run.
#pragma once

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/streams/graph.h"

namespace gmt::sim {

struct Stream;

// The arguments of a launch as the kernel sees them, by the kernel's layout; empty if that is not
// known.
std::vector<std::byte> gather_arguments(const Kernel& kernel,
                                        const CUDA_KERNEL_NODE_PARAMS& params);

void execute_kernel(const Kernel& kernel, const KernelOperation& operation, const Stream& stream);

} // namespace gmt::sim
