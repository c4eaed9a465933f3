// SPDX-License-Identifier: Apache-2.0
// Crashes: the trace gets the signal and, of the host's own code, the address, which may be one of
// CUDA's.
#pragma once

#include <csignal>

namespace gmt::interposer {

// Takes SIGSEGV and SIGBUS where the program leaves them to the system. A handler that the program
// installs takes its place, and one that is there already keeps it.
void watch_crashes() noexcept;
// Other signals, too, now that the process has said how it ends.
void watch_crashes_at_exit() noexcept;
bool is_crash_handler(const struct sigaction& action) noexcept;
void forget_crashes() noexcept; // a forked child writes into a trace of its own

} // namespace gmt::interposer
