// SPDX-License-Identifier: Apache-2.0
// Memory that the program has mapped at addresses of its own, or registered.
#pragma once

#include <cstdint>

#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

// What the program has reserved and not mapped is written into a table that is new.
void write_reserved(Table& table) noexcept;
// The program has unmapped or unregistered what was there.
bool was_released(std::uint64_t address) noexcept;
// Before a module's variables are used. Memory of the host that was registered, and that the host
// can no longer read, is not there any more: the driver may have put the variables in its place.
void forget_unmapped_host() noexcept;
void forget_released() noexcept; // the table's context has ended
void abandon_mapped() noexcept;  // in a forked child

} // namespace gmt::interposer::kernel_checks
