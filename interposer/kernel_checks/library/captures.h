// SPDX-License-Identifier: Apache-2.0
// How many streams capture: what they capture keeps the program's own kernels, and nothing is done
// on the tool's behalf that a capture would forbid.
#pragma once

#include <atomic>

namespace gmt::interposer::kernel_checks {

inline constinit std::atomic<int> captures{0};
inline bool any_capture() noexcept { return captures.load(std::memory_order_relaxed) > 0; }

} // namespace gmt::interposer::kernel_checks
