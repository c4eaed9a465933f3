// SPDX-License-Identifier: Apache-2.0
// Regions of pools that say what they give out: NVTX's memory extension, <gpumemtrace/pool.h>, and
// PyTorch's allocator. Each region is a block in the table, within the block that the pool lies in.
//
// A pool takes a region back while kernels that were launched before still use it rightly. So what
// a pool says is only kept here, and written into the table before the next launch with checks, in
// the order of its stream. That holds as long as all launches that may run are of one stream. When
// a second one comes, all memory of pools counts as right until nothing runs.
//
// Invariants: a change while a stream captures makes the block's memory unknown for good, as graphs
// use it whatever the pool says later. What fails here makes memory unknown.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {

// As KernelChecksLibrary has them.
void pool_begins(std::uint64_t pool, std::uint64_t begin, std::uint64_t bytes) noexcept;
void pool_ends(std::uint64_t pool) noexcept;
void pool_is_reset(std::uint64_t pool) noexcept;
void region_given_out(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) noexcept;
void region_given_back(std::uint64_t address) noexcept;

// Before the driver gets a launch of checked code, or of a graph; settle() comes behind it. The
// stream has a name that is the same for all functions.
void write_regions(CUstream stream) noexcept;
// The same of a stream of another context.
void launch_beside_regions() noexcept;
// The one or the other. Regions are in the table of the first context alone.
void write_regions_for(const Table& table, CUstream stream) noexcept;
// The block that begins there is about to be freed.
void end_regions(std::uint64_t block) noexcept;

void forget_regions() noexcept;  // their context has ended
void abandon_regions() noexcept; // in a forked child

} // namespace gmt::interposer::kernel_checks
