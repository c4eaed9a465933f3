// SPDX-License-Identifier: Apache-2.0
// Tells the observer of a copy that reads memory of the device of which nothing has written a part.
// Driver lock held.
#pragma once

#include <cuda.h>

#include "simulated_cuda/executor/checks/unwritten_bytes.h"

namespace gmt::sim {

// Whether the host can read what lies at an address: in no block, pinned, registered or managed.
bool is_host_memory(CUdeviceptr address);

// `source` holds the rows of one copy.
void report_unwritten(const executor::UnwrittenBytes& source, CUdeviceptr from, bool to_host);

} // namespace gmt::sim
