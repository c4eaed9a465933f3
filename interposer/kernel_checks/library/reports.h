// SPDX-License-Identifier: Apache-2.0
// What checked kernels counted and recorded, fetched from the device and reported to the core: one
// fault for each site, kind and launch.
#pragma once

#include <cstdint>

namespace gmt::interposer::kernel_checks {

// Whatever is there, of all modules. `ended`: so many first launches of the context have ended.
// `ended` is of the table with that index.
void fetch_reports(std::uint64_t ended = 0, unsigned table = 0) noexcept;
void fetch_last_reports() noexcept; // of code that is unloaded, or at the end
void try_fetch_reports(std::uint64_t ended, unsigned table = 0) noexcept; // right now
void forget_reports() noexcept;  // and launches, of contexts that have ended
void abandon_reports() noexcept; // the same, in a forked child

} // namespace gmt::interposer::kernel_checks
