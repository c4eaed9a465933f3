// SPDX-License-Identifier: Apache-2.0
// Which memory of the device nothing has written, for --kernel-checks=memory,heap,init: the pages
// of rewriter/written_table.h on the device. Followed are blocks of cuMemAlloc and cuMemAllocPitch,
// from where they are given out until they are freed, and those of a device's pools, until other
// memory is there: kernels may still use them when they are freed. Kernels with checks mark what
// they store; all other writes are entered here.
//
// Invariants: all that is not followed counts as written. A block is followed only if nothing runs
// in the context when it is given out, so that no kernel has read the table before, and no call
// writes it unseen. Where something fails here, a read of unwritten bytes is missed and no other is
// reported.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

void begin_written() noexcept;                   // a context gets the table
void forget_written() noexcept;                  // it has ended
void abandon_written() noexcept;                 // in a forked child
std::uint64_t table_of_written_pages() noexcept; // for rewriter::Placed; 0: nothing is followed

// A block has been given out; and is about to be freed.
void follow_unwritten(const rewriter::Block& block) noexcept;
void end_unwritten(std::uint64_t begin) noexcept;
// Memory was given out where a pool may have had blocks before.
void forget_unwritten(std::uint64_t begin, std::uint64_t bytes) noexcept;
// Something but a checked kernel is about to write this.
void mark_written(std::uint64_t begin, std::uint64_t bytes) noexcept;
// The first bytes of each of so many rows, which begin `pitch` bytes apart.
void mark_rows_written(std::uint64_t begin, std::uint64_t bytes, std::uint64_t pitch,
                       std::uint64_t rows) noexcept;
// Or some of the block that holds the address.
void mark_block_written(std::uint64_t address) noexcept;
// Or anything, until the context's kernels have ended.
void mark_all_written() noexcept;
// Memory was given out that is not followed: the report says so.
void note_not_followed(const char* reason) noexcept;
inline constexpr char kGraphsAreNotFollowed[] =
  "memory of graphs counts as written: it is live each time that a graph runs";
// Or anything from now on: what another context does has no order here.
void stop_following_writes(const char* reason) noexcept;

} // namespace gmt::interposer::kernel_checks
