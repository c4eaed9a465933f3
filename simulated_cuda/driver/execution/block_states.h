// SPDX-License-Identifier: Apache-2.0
// Keeps the executor's memory in step with the blocks of the driver: what kernels may use, and
// which bytes of it something has written. Driver lock held.
// Invariant: a device's memory is one region from the start; memory of the host, and what is mapped
// from elsewhere, is a region for as long as its block lives.
#pragma once

#include "simulated_cuda/driver/state/block.h"
#include "simulated_cuda/executor/machine/memory.h"

namespace gmt::sim {

void block_added(executor::Memory& memory, const Block& block);
void block_removed(executor::Memory& memory, const Block& block);

// Other devices than before may use a mapping of virtual memory management; before, some or none.
// `written`: it was mapped before, so nothing is known to be uninitialised.
void mapping_changed(executor::Memory& memory, const Block& block, bool was_accessible,
                     bool written);

} // namespace gmt::sim
