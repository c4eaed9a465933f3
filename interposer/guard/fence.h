// SPDX-License-Identifier: Apache-2.0
// Fenced blocks: making one, freeing it, finding the one that an address belongs to. A function
// that answers "no" leaves everything as it was, and the caller does what CUDA does without the
// fence.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "interposer/guard/store/blocks.h"
#include "trace/guard.h"

namespace gmt::interposer {

// Whether --guard is on in this process; a forked child is another one.
bool guard_is_on() noexcept;
bool guard_has_addresses() noexcept; // reserves them when first asked
// Reserves the addresses, as many as the driver gives; false if it gives too few.
bool reserve_guard_addresses() noexcept;
void forget_guard_blocks() noexcept; // in a forked child

// ---- fence.cpp

// Of the current context's device. `pool` and `peers` (a bit for each device that may use the block
// beside its own) are those of stream-ordered memory, else null and 0. Counts why if the block
// stays plain.
bool allocate_guarded(std::uint64_t bytes, CUmemoryPool pool, std::uint64_t peers,
                      CUdeviceptr* address) noexcept;

void spent_on_release(std::uint64_t ns) noexcept; // by --guard-sample

// A copy of the block in whose mapping an address lies, live or not yet unmapped.
bool find_guarded(CUdeviceptr address, GuardBlock* block) noexcept;

// ---- release.cpp

// The block that begins there, when all work of its context is done. False if none does; else
// `result` is the call's answer.
bool free_guarded(CUdeviceptr address, CUresult* result) noexcept;
// The same when the stream's work so far is done.
bool free_guarded_async(CUdeviceptr address, CUstream stream, CUresult* result) noexcept;
// Gives back what was freed in the order of a stream that has come there. `all`: waits for it.
void finish_releases(bool all) noexcept;

// ---- ends.cpp

// Looks at the patterns of all live blocks: of one context, or of all if it is null.
void check_live_blocks(CUcontext context, trace::GuardMoment moment) noexcept;
void end_blocks_of(CUcontext context) noexcept; // it has ended, and its memory with it

// The memory of a block that is out of the table's hands (kReleasing).
void release_memory(std::uint32_t number, const GuardBlock& block) noexcept;
// Takes a block that waits out of the list. Under the lock.
void stop_waiting(std::uint32_t number) noexcept;

} // namespace gmt::interposer
