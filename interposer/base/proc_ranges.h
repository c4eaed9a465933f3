// SPDX-License-Identifier: Apache-2.0
// Where the program's own heap and the main thread's stack lie, for the trace's `info`: addresses
// there are never the GPU's, so a kernel that is given one is given host memory.
#pragma once

#include <cstdint>

namespace gmt::interposer {

struct HostRanges {
  // Where brk() grows; the end leaves room for what it will take
  std::uint64_t heap_begin = 0, heap_end = 0;
  std::uint64_t stack_begin = 0, stack_end = 0;
};

// All 0 where /proc does not say.
HostRanges host_ranges() noexcept;

} // namespace gmt::interposer
