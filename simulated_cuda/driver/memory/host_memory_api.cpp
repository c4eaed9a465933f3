// SPDX-License-Identifier: Apache-2.0
// Pinned and registered host memory: cuMemHostAlloc, cuMemFreeHost, cuMemHostRegister,
// cuMemHostUnregister, queries. Called through driver_api.def with the lock held. Invariant: with
// unified addressing the device address of host memory is its host address. Unregistering memory
// that was allocated pinned, or an address inside of a range, answers 1, memory that is not
// registered 713, overlapping registrations 712, registering memory that CUDA allocated 1. The page
// before a pinned block is no memory: free() of it crashes, as on a real device.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/state/mapping.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace gmt::sim {
namespace {

CUresult allocate_pinned(void** out, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (out == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  void* memory = map_behind_guard(bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Block block;
  block.base = reinterpret_cast<CUdeviceptr>(memory);
  block.size = bytes;
  block.kind = BlockKind::kPinned;
  block.flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
  block.context = this_thread().current();
  block.device = &current_device();
  state().blocks.add(block);
  *out = memory;
  return CUDA_SUCCESS;
}

// The registered block that has a byte in common with the range; any other block of CUDA's; or
// nullptr.
const Block* overlapped(CUdeviceptr address, std::size_t bytes) {
  const Block* found = nullptr;
  state().blocks.for_each_in(address, bytes, [&](const Block& block) {
    if (found == nullptr || block.kind == BlockKind::kRegistered) found = &block;
  });
  return found;
}

bool is_host_block(const Block* block) {
  return block != nullptr &&
         (block->kind == BlockKind::kPinned || block->kind == BlockKind::kRegistered);
}

// The real driver pins pages and fails on memory that is not there; mincore says so without
// touching it.
bool is_mapped(CUdeviceptr address, std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  unsigned char present = 0;
  for (CUdeviceptr at = address / page * page; at < address + bytes; at += page) {
    if (mincore(reinterpret_cast<void*>(at), 1, &present) != 0) return false;
  }
  return true;
}

} // namespace

CUresult mem_host_alloc(void** out, std::size_t bytes, unsigned flags) {
  return allocate_pinned(out, bytes, flags);
}
CUresult mem_alloc_host(void** out, std::size_t bytes) { return allocate_pinned(out, bytes, 0); }

CUresult mem_free_host(void* pointer) {
  if (pointer == nullptr) return CUDA_SUCCESS;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  Block* block = state().blocks.at_base(reinterpret_cast<CUdeviceptr>(pointer));
  if (block == nullptr || block->kind != BlockKind::kPinned) return CUDA_ERROR_INVALID_VALUE;
  release_block(*block);
  return CUDA_SUCCESS;
}

CUresult mem_host_register(void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (pointer == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  if (const Block* other = overlapped(address, bytes)) {
    return other->kind == BlockKind::kRegistered ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                 : CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_mapped(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  Block block;
  block.base = address;
  block.size = bytes;
  block.kind = BlockKind::kRegistered;
  block.flags = flags;
  block.context = this_thread().current();
  block.device = &current_device();
  state().blocks.add(block);
  return CUDA_SUCCESS;
}

CUresult mem_host_unregister(void* pointer) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  Block* block = state().blocks.at_base(address);
  const bool is_inside = block == nullptr && is_host_block(state().blocks.containing(address));
  if (block == nullptr && !is_inside) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (is_inside || block->kind != BlockKind::kRegistered) return CUDA_ERROR_INVALID_VALUE;
  release_block(*block);
  return CUDA_SUCCESS;
}

CUresult mem_host_get_device_pointer(CUdeviceptr* device, void* pointer, unsigned flags) {
  if (device == nullptr || pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  if (!is_host_block(state().blocks.containing(address))) return CUDA_ERROR_INVALID_VALUE;
  *device = address;
  return CUDA_SUCCESS;
}

CUresult mem_host_get_flags(unsigned* flags, void* pointer) {
  if (flags == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Block* block = state().blocks.containing(reinterpret_cast<CUdeviceptr>(pointer));
  if (!is_host_block(block)) return CUDA_ERROR_INVALID_VALUE;
  *flags = block->flags;
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
