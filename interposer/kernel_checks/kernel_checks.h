// SPDX-License-Identifier: Apache-2.0
// --kernel-checks: kernels run with checks of their memory accesses in their code. All of the work
// is done by a library (interface.h) that is opened with this option alone; here is what it may ask
// of the core. Without the option nothing of it is on the path of a call.
#pragma once

#include <cstdint>

namespace gmt::interposer {

void begin_kernel_checks() noexcept;  // if it is asked for; when a session starts
void forget_kernel_checks() noexcept; // in a forked child, whose memory on the device is none

// Pools and their regions, as KernelChecksLibrary (interface.h) has them. Without the option each
// is a test of one pointer.
void note_pool(std::uint64_t pool, std::uint64_t begin, std::uint64_t bytes) noexcept;
void note_end_of_pool(std::uint64_t pool) noexcept;
void note_reset_of_pool(std::uint64_t pool) noexcept;
void note_region_given_out(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) noexcept;
void note_region_given_back(std::uint64_t address) noexcept;

} // namespace gmt::interposer
