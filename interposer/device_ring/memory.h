// SPDX-License-Identifier: Apache-2.0
// The shared memory of a device ring: a file in /dev/shm that outlives the process, with a link to
// it in the trace (device-<n>.ring) by which the command finds and removes it.
//
// Invariants: the memory is there to its last byte (a full /dev/shm is an error here, not a SIGBUS
// later); a file never stands without its link; a forked child does not have the mapping.
#pragma once

#include <cstddef>

namespace gmt::interposer {

struct RingMemory {
  char* base = nullptr;
  std::size_t bytes = 0;
  unsigned number = 0; // of device-<number>.ring and .log
};

// Zeroed memory, not yet linked to a log but under this number. Where /dev/shm cannot have it,
// memory that ends with the process; false if there is none at all.
bool make_ring_memory(RingMemory& memory, std::size_t bytes, unsigned number) noexcept;
// The memory serves another context, whose log has this number.
void renumber_ring_memory(RingMemory& memory, unsigned number) noexcept;
// Mapping, link and file.
void drop_ring_memory(RingMemory& memory) noexcept;

} // namespace gmt::interposer
