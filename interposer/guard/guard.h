// SPDX-License-Identifier: Apache-2.0
// --guard: each block of device memory gets a mapping of its own, which ends where the block ends,
// with nothing behind it and nothing at a freed block's addresses. So a kernel that leaves a block
// faults at once, at its full speed. Without the option none of this is on the path of a call.
#pragma once

namespace gmt::interposer {

void begin_guard() noexcept;  // if it is asked for; when a session starts
void forget_guard() noexcept; // in a forked child, whose memory on the device is none

} // namespace gmt::interposer
