// SPDX-License-Identifier: Apache-2.0
// What stands in the driver's stead while --kernel-checks is on. Each does what the driver does
// where nothing of ours is to be added. A replacement has its function's type, is noexcept, and is
// reached through the function's entry, so that the call is recorded as the program made it.
#pragma once

#include <cuda.h>

#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {

void replace_code() noexcept;     // what loads, unloads and lists code
void replace_launches() noexcept; // and captures
// What begins and ends captures of streams; null, or what is called when none captures yet.
void replace_captures(void (*first_begins)() noexcept) noexcept;
void replace_graphs() noexcept;     // nodes of kernels, and launches of graphs
void replace_attributes() noexcept; // what says how many threads, blocks and clusters fit
void replace_memory() noexcept;     // what allocates, frees, describes memory, waits, ends contexts
void replace_writes() noexcept;     // copies, sets and what else writes memory of the device
void replace_mapped() noexcept;     // what maps and registers memory
void replace_shared_memory() noexcept; // what shares memory with other processes, and opens it
void replace_pools() noexcept;         // what gives out and frees memory in the order of streams

// The fetching of what there is at the end of a context or of the process.
void finish() noexcept;

inline void replace(const char* name, void* function) noexcept { core->replace(name, function); }
template <class... Args>
void replace(const char* name, CUresult (*function)(Args...) noexcept) noexcept {
  replace(name, reinterpret_cast<void*>(function));
}

} // namespace gmt::interposer::kernel_checks
