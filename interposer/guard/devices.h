// SPDX-License-Identifier: Apache-2.0
// What the fence has to know of each device: whether it can map memory, how blocks are aligned,
// which other devices may use its blocks.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace gmt::interposer {

struct GuardDevice {
  std::atomic<int> state{0}; // 0 unknown, 1 usable, 2 not
  std::atomic<std::uint64_t> alignment{0};
  std::atomic<std::uint64_t> pitch_alignment{0}; // 0 until asked for
  std::atomic<bool> rdma{false};
  // Bytes that blocks take beyond what plain ones would: cuMemGetInfo does not show them
  std::atomic<std::uint64_t> hidden{0};
  std::atomic<std::uint64_t> peers{0}; // a bit for each device that may use all of its memory
};
inline constexpr int kMostGuardDevices = 64;

// Null if the device cannot be fenced.
GuardDevice* guard_device(CUdevice device) noexcept;
// Of a block of so many bytes, mapped so.
constexpr std::uint64_t hidden_bytes(std::uint64_t bytes, std::uint64_t mapped) noexcept {
  constexpr std::uint64_t kPlainUnit = 512;
  return mapped - (bytes + kPlainUnit - 1) / kPlainUnit * kPlainUnit;
}
CUmemAllocationProp guard_properties(CUdevice device) noexcept;
// The bytes that rows of pitched memory start at a multiple of, as the driver does it; 0 unknown.
// The first time it allocates a row and frees it.
std::uint64_t ask_pitch_alignment(GuardDevice& device) noexcept;

// Lets the device itself and those of the mask use a mapping.
bool grant_access(CUdeviceptr mapping, std::uint64_t bytes, CUdevice own,
                  std::uint64_t peers) noexcept;
bool end_access(CUdeviceptr mapping, std::uint64_t bytes, CUdevice own, CUdevice peer) noexcept;

void forget_guard_devices() noexcept;

} // namespace gmt::interposer
