// SPDX-License-Identifier: Apache-2.0
// Values of special registers, and what the device's built-in functions do.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// True if all lanes see `*same`; else `lanes` holds a value for each.
bool read_special(Warp& w, std::uint32_t which, std::uint64_t* same, std::uint64_t* lanes);

// nanosleep: time passes for the warp.
void sleep_for(Warp& w, std::uint32_t nanoseconds);

} // namespace gmt::executor
