// SPDX-License-Identifier: Apache-2.0
// Whole-kernel counters (--counters): a launch that is due is counted by itself, between two idle
// moments of its context. A kernel's launches that are due serve its instructions (windows.h) and
// each pass of its counters in turn.
//
// Invariants: one launch of the process is counted at a time; what else the context is given
// meanwhile waits until the launch is done, for a fifth of a second at most (sampling_policy.h),
// and if it is not, the counters are dropped at the next idle moment. Trouble with counters does
// not change the figures of instructions.
#pragma once

#include "interposer/coalescing/collector/windows/window_context.h"

namespace gmt::interposer::collector {

inline bool is_turn_of_instructions(const Kernel& kernel) noexcept {
  return kernel.turn.load() == 0;
}
void end_turn(Kernel& kernel) noexcept;

// Before the launch of a kernel whose turn it is; no window is open.
void begin_counting(Context& context, Kernel& kernel) noexcept;
// Right before each launch of the program.
void counted_launch_begins(Context& context, const Kernel* kernel) noexcept;
// Takes the counters if the context is idle, or soon: then what comes next may begin in any case.
enum class Idle { kNow, kSoon };
void finish_counting(Context& context, Idle when) noexcept;
void spoil_counting(Context& context) noexcept; // the launch failed

// The context ends; under the gate. `surely`: not only perhaps.
void end_counting(Context& context, bool idle, bool surely) noexcept;
void drop_counting(Context& context) noexcept; // it has ended
void forget_counting() noexcept;               // in a forked child

} // namespace gmt::interposer::collector
