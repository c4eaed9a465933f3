// SPDX-License-Identifier: Apache-2.0
// Calls by which the host learns that work is done, while core dumps are on: an answer 0 is given
// to the program only when the GPU still runs work (device_probe.h). Without that, a program whose
// kernel has failed would see 0, and might go on with wrong data or end before the dump is
// written.
#pragma once

namespace gmt::interposer {

// Puts itself in front of the driver's functions, or of what stands in front of them. Nothing
// happens where another preload wraps them.
void install_dump_waits() noexcept;

// Whether the driver was given work since the last call that waited.
bool take_unconfirmed_work() noexcept;
void forget_unconfirmed_work() noexcept; // in a forked child

} // namespace gmt::interposer
