// SPDX-License-Identifier: Apache-2.0
// Which words of a kernel's parameters could be pointers: the layout of each kernel, asked of the
// driver at its first launch and kept by handle, and the scan of one launch's arguments. A kernel's
// first launch is also where its module gets its device ring (ring.h).
//
// Invariants: finding a layout takes no lock and writes nothing; a layout once made never changes
// or moves; what is known of handles is void as soon as code may have been unloaded, because the
// driver gives handles out again.
#pragma once

#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

// Puts the words of the launch's arguments that could be pointers behind what the record holds and
// sets kLaunchScanned if all are there. `parameters` and `extra` are cuLaunchKernel's: one of them
// or both may be null.
void record_arguments(Record& record, std::uint64_t function, void* const* parameters,
                      void* const* extra) noexcept;

void forget_kernels() noexcept; // a forked child makes its own trace

} // namespace gmt::interposer
