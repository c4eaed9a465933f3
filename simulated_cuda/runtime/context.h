// SPDX-License-Identifier: Apache-2.0
// Contexts as the runtime handles them.
#pragma once

#include "simulated_cuda/runtime/driver_calls.h"

namespace gmt::sim {

// The primary context of a device, retained; made alive again after a reset.
cudaError_t primary_context(int device, CUcontext* context);

// After cudaDeviceReset: contexts that threads remember are looked at anew.
void forget_contexts(int device);

} // namespace gmt::sim
