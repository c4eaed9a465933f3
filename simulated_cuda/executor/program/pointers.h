// SPDX-License-Identifier: Apache-2.0
// Through which of the kernel's parameters its loads and stores go, so that it is known of a launch
// which memory it cannot write. What is there needs no look for races.
#pragma once

#include "simulated_cuda/executor/program/program.h"

#include <cstdint>

namespace gmt::executor {

// Instruction::extra of a load, from this bit on: the number of its pointer in
// Program::loaded_through, plus 1; 0: another one.
inline constexpr std::uint32_t kLoadedThrough = 16, kMostLoadedThrough = 255;

void follow_pointers(Program& program);

} // namespace gmt::executor
