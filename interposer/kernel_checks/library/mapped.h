// SPDX-License-Identifier: Apache-2.0
// Memory that the program has mapped at addresses of its own, or registered.
#pragma once

#include <cstdint>

#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

// Managed memory is freed: its pages go, and what uses it would fault. False: nothing was written,
// as the device reads the host's memory, which may come to lie there, or kernels may run.
bool take_away_freed(std::uint64_t begin, std::size_t bytes) noexcept;
// The driver has not freed it.
void give_freed(std::uint64_t begin, std::size_t bytes) noexcept;
// Other memory is there from now on, whose entries others write.
void addresses_given_out(std::uint64_t begin, std::size_t bytes) noexcept;
// The driver may place there what no call tells of: variables of modules, its own memory.
void forget_freed() noexcept;
// What the program has reserved and not mapped is written into a table that is new.
void write_reserved(Table& table) noexcept;
// The program has unmapped or unregistered what was there.
bool was_released(std::uint64_t address) noexcept;
// Before a module's variables are used. Memory of the host that was registered, and that the host
// can no longer read, is not there any more: the driver may have put the variables in its place,
// and in that of freed managed memory.
void forget_unmapped_host() noexcept;
void forget_released() noexcept; // the table's context has ended
void abandon_mapped() noexcept;  // in a forked child

} // namespace gmt::interposer::kernel_checks
