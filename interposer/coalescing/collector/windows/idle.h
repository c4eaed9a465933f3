// SPDX-License-Identifier: Apache-2.0
// When CUPTI may be called: by one thread at a time, when the context is idle, within the time that
// there is for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/coalescing/collector/sampling/sampling_policy.h"
#include "interposer/coalescing/collector/windows/window_context.h"

namespace gmt::interposer::collector {

// A lock of `profilers`, // with signals blocked and the thread's capture mode relaxed
extern std::atomic<bool> cupti_in_use;
extern Governor governor;
extern std::uint64_t wanted; // see launches_wanted(); set once

// All under the gate. Whether the context has nothing to do now, or within `longest_wait`
// nanoseconds, in which no other thread can give it work.
bool becomes_idle(Context& context, std::uint64_t longest_wait) noexcept;
// The same, launches held back for `most` nanoseconds if need be. When that was in vain there is a
// rest, in which the context is looked at once and not waited for.
bool becomes_idle_at_last(Context& context, std::uint64_t most = kMostHolding) noexcept;
bool is_resting(const Context& context) noexcept;
// Takes the times of launches that are done (timings.h): what kernels take by themselves, and what
// measuring cost.
void take_times(Context& context) noexcept;
void rest(Context& context) noexcept;

} // namespace gmt::interposer::collector
