// SPDX-License-Identifier: Apache-2.0
// Physical memory for blocks. Making it takes longer than all else, so that some of what blocks
// gave back is kept, by device and size, the last one first. Its lock is never held over a CUDA
// call.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

// 0 on success, else CUDA's answer. Where the device has no memory left, what is kept is given back
// to CUDA first.
int take_physical(const CUmemAllocationProp& properties, std::uint64_t bytes,
                  CUmemGenericAllocationHandle* memory) noexcept;
void give_physical(int device, std::uint64_t bytes, CUmemGenericAllocationHandle memory) noexcept;

std::uint64_t kept_bytes(int device) noexcept;
void release_kept(int device) noexcept; // to CUDA
void forget_kept() noexcept;            // in a forked child

} // namespace gmt::interposer
