// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/devices.h"

#include <algorithm>

#include "interposer/guard/driver.h"
#include "interposer/guard/store/address_space.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constinit GuardDevice known_devices[kMostGuardDevices] = {};
constexpr auto kDirectMemory =
  static_cast<CUdevice_attribute>(110); // GPU_DIRECT_RDMA_WITH_CUDA_VMM
constexpr auto kVirtualMemory = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
enum GuardAlign : std::uint8_t { kDevice, k256, k16 }; // --guard-align

std::uint64_t alignment_of(CUdevice ordinal) noexcept {
  constexpr std::uint64_t kPromised = 256; // by cudaMalloc
  const std::uint64_t chosen = Process::options().guard_align;
  if (chosen == k16) return 16;
  int textures = 0;
  if (chosen == k256 ||
      guard_driver.attribute(&textures, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, ordinal) != 0)
    return kPromised;
  const auto wanted = static_cast<std::uint64_t>(std::clamp(textures, 0, 4096));
  std::uint64_t alignment = kPromised;
  while (alignment < wanted) alignment *= 2;
  return alignment;
}

bool is_usable(CUdevice ordinal) noexcept {
  int there = 0;
  if (guard_driver.attribute(&there, kVirtualMemory, ordinal) != 0 || there == 0) return false;
  const CUmemAllocationProp properties = guard_properties(ordinal);
  std::size_t granularity = 0;
  return guard_driver.granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
           0 &&
         granularity != 0 && kGuardUnit % granularity == 0;
}

} // namespace

GuardDevice* guard_device(CUdevice ordinal) noexcept {
  if (ordinal < 0 || ordinal >= kMostGuardDevices) return nullptr;
  GuardDevice& device = known_devices[ordinal];
  if (device.state.load(std::memory_order_acquire) == 0) {
    int there = 0;
    device.rdma.store(guard_driver.attribute(&there, kDirectMemory, ordinal) == 0 && there != 0);
    device.alignment.store(alignment_of(ordinal));
    device.state.store(is_usable(ordinal) ? 1 : 2, std::memory_order_release);
  }
  return device.state.load(std::memory_order_acquire) == 1 ? &device : nullptr;
}

CUmemAllocationProp guard_properties(CUdevice ordinal) noexcept {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  properties.allocFlags.gpuDirectRDMACapable = known_devices[ordinal].rdma.load() ? 1 : 0;
  return properties;
}

std::uint64_t ask_pitch_alignment(GuardDevice& device) noexcept {
  const std::uint64_t known = device.pitch_alignment.load(std::memory_order_relaxed);
  if (known != 0) return known;
  CUdeviceptr row = 0;
  std::size_t pitch = 0;
  constexpr unsigned kElement = 4;
  if (guard_driver.pitched(&row, &pitch, 1, 1, kElement) != 0) return 0;
  guard_driver.give_back(row);
  if ((pitch & (pitch - 1)) != 0) return 0; // no alignment that we know how to keep
  device.pitch_alignment.store(pitch);
  return pitch;
}

bool grant_access(CUdeviceptr mapping, std::uint64_t bytes, CUdevice own,
                  std::uint64_t peers) noexcept {
  CUmemAccessDesc access[kMostGuardDevices];
  unsigned count = 0;
  for (CUdevice i = 0; i < kMostGuardDevices; ++i) {
    if (i != own && (peers >> i & 1) == 0) continue;
    access[count] = {};
    access[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access[count].location.id = i;
    access[count++].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return guard_driver.set_access(mapping, bytes, access, count) == 0;
}

bool end_access(CUdeviceptr mapping, std::uint64_t bytes, CUdevice own, CUdevice peer) noexcept {
  CUmemAccessDesc access[2] = {};
  access[0].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access[0].location.id = own;
  access[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  access[1].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access[1].location.id = peer;
  access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return guard_driver.set_access(mapping, bytes, access, 2) == 0;
}

void forget_guard_devices() noexcept {
  for (GuardDevice& device : known_devices) {
    device.state.store(0);
    device.peers.store(0);
    device.hidden.store(0);
    device.pitch_alignment.store(0);
  }
}

} // namespace gmt::interposer
