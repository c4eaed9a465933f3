// SPDX-License-Identifier: Apache-2.0
// Pieces of mapped memory that lie side by side are a run, which has bounds in the tables. These
// are a hint: of what lies outside the table is asked, as it may be another run. So a kernel whose
// pointer leads out of what is mapped is found, and inside nothing more is asked.
//
// Invariant: nothing that is not mapped lies in a run's bounds.
#pragma once

#include <cstdint>

#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

// Behind the driver's call, when all there counts as right.
void add_to_runs(std::uint64_t begin, std::uint64_t end) noexcept;
// Before the driver's call.
void take_from_runs(std::uint64_t begin, std::uint64_t end) noexcept;
void write_runs(Table& table) noexcept; // into a table that is new
void abandon_runs() noexcept;           // in a forked child

} // namespace gmt::interposer::kernel_checks
