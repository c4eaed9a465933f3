// SPDX-License-Identifier: Apache-2.0
// What checked kernels counted and recorded, fetched from the device and reported to the core: one
// fault for each site, kind and launch.
#pragma once

namespace gmt::interposer::kernel_checks {

// Whatever is there, of all modules. `is_idle`: no kernel of the context runs any more.
void fetch_reports(bool is_idle) noexcept;
void forget_reports() noexcept; // and launches, of a context that has ended

} // namespace gmt::interposer::kernel_checks
