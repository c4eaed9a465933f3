// SPDX-License-Identifier: Apache-2.0
// Blocks that kernels of other devices may use: memory of the host, and that of devices whose peers
// have access. They stand in the tables of these devices, too.
//
// A device that cannot reach a block may have it in its table as well: an access that is right by
// the table is made, and ends as it does without checks.
#pragma once

#include <cuda.h>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

enum class Entries : std::uint8_t { kLive, kFreed, kUnknown };
// In the tables of other devices that may use it. Where kernels of such a device may still run,
// what is freed becomes unknown: the driver waits for those of its own context alone.
void write_elsewhere(const Kept& kept, Entries entries) noexcept;
// A context has got a table: what its device may use of others is written there.
void share_blocks_with(const Table& table) noexcept;

void replace_peers() noexcept; // what lets a device reach another one's memory
void abandon_peers() noexcept; // in a forked child

} // namespace gmt::interposer::kernel_checks
