// SPDX-License-Identifier: Apache-2.0
// Loops that look at a clock, and in which the time decides nothing but how long a thread sleeps:
// waits whose pauses become longer, as those of libcu++ do. However late it is, such a loop does
// the same again, so that its registers of times are no part of its state. A loop that a thread may
// leave because of the time, or in which the time reaches memory or other threads, is none of them.
// Where the time decides which way is taken, no memory is accessed before the ways meet again.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/flow/flow.h"
#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

bool is_time(SpecialRegister special);

struct TimeLoop {
  std::vector<std::uint32_t> blocks;    // ascending
  std::vector<std::uint32_t> registers; // whose values depend on the time; ascending
};

// The outermost loops alone: a thread that has left one of them never comes back to it, as long as
// the function does not return. `is_kernel`: it has no caller.
std::vector<TimeLoop> time_loops_of(const Body& body, const Flow& flow, bool is_kernel);

} // namespace gmt::ptx
