// SPDX-License-Identifier: Apache-2.0
// Blocks of device memory: each has its entries in the table, poison behind it, and rests for a
// while when it is freed, so that a kernel that still uses it meets no other block there.
//
// Invariant: what stands in the table for memory that the tool knows nothing of is "unknown", for
// which every access is right. So where something fails here, a check misses something and never
// reports what is right.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {

// The current context has a table, or gets it now.
bool has_table() noexcept;
// The same; the context as it is, without entering it.
bool is_checked_context() noexcept;

// As cuMemAlloc and cuMemAllocPitch; where the table is not the context's, just that.
CUresult allocate(CUdeviceptr* address, std::size_t bytes) noexcept;
CUresult allocate_pitched(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                          std::size_t height, unsigned element) noexcept;
// Memory that the host may use, too, with poison behind it.
void add_host_block(CUdeviceptr address, std::size_t bytes) noexcept;
// What another process has allocated and shared, with its poison.
void add_foreign_block(CUdeviceptr address, std::size_t bytes, std::size_t room) noexcept;
// Gives all that rests back to the driver, if a context has a table and no stream captures;
// whether there was any.
bool release_all_resting() noexcept;
// `allocate()`; once more without what rests, if memory was short.
template <class Allocate> int with_resting_released(Allocate allocate) noexcept {
  const int result = allocate();
  return result == CUDA_ERROR_OUT_OF_MEMORY && release_all_resting() ? allocate() : result;
}
// As cuMemFree; false: the address is no block's, and the driver has to answer.
bool free_block(CUdeviceptr address, CUresult* result) noexcept;
// The driver is about to free it in its own way.
void forget_block(CUdeviceptr address) noexcept;
void forget_opened(CUdeviceptr begin) noexcept; // it was another process's
void abandon_opened() noexcept;                 // in a forked child
// Memory that the tool does not follow was given out where a pool may have had some before.
void forget_range(CUdeviceptr begin, std::size_t bytes) noexcept;
void note_ranges_to_forget() noexcept; // there may be some; else that does nothing
// The table's context has ended, and what was allocated in it.
void forget_blocks_of(const Table& table) noexcept;
// The bytes that the program asked for, of the block that holds the address; false: no block.
bool find_block(CUdeviceptr address, CUdeviceptr* begin, std::size_t* bytes) noexcept;

} // namespace gmt::interposer::kernel_checks
