// SPDX-License-Identifier: Apache-2.0
// Entries of the table that change in the order of a stream: a kernel of the tool's own writes them
// between the program's work. Nothing here waits, for the device or for another stream.
//
// Invariant: the kernel is loaded when a context gets the table, since loading code may wait for
// kernels that run.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "interposer/kernel_checks/library/table.h"
#include "rewriter/rewriter.h"

namespace gmt::interposer::kernel_checks {

inline constexpr char kMarkKernel[] = "gmt_mark";

// In the current context, whose table it is; false: nothing changes in the order of streams. So it
// is where a stream of another device cannot stop marks that are queued (news_flag.h).
bool load_marks(const Table& table) noexcept;
bool has_marks(const Table& table) noexcept;
void forget_marks(unsigned table) noexcept; // their context has ended

// What is written for the granules of `block`, and for `more` behind these.
struct Mark {
  rewriter::Block block;
  std::uint64_t more = 0;
  bool is_live = false;          // else each of its granules gets `behind`, too
  std::uint32_t slot = 0;        // of its bounds, if it lives
  std::int32_t behind = 0;       // an entry
  bool are_bounds_there = false; // in the slot; else they are those of `block`
  // The address of a word: while that is not 0, entries say that nothing is known. 0: that of
  // pools of the driver's.
  std::uint64_t distrust = 0;
};
// The stream is of the context that has the table, which is current. False: the driver refused it.
bool put_mark(const Table& table, const Mark& mark, CUstream stream) noexcept;

} // namespace gmt::interposer::kernel_checks
