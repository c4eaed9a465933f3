// SPDX-License-Identifier: Apache-2.0
// What patches of machine code recorded and counted, reported to the core as reports.h does with
// what checked forms found.
#pragma once

namespace gmt::interposer::kernel_checks {

void fetch_patch_reports() noexcept;  // one thread at a time
void forget_patch_reports() noexcept; // of a context that has ended, or in a forked child

} // namespace gmt::interposer::kernel_checks
