// SPDX-License-Identifier: Apache-2.0
// The device rings of this process's contexts: made, handed to the modules that have instrumented
// kernels, ended. The only part of this library that makes CUDA calls which are no queries: a
// program without instrumented kernels sees one look-up per module of them. drain.h moves what
// kernels write.
//
// Invariants: CUDA calls here go to the driver's own functions, are never recorded, leave the
// thread's context as it was, are made with the thread's capture mode relaxed, and none of them
// waits for kernels but cuMemAlloc and cuMemHostRegister where the driver does; the copy to a
// module is waited for half a second at most. Whatever fails: the program goes on, and a module
// that got no ring, or not in time, is counted (kNoRing).
#pragma once

#include <cstdint>

namespace gmt::interposer {

class ThreadLog;

// Before the first launch of a kernel (CUfunction or CUkernel) in the current context, or when a
// node of it is made: its module gets the context's ring. True if the module is instrumented. Later
// calls for the same cost a few nanoseconds.
bool hand_over_ring(std::uint64_t function) noexcept;

// A context was made or a primary one given out: it gets its ring now if a loaded object has
// instrumented kernels, because later a kernel may be running or a stream capturing.
void context_was_made(std::uint64_t context) noexcept;
void context_has_ended(std::uint64_t context) noexcept;
// A primary context was released or reset.
void primary_context_was_left(int device, bool reset) noexcept;
void forget_device_rings() noexcept; // a forked child has none

} // namespace gmt::interposer
