// SPDX-License-Identifier: Apache-2.0
// Address ranges that are not pieces of a device's own memory: host memory behind a guard page, and
// files of other processes or of the program that the device can reach and the program cannot. Lock
// held. Invariant: a foreign range has a window without access, which is the address the program
// gets, and an alias that only the driver knows, like the device's own memory.
#pragma once

#include "simulated_cuda/driver/state/block.h"

#include <sys/types.h>

#include <cstddef>

namespace gmt::sim {

// Readable and writable memory; nullptr if there is none left. Unmapped memory is gone at once; its
// addresses rest, so that a use of them is one of freed memory and of no later block.
void* map_host_memory(std::size_t bytes);
void unmap_host_memory(void* memory, std::size_t bytes);

// The same behind a page that is no memory. A process has only so many mappings, and each such page
// costs one: where there are many already, it is a page of zeros.
void* map_behind_guard(std::size_t bytes);
void unmap_behind_guard(void* memory, std::size_t bytes);

// Maps [offset, offset + bytes) of a file; sets base, size and to_host of the block. The offset
// need not be a page's.
bool map_foreign(int fd, off_t offset, std::size_t bytes, Block* block);
void unmap_foreign(const Block& block);

// Whether the descriptor is a file that holds at least so many bytes.
bool holds(int fd, std::size_t bytes);

} // namespace gmt::sim
