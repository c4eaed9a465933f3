// SPDX-License-Identifier: Apache-2.0
// The functions of the device's runtime, which Launch::launches serves.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// Calls the built-in function that the instruction names.
const Instruction* call_device_runtime(Warp& w, const Instruction* in);

} // namespace gmt::executor
