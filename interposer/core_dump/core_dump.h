// SPDX-License-Identifier: Apache-2.0
// With --core-dump and --guard the driver writes a core dump of the GPU when a kernel faults, into
// the trace's folder, and then aborts the process. The mode in which the process lives on is never
// used: calls answer 0 then, though the kernel failed, and the program would go on with wrong data.
//
// The GPU stands still while the driver prepares a dump, but calls that wait for the faulty kernel
// may answer 0 meanwhile (waits.h). What ends a context or the process behind work that nothing has
// waited for is held for a moment, or it would end as if nothing had happened, hang, or crash
// (H200, driver 580).
#pragma once

namespace gmt::interposer {

void begin_core_dump() noexcept;  // a session begins
void forget_core_dump() noexcept; // a forked child decides anew
bool core_dump_is_on() noexcept;

// Before a context is made: the driver takes its settings from there.
void prepare_core_dump() noexcept;
// Before a context or the process ends.
void hold_for_core_dump() noexcept;

} // namespace gmt::interposer
