// SPDX-License-Identifier: Apache-2.0
// --host-races: what the host itself does with memory that copies in flight use, by the faults of
// pages that driver_state/host_watches.h protects.
#pragma once

namespace gmt::interposer {

void watch_host_uses() noexcept;  // if the option asks for it
void forget_host_uses() noexcept; // a forked child's pages are open

} // namespace gmt::interposer
