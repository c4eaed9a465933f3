// SPDX-License-Identifier: Apache-2.0
// Blocks of malloc in kernels: the device marks them itself in a HeapTable, which is made for the
// context that has the table when a module that marks is first launched there.
//
// Invariant: what is marked counts only while all code that may use the heap marks. From the first
// module on that may use it and does not, nothing is known of any block.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "trace/execution_observer.h"

namespace gmt::interposer::kernel_checks {

// Of the code of a module.
enum class HeapUse : std::uint8_t {
  kNone,
  kMarked,   // it calls malloc or free, and marks
  kUnmarked, // it may, and does not
};

// The HeapTable's address; 0: there is none.
std::uint64_t heap_table() noexcept;
// The same, made if it can be. The context is current. `*is_new`: this call has made it.
std::uint64_t make_heap_table(bool* is_new) noexcept;
// Code that may use the heap marks nothing.
void distrust_heap() noexcept;
void forget_heap() noexcept;  // the context has ended
void abandon_heap() noexcept; // in a forked child
// The block that an access at this address was in or beside, as far as it can still be known.
trace::ExecutionNeighbour heap_block_at(std::uint64_t address, bool is_freed) noexcept;

} // namespace gmt::interposer::kernel_checks
