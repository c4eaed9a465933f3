// SPDX-License-Identifier: Apache-2.0
// Functions that the device itself has, and trap: handlers of their calls.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

const Instruction* print(Warp& w, const Instruction* in);            // vprintf
const Instruction* allocate(Warp& w, const Instruction* in);         // malloc
const Instruction* release(Warp& w, const Instruction* in);          // free
const Instruction* assertion_failed(Warp& w, const Instruction* in); // __assertfail
const Instruction* trap(Warp& w, const Instruction* in);
// Lanes at a barrier of the warp whose mask does not name them; the answer is an H100's.
const Instruction* unnamed_lanes(Warp& w, const Instruction* in, std::uint32_t lanes);

// Lanes of a shuffle, a vote or their like that their mask lacks, or whose mask names lanes with
// another mask.
void report_masks(const Warp& w, const Instruction* in, std::uint32_t unnamed,
                  std::uint32_t differing);

} // namespace gmt::executor
