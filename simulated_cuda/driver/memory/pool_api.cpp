// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory and its pools. Work is done in call order, so an allocation exists from the
// call on and a freed one is gone when cuMemFreeAsync returns: later use of it is refused, as the
// real driver does. Called through driver_api.def, and by operation.cpp for graph nodes, with the
// lock held. Invariant: pool memory survives the context; a destroyed pool lives until its last
// block is freed.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/state/mapping.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstddef>
#include <cstdint>

namespace gmt::sim {
namespace {

constexpr std::size_t kReserveUnit = std::size_t{32} << 20; // by which the real pool grows

CUmemoryPool handle_of(Pool* pool) { return reinterpret_cast<CUmemoryPool>(pool); }

std::uint64_t reserved(std::size_t used) { return round_up(used, kReserveUnit); }

// Pools of the host have pinned memory. One is on no device; its blocks are as if the current
// one's.
bool is_host_location(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id == 0);
}
bool is_host_pool(const Pool& pool) { return is_host_location(pool.props.location); }

Pool* make_pool(const CUmemPoolProps& props, Device* device) {
  auto made = std::make_unique<Pool>();
  made->device = device;
  made->props = props;
  return state().pools.add(std::move(made));
}

// The pool that the host has from the start.
CUmemoryPool default_host_pool() {
  static Pool* const pool = [] {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
    Pool* made = make_pool(props, state().device(0));
    made->is_default = true;
    return made;
  }();
  return handle_of(pool);
}

CUresult allocate_from(Pool* pool, CUdeviceptr* address, std::size_t bytes,
                       CUstream stream_handle) {
  if (address == nullptr || bytes == 0 || pool == nullptr || pool->imported_file >= 0)
    return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = find_stream(stream_handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    AllocOperation alloc;
    alloc.params.poolProps = pool->props;
    alloc.params.bytesize = bytes;
    GraphNode* node = nullptr;
    const CUresult result = submit(stream_handle, std::move(alloc), &node);
    if (result == CUDA_SUCCESS) *address = std::get<AllocOperation>(node->operation).params.dptr;
    return result;
  }
  const std::size_t limit = pool->props.maxSize;
  if (limit != 0 && pool->used.current + bytes > limit) return CUDA_ERROR_OUT_OF_MEMORY;
  const bool is_of_host = is_host_pool(*pool);
  const CUdeviceptr base =
    is_of_host ? reinterpret_cast<CUdeviceptr>(map_behind_guard(bytes)) : pool->device->take(bytes);
  if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Block block;
  block.base = base;
  block.size = bytes;
  block.to_host = is_of_host ? 0 : pool->device->to_host();
  block.kind = is_of_host ? BlockKind::kPinned : BlockKind::kPool;
  if (is_of_host) block.flags = CU_MEMHOSTALLOC_DEVICEMAP;
  block.context = this_thread().current();
  block.device = pool->device;
  block.pool = pool;
  state().blocks.add(block);
  pool->used.grow(bytes);
  pool->kept = std::max(reserved(pool->used.current), pool->kept);
  *address = base;
  return CUDA_SUCCESS;
}

CUresult pool_of_location(CUmemoryPool* pool, const CUmemLocation* location, bool current) {
  if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (is_host_location(*location)) {
    *pool = default_host_pool();
    return CUDA_SUCCESS;
  }
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  Device* device = state().device(location->id);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = handle_of(current ? device->current_pool : device->default_pool.get());
  return CUDA_SUCCESS;
}

} // namespace

Pool* find_pool(CUmemoryPool handle) {
  Pool* pool = state().pools.get(handle);
  if (pool != nullptr) return pool->destroyed ? nullptr : pool;
  for (const auto& device : state().devices) {
    if (reinterpret_cast<CUmemoryPool>(device->default_pool.get()) == handle)
      return device->default_pool.get();
  }
  return nullptr;
}

CUresult mem_alloc_async(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return allocate_from(current_device().current_pool, address, bytes, stream);
}

CUresult mem_alloc_from_pool_async(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                   CUstream stream) {
  return allocate_from(find_pool(pool), address, bytes, stream);
}

CUresult free_stream_ordered(CUdeviceptr address) {
  Block* block = state().blocks.at_base(address);
  if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (block->kind) {
  case BlockKind::kDevice: // the real driver takes cudaMalloc memory here
  case BlockKind::kPool:
  case BlockKind::kPoolImport:
  case BlockKind::kGraph: release_block(*block); return CUDA_SUCCESS;
  case BlockKind::kPinned: // of a pool of the host
    if (block->pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    release_block(*block);
    return CUDA_SUCCESS;
  case BlockKind::kManaged: return CUDA_ERROR_NOT_SUPPORTED;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult mem_free_async(CUdeviceptr address, CUstream stream_handle) {
  const Stream* stream = find_stream(stream_handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (address == 0) return CUDA_SUCCESS;
  return submit(stream_handle, FreeOperation{address});
}

CUresult mem_pool_create(CUmemoryPool* pool, const CUmemPoolProps* props) {
  if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
    return not_simulated("pools of managed memory");
  const bool is_of_host = is_host_location(props->location);
  if (!is_of_host && props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  Device* device = is_of_host ? &current_device() : state().device(props->location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = handle_of(make_pool(*props, device));
  return CUDA_SUCCESS;
}

CUresult mem_pool_destroy(CUmemoryPool handle) {
  Pool* pool = find_pool(handle);
  if (pool == nullptr || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  pool->destroyed = true;
  if (pool->device->current_pool == pool)
    pool->device->current_pool = pool->device->default_pool.get();
  if (pool->used.current == 0) state().pools.take(pool);
  return CUDA_SUCCESS;
}

CUresult mem_pool_trim_to(CUmemoryPool handle, std::size_t bytes) {
  Pool* pool = find_pool(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  pool->kept = std::min<std::uint64_t>(pool->kept, round_up(bytes, kReserveUnit));
  return CUDA_SUCCESS;
}

CUresult mem_pool_set_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  Pool* pool = find_pool(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    pool->reuse_follow_event = *static_cast<int*>(value);
    break;
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    pool->reuse_opportunistic = *static_cast<int*>(value);
    break;
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    pool->reuse_internal = *static_cast<int*>(value);
    break;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    pool->release_threshold = *static_cast<cuuint64_t*>(value);
    break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    if (*static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    pool->used.high = pool->used.current;
    break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult mem_pool_get_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  const Pool* pool = find_pool(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  auto* number = static_cast<cuuint64_t*>(value);
  switch (attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    *static_cast<int*>(value) = pool->reuse_follow_event;
    break;
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    *static_cast<int*>(value) = pool->reuse_opportunistic;
    break;
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    *static_cast<int*>(value) = pool->reuse_internal;
    break;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *number = pool->release_threshold; break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    *number = std::max(reserved(pool->used.current),
                       reserved(std::min(pool->kept, pool->release_threshold)));
    break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *number = reserved(pool->used.high); break;
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *number = pool->used.current; break;
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *number = pool->used.high; break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult mem_pool_set_access(CUmemoryPool handle, const CUmemAccessDesc* map, std::size_t count) {
  Pool* pool = find_pool(handle);
  if (pool == nullptr || (map == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (state().device(map[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (!is_host_pool(*pool) && map[i].location.id == pool->device->ordinal &&
        map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) pool->access_of_others[map[i].location.id] = map[i].flags;
  return CUDA_SUCCESS;
}

CUresult mem_pool_get_access(CUmemAccess_flags* flags, CUmemoryPool handle,
                             CUmemLocation* location) {
  const Pool* pool = find_pool(handle);
  if (flags == nullptr || pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto known = pool->access_of_others.find(location->id);
  *flags = known == pool->access_of_others.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : known->second;
  if (!is_host_pool(*pool) && location->id == pool->device->ordinal)
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult device_get_default_mem_pool(CUmemoryPool* pool, CUdevice ordinal) {
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return pool_of_location(pool, &location, false);
}

CUresult device_get_mem_pool(CUmemoryPool* pool, CUdevice ordinal) {
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return pool_of_location(pool, &location, true);
}

CUresult device_set_mem_pool(CUdevice ordinal, CUmemoryPool handle) {
  Device* device = state().device(ordinal);
  Pool* pool = find_pool(handle);
  if (device == nullptr || pool == nullptr || pool->device != device || is_host_pool(*pool))
    return CUDA_ERROR_INVALID_VALUE;
  device->current_pool = pool;
  return CUDA_SUCCESS;
}

CUresult mem_get_default_mem_pool(CUmemoryPool* pool, CUmemLocation* location,
                                  CUmemAllocationType) {
  return pool_of_location(pool, location, false);
}

CUresult mem_get_mem_pool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType) {
  return pool_of_location(pool, location, true);
}

CUresult mem_set_mem_pool(CUmemLocation* location, CUmemAllocationType, CUmemoryPool pool) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return device_set_mem_pool(location->id, pool);
}

} // namespace gmt::sim
