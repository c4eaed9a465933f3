// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc, cuMemAllocPitch, cuMemFree, cuMemAllocManaged, cuMemGetInfo and cuMemGetAddressRange.
// Called through driver_api.def with the lock held.
// Invariant: an address is freed only as the base of a live block that cuMemFree may free; anything
// else answers 1.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/state/mapping.h"
#include "simulated_cuda/driver/state/placed.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstddef>
#include <limits>

namespace gmt::sim {
namespace {

constexpr std::size_t kMaxPitch = 2147483647;

CUresult allocate_device(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  Device& device = current_device();
  Block block;
  block.size = bytes;
  if (!take_placed(&block)) {
    block.base = device.take(bytes);
    block.to_host = device.to_host();
  }
  if (block.base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  block.context = this_thread().current();
  block.device = &device;
  state().blocks.add(block);
  *address = block.base;
  return CUDA_SUCCESS;
}

} // namespace

CUresult mem_alloc(CUdeviceptr* address, std::size_t bytes) {
  return allocate_device(address, bytes);
}

CUresult mem_alloc_pitch(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                         std::size_t height, unsigned element) {
  if (pitch == nullptr || width == 0 || height == 0 || width > kMaxPitch)
    return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = round_up(width, state().settings.pitch_alignment);
  if (height > std::numeric_limits<std::size_t>::max() / row) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = allocate_device(address, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult mem_free(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  Block* block = state().blocks.at_base(address);
  if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (block->kind) {
  case BlockKind::kDevice:
  case BlockKind::kPool:
  case BlockKind::kPoolImport:
  case BlockKind::kExternal:
  case BlockKind::kGraph: release_block(*block); return CUDA_SUCCESS;
  case BlockKind::kManaged:
    if ((block->flags & kStaticVariable) != 0) return CUDA_ERROR_INVALID_VALUE;
    release_block(*block);
    return CUDA_SUCCESS;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult mem_alloc_managed(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  void* memory = map_host_memory(bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Block block;
  block.base = reinterpret_cast<CUdeviceptr>(memory);
  block.size = bytes;
  block.kind = BlockKind::kManaged;
  block.flags = flags;
  block.context = this_thread().current();
  block.device = &current_device();
  state().blocks.add(block);
  *address = block.base;
  return CUDA_SUCCESS;
}

CUresult mem_get_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Device& device = current_device();
  if (free_bytes != nullptr) *free_bytes = device.free_bytes();
  if (total_bytes != nullptr) *total_bytes = device.arena.capacity();
  return CUDA_SUCCESS;
}

CUresult mem_get_address_range(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  const Block* block = state().blocks.containing(address);
  if (block == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block->base;
  if (bytes != nullptr) *bytes = block->size;
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
