// SPDX-License-Identifier: Apache-2.0
// --kernel-checks: kernels run with checks of their memory accesses in their code. All of the work
// is done by a library (interface.h) that is opened with this option alone; here is what it may ask
// of the core. Without the option nothing of it is on the path of a call.
#pragma once

namespace gmt::interposer {

void begin_kernel_checks() noexcept;  // if it is asked for; when a session starts
void forget_kernel_checks() noexcept; // in a forked child, whose memory on the device is none

} // namespace gmt::interposer
