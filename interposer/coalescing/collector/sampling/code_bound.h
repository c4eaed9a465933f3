// SPDX-License-Identifier: Apache-2.0
// What a launch of a kernel executes at most, read from the kernel's code: without loops, each warp
// passes each instruction once. So a kernel that is launched only once can be measured, if its grid
// and its code bound the cost.
//
// Invariants: what is not understood is not bounded; the code is read as CUDA got it, and takes a
// tenth of a second of a process at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer::collector {

struct CodeBound {
  std::uint32_t instructions = 0; // of a warp; 0: there is no bound
  std::uint32_t accesses = 0;     // of them: those that use memory, atomics counted several times

  bool is_bounded() const noexcept { return instructions != 0; }
  // Nanoseconds that a launch of so many warps takes at most while it is measured.
  std::uint64_t cost(std::uint64_t warps) const noexcept;
};

// A module is being loaded. An image in a file of the process is read when a kernel is looked for,
// any other now.
void learn_code(const void* image, std::size_t bytes) noexcept;
// Of the kernel of this name (as linked), on the current device.
CodeBound code_bound_of(const char* kernel) noexcept;
void forget_code() noexcept; // in a forked child

// Of the instructions of one function, 16 bytes each (sm_70 and later). `outside`: whether the
// instruction at this offset has an address that is filled in at loading, null if none has.
using IsRelocated = bool (*)(void* data, std::uint64_t offset);
CodeBound bound_of_code(const unsigned char* code, std::size_t bytes, IsRelocated is_relocated,
                        void* data) noexcept;

} // namespace gmt::interposer::collector
