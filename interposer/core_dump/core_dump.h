// SPDX-License-Identifier: Apache-2.0
// With --core-dump and --guard the driver writes a core dump of the GPU when a kernel faults, into
// the trace's folder, and then aborts the process. The mode in which the process lives on is never
// used: calls answer 0 then, though the kernel failed, and the program would go on with wrong data.
//
// The driver notices the fault of a store only after the kernel has ended, some 50 to 90 ms behind
// the launch (H200, driver 580). A process or a context that ends before that ends as if nothing
// had happened, hangs, or crashes. So what ends one is held for a while first, if kernels ran.
#pragma once

namespace gmt::interposer {

void begin_core_dump() noexcept;  // a session begins
void forget_core_dump() noexcept; // a forked child decides anew

// Before a context is made: the driver takes its settings from there.
void prepare_core_dump() noexcept;
// A kernel's first launch.
void note_kernel_for_core_dump() noexcept;
// Before a context or the process ends.
void hold_for_core_dump() noexcept;

} // namespace gmt::interposer
