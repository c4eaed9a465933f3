// SPDX-License-Identifier: Apache-2.0
// Memory pools as the program sees them: which ones give memory that can be fenced, who may use
// their blocks, and what fenced blocks add to their figures.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gmt::interposer {

// A pool of this device's memory that is given to no other process.
void pool_was_made(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept;
void pool_cannot_be_fenced(CUmemoryPool pool) noexcept; // it was imported
void pool_has_ended(CUmemoryPool pool) noexcept;
// Whether blocks of the pool lie on this device, which is the current one, and can be fenced.
bool pool_can_be_fenced(CUmemoryPool pool, CUdevice device) noexcept;

void pool_access(CUmemoryPool pool, CUdevice device, bool may) noexcept;
std::uint64_t pool_peers(CUmemoryPool pool) noexcept; // a bit for each device
// The fenced blocks of the pool, or those of the device's that are in no pool (null), for a peer.
void change_access(CUmemoryPool pool, CUdevice owner, CUdevice peer, bool may) noexcept;

void pool_grows(CUmemoryPool pool, std::uint64_t bytes) noexcept;
void pool_shrinks(CUmemoryPool pool, std::uint64_t bytes) noexcept;
void reset_pool_high(CUmemoryPool pool) noexcept;
struct PoolUse {
  std::uint64_t current = 0, high = 0; // of fenced blocks
};
PoolUse pool_use(CUmemoryPool pool) noexcept;

void forget_pools() noexcept;

} // namespace gmt::interposer
