// SPDX-License-Identifier: Apache-2.0
// What checked kernels counted and recorded, fetched from the device and reported to the core: one
// fault for each site, kind and launch.
#pragma once

#include "interposer/kernel_checks/library/launch.h"

namespace gmt::interposer::kernel_checks {

void count_launch() noexcept;                        // of any form
void remember_launch(const Launch& launch) noexcept; // its number is set here
// Whatever is there, of all modules. `is_idle`: no kernel of the context runs any more.
void fetch_reports(bool is_idle) noexcept;
void forget_launches() noexcept; // of a context that has ended

} // namespace gmt::interposer::kernel_checks
