// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: address reservations, physical handles, mappings, access.
// Called through driver_api.def with the lock held. Each reservation has an alias of the same
// shape, so neighbouring mappings are contiguous for the driver too; mapping a handle maps its part
// of the device's memfd into the alias. Invariant: a handle's memory lives until its last reference
// and its last mapping are gone; unmapping needs the exact ranges that were mapped; a context's end
// changes none of this.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/operation.h"

#include "simulated_cuda/common/memory_file.h"
#include "simulated_cuda/driver/execution/block_states.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace gmt::sim {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;
// Of addresses in one reservation: the host has 128 TiB for all of them, and each needs twice as
// many.
constexpr std::size_t kMostReserved = std::size_t{4} << 40;

CUmemGenericAllocationHandle handle_of(const VmmHandle* handle) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(handle);
}

void release_if_unused(VmmHandle* handle) {
  if (handle->references != 0 || handle->mappings != 0) return;
  if (handle->memory != 0) handle->device->give(handle->memory, handle->bytes);
  if (handle->own_file >= 0) close(handle->own_file);
  state().vmm_handles.take(handle);
}

// The reservation that holds the whole range, or end().
auto find_reservation(CUdeviceptr address, std::size_t bytes) {
  auto& all = state().reservations;
  auto it = all.upper_bound(address);
  if (it == all.begin()) return all.end();
  --it;
  const bool inside =
    address - it->first < it->second.bytes && bytes <= it->second.bytes - (address - it->first);
  return inside ? it : all.end();
}

CUresult check_properties(const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return not_simulated("physical memory of the host");
  return state().device(prop->location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

} // namespace

// Where the caller would have it, if nothing is there.
static bool reserve_at(CUdeviceptr wanted, std::size_t alignment, Reservation* reservation) {
  if (wanted == 0 || wanted % alignment != 0) return false;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const at = reinterpret_cast<void*>(wanted); // NOLINT(performance-no-int-to-ptr)
  void* const map = mmap(at, reservation->bytes, PROT_NONE, kFlags, -1, 0);
  if (map == MAP_FAILED) return false;
  reservation->window_map = map;
  reservation->map_bytes = reservation->bytes;
  if (map == at) return true;
  munmap(map, reservation->bytes); // an older kernel takes it for a hint
  return false;
}

CUresult mem_address_reserve(CUdeviceptr* out, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags) {
  if (out == nullptr || bytes == 0 || bytes % kGranularity != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (alignment == 0) alignment = kGranularity;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (alignment < kGranularity) alignment = kGranularity;
  if (bytes > kMostReserved) return CUDA_ERROR_OUT_OF_MEMORY;
  Reservation reservation;
  reservation.bytes = bytes;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (!reserve_at(wanted, alignment, &reservation)) {
    reservation.map_bytes = bytes + alignment;
    reservation.window_map = mmap(nullptr, reservation.map_bytes, PROT_NONE, kFlags, -1, 0);
  }
  void* alias = mmap(nullptr, bytes, PROT_NONE, kFlags, -1, 0);
  if (reservation.window_map == MAP_FAILED || alias == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  reservation.alias = static_cast<std::byte*>(alias);
  *out = round_up(reinterpret_cast<CUdeviceptr>(reservation.window_map), alignment);
  state().reservations.emplace(*out, reservation);
  return CUDA_SUCCESS;
}

CUresult mem_address_free(CUdeviceptr address, std::size_t bytes) {
  auto it = state().reservations.find(address);
  if (it == state().reservations.end() || it->second.bytes != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (state().blocks.overlaps(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  munmap(it->second.window_map, it->second.map_bytes);
  munmap(it->second.alias, bytes);
  state().reservations.erase(it);
  return CUDA_SUCCESS;
}

CUresult mem_create(CUmemGenericAllocationHandle* out, std::size_t bytes,
                    const CUmemAllocationProp* prop, unsigned long long flags) {
  if (out == nullptr || bytes == 0 || bytes % kGranularity != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_properties(prop); bad != CUDA_SUCCESS) return bad;
  Device* device = state().device(prop->location.id);
  const CUdeviceptr memory = device->take(bytes, kGranularity);
  if (memory == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  int own_file = -1;
  if ((prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    own_file = memory_file("gpumemtrace-simulated-allocation", bytes);
    if (own_file < 0) {
      device->give(memory, bytes);
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
  }
  auto handle = std::make_unique<VmmHandle>();
  handle->device = device;
  handle->memory = memory;
  handle->bytes = bytes;
  handle->own_file = own_file;
  handle->prop = *prop;
  *out = handle_of(state().vmm_handles.add(std::move(handle)));
  return CUDA_SUCCESS;
}

CUresult mem_release(CUmemGenericAllocationHandle handle) {
  VmmHandle* found = state().vmm_handles.get(handle);
  if (found == nullptr || found->references == 0) return CUDA_ERROR_INVALID_VALUE;
  --found->references;
  release_if_unused(found);
  return CUDA_SUCCESS;
}

CUresult mem_map(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
  VmmHandle* found = state().vmm_handles.get(handle);
  if (found == nullptr || offset != 0 || flags != 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (address % kGranularity != 0 || bytes % kGranularity != 0 || bytes > found->bytes)
    return CUDA_ERROR_INVALID_VALUE;
  const auto it = find_reservation(address, bytes);
  if (it == state().reservations.end() || state().blocks.overlaps(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  std::byte* target = it->second.alias + (address - it->first);
  constexpr int kFlags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  const bool is_mapped = found->own_file < 0 ? found->device->map_at(target, found->memory, bytes)
                                             : mmap(target, bytes, PROT_READ | PROT_WRITE, kFlags,
                                                    found->own_file, 0) != MAP_FAILED;
  if (!is_mapped) return CUDA_ERROR_OUT_OF_MEMORY;
  Block block;
  block.base = address;
  block.size = bytes;
  block.to_host = reinterpret_cast<std::intptr_t>(target) - static_cast<std::intptr_t>(address);
  block.kind = BlockKind::kVmm;
  block.devices = 0;
  block.context = nullptr;
  block.device = found->device;
  block.handle = handle;
  state().blocks.add(block);
  ++found->mappings;
  return CUDA_SUCCESS;
}

// Visits the mappings that make up a range exactly; false if the range cuts one or has a hole.
template <class Visit>
static bool for_each_mapping(CUdeviceptr address, std::size_t bytes, Visit visit) {
  std::vector<Block*> mappings;
  std::size_t covered = 0;
  while (covered < bytes) {
    Block* block = state().blocks.at_base(address + covered);
    if (block == nullptr || block->kind != BlockKind::kVmm || block->size > bytes - covered)
      return false;
    mappings.push_back(block);
    covered += block->size;
  }
  for (Block* block : mappings) visit(*block);
  return bytes != 0;
}

CUresult mem_unmap(CUdeviceptr address, std::size_t bytes) {
  const bool exact = for_each_mapping(address, bytes, [](Block& block) {
    void* alias = reinterpret_cast<void*>(static_cast<std::intptr_t>(block.base) + block.to_host);
    mmap(alias, block.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
    VmmHandle* handle = state().vmm_handles.get(block.handle);
    state().blocks.remove(block.base);
    --handle->mappings;
    release_if_unused(handle);
  });
  if (exact) return CUDA_SUCCESS;
  // Unmapping what is reserved and not mapped is no mistake to an H200.
  const bool reserved = find_reservation(address, bytes) != state().reservations.end();
  return reserved && !state().blocks.overlaps(address, bytes) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult mem_set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* descriptions,
                        std::size_t count) {
  if (descriptions == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t given = 0, taken = 0; // a bit for each device
  for (std::size_t i = 0; i < count; ++i) {
    const int device = descriptions[i].location.id;
    if (state().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const bool access = descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    (access ? given : taken) |= std::uint64_t{1} << device;
  }
  const bool exact = for_each_mapping(address, bytes, [=](Block& block) {
    VmmHandle* handle = state().vmm_handles.get(block.handle);
    const bool was_accessible = block.is_accessible();
    block.devices = (block.devices & ~taken) | given;
    mapping_changed(state().memory, block, was_accessible,
                    handle->was_accessible || handle->memory == 0);
    handle->was_accessible = handle->was_accessible || block.is_accessible();
  });
  return exact ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult mem_get_access(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  const Block* block = state().blocks.containing(address);
  if (flags == nullptr || location == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const bool access = (block->devices >> location->id & 1) != 0;
  *flags = access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult mem_get_allocation_granularity(std::size_t* granularity, const CUmemAllocationProp* prop,
                                        CUmemAllocationGranularity_flags) {
  if (granularity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_properties(prop); bad != CUDA_SUCCESS) return bad;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult mem_get_allocation_properties_from_handle(CUmemAllocationProp* prop,
                                                   CUmemGenericAllocationHandle handle) {
  const VmmHandle* found = state().vmm_handles.get(handle);
  if (prop == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = found->prop;
  return CUDA_SUCCESS;
}

CUresult mem_retain_allocation_handle(CUmemGenericAllocationHandle* handle, void* address) {
  const Block* block = state().blocks.containing(reinterpret_cast<CUdeviceptr>(address));
  if (handle == nullptr || block == nullptr || block->kind != BlockKind::kVmm)
    return CUDA_ERROR_INVALID_VALUE;
  *handle = block->handle;
  ++state().vmm_handles.get(block->handle)->references;
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
