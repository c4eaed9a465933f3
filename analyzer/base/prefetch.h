// SPDX-License-Identifier: Apache-2.0
// Asks the processor for memory that is going to be read or written soon. Used where the analysis
// knows some events ahead what it will need: its tables are larger than the caches, and waiting for
// memory would be most of its time.
#pragma once

namespace gmt {

// The empty statement keeps GCC from taking a function that only prefetches for one without effect,
// whose calls it drops.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

} // namespace gmt
