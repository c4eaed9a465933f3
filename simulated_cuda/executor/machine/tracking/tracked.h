// SPDX-License-Identifier: Apache-2.0
// What a kernel whose registers are tracked does beside its own work: shadows of memory, and what
// is said when a value that nothing wrote decides something. Memory of the device and shared memory
// know only bytes: one of which a bit is written counts as written. Local memory knows bits.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// The bits of an access by one lane that nothing wrote; none where it is refused.
void load_shadow(Warp& w, std::uint32_t lane, Space space, std::uint64_t address,
                 std::uint32_t bytes, std::byte* shadow);
// Behind a store.
void store_shadow(Warp& w, std::uint32_t lane, Space space, std::uint64_t address,
                  std::uint32_t bytes, const std::byte* shadow);

// At the entry of a function: its registers and its part of local memory are not written. Where a
// warp tracks registers only from a load on, they count as written.
void spoil_frame(Warp& w, std::uint32_t registers);

// A load by one lane gave bits that nothing wrote.
void remember_unwritten(Warp& w, const UnwrittenLoad& load);

// Lanes of a shuffle take the value of a lane that is not there, and registers are not tracked.
void report_missing_source(Warp& w, const Instruction* in, std::uint32_t lanes);

// `in` stands behind a store of registers to memory of the device, and has their shadows. What is
// only moved takes its state along to memory, but for what a shuffle gave from no lane: that is
// reported, and counts as written from then on.
void check_stored_lanes(Warp& w, const Instruction* in, std::uint32_t bytes, std::uint32_t count,
                        std::uint32_t lanes);

// `in` checks the shadow r[0], which is not 0 in these lanes.
void report_unwritten(Warp& w, const Instruction* in, std::uint32_t lanes);

// `in` uses memory of a lane, by a generic address. Bits of it that nothing wrote are reported, and
// count as written from then on, if they are in local memory.
void use_memory(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t address,
                std::uint32_t bytes);

} // namespace gmt::executor
