// SPDX-License-Identifier: Apache-2.0
// cuPointerGetAttribute(s), cuPointerSetAttribute, and the calls about managed memory that only
// advise. Called through driver_api.def with the lock held. Invariant: cuPointerGetAttribute
// refuses an unknown address, cuPointerGetAttributes answers zeros for it: that is how the runtime
// recognises unregistered host memory.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstring>

namespace gmt::sim {
namespace {

template <class T>
bool put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return true;
}

unsigned memory_type(const Block& block) {
  return block.kind == BlockKind::kPinned || block.kind == BlockKind::kRegistered
           ? CU_MEMORYTYPE_HOST
           : CU_MEMORYTYPE_DEVICE;
}

// Writes one attribute of a block; false if this driver does not know the attribute.
bool write_attribute(void* data, CUpointer_attribute attribute, const Block& block,
                     CUdeviceptr address) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: return put(data, block.context);
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return put(data, memory_type(block));
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(data, address);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    return put(data, block.device_only() ? CUdeviceptr{0} : address);
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return put(data, block.sync_memops);
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: return put(data, block.id);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return put(data, static_cast<int>(block.kind == BlockKind::kManaged));
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(data, block.device->ordinal);
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    return put(data, static_cast<int>(block.kind == BlockKind::kDevice));
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(data, block.base);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(data, block.size);
  case CU_POINTER_ATTRIBUTE_MAPPED: return put(data, 1);
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return put(data, 0ull);
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return put(data, 0);
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    return put(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return put(data, block.pool);
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return put(data, block.size);
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return put(data, block.base);
  case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return put(data, block.id);
  default: return false;
  }
}

std::size_t attribute_size(CUpointer_attribute attribute) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_MAPPED:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return 4;
  default: return 8;
  }
}

CUresult check_managed(CUdeviceptr address, std::size_t bytes) {
  const Block* block = state().blocks.containing(address);
  if (block == nullptr || block->kind != BlockKind::kManaged) return CUDA_ERROR_INVALID_VALUE;
  return bytes == 0 || state().blocks.view(address, bytes) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                                      : CUDA_SUCCESS;
}

bool location_exists(const CUmemLocation& location) {
  return location.type != CU_MEM_LOCATION_TYPE_DEVICE || state().device(location.id) != nullptr;
}

constexpr CUmemLocation kNowhere{CU_MEM_LOCATION_TYPE_INVALID, 0};
constexpr int kMostDevices = 63; // whose bits say that they access a block; then the host's

std::uint64_t bit_of(const CUmemLocation& location) {
  const bool is_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return std::uint64_t{1} << (is_device ? std::min(location.id, kMostDevices - 1) : kMostDevices);
}

CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

int device_at(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_INVALID) return CU_DEVICE_INVALID;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

// As many as there is room for; the rest is no device.
void list_accessors(const Block& block, int* devices, std::size_t room) {
  std::size_t count = 0;
  for (int bit = kMostDevices; bit >= 0; --bit) {
    if ((block.accessed_by >> bit & 1) == 0 || count == room) continue;
    devices[count++] = bit == kMostDevices ? CU_DEVICE_CPU : bit;
  }
  std::fill(devices + count, devices + room, CU_DEVICE_INVALID);
}

} // namespace

CUresult pointer_get_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Block* block = state().blocks.containing(address);
  if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && block->device_only())
    return CUDA_ERROR_INVALID_VALUE;
  return write_attribute(data, attribute, *block, address) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult pointer_get_attributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Block* block = state().blocks.containing(address);
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memset(data[i], 0, attribute_size(attributes[i]));
    if (block != nullptr) {
      write_attribute(data[i], attributes[i], *block, address);
    } else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
      put(data[i], -2); // "no device", as the real driver answers
    }
  }
  return CUDA_SUCCESS;
}

CUresult pointer_set_attribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  Block* block = state().blocks.containing(address);
  if (value == nullptr || block == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
    return CUDA_ERROR_INVALID_VALUE;
  block->sync_memops = *static_cast<const int*>(value);
  return CUDA_SUCCESS;
}

CUresult mem_advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                    CUmemLocation location) {
  if (!location_exists(location)) return CUDA_ERROR_INVALID_DEVICE;
  if (CUresult bad = check_managed(address, bytes); bad != CUDA_SUCCESS) return bad;
  Block* block = state().blocks.containing(address);
  if (block == nullptr) return CUDA_SUCCESS; // pageable memory
  switch (advice) {
  case CU_MEM_ADVISE_SET_READ_MOSTLY: block->is_read_mostly = true; break;
  case CU_MEM_ADVISE_UNSET_READ_MOSTLY: block->is_read_mostly = false; break;
  case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: block->preferred = location; break;
  case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: block->preferred = kNowhere; break;
  case CU_MEM_ADVISE_SET_ACCESSED_BY: block->accessed_by |= bit_of(location); break;
  case CU_MEM_ADVISE_UNSET_ACCESSED_BY: block->accessed_by &= ~bit_of(location); break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult mem_advise_v1(CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                       CUdevice device) {
  return mem_advise(address, bytes, advice, location_of(device));
}

CUresult mem_prefetch_async(CUdeviceptr address, std::size_t bytes, CUmemLocation location,
                            unsigned flags, CUstream stream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!location_exists(location)) return CUDA_ERROR_INVALID_DEVICE;
  if (find_stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult bad = check_managed(address, bytes); bad != CUDA_SUCCESS) return bad;
  if (Block* block = state().blocks.containing(address)) block->prefetched = location;
  return CUDA_SUCCESS;
}

CUresult mem_prefetch_async_v1(CUdeviceptr address, std::size_t bytes, CUdevice device,
                               CUstream stream) {
  return mem_prefetch_async(address, bytes, location_of(device), 0, stream);
}

CUresult mem_range_get_attribute(void* data, std::size_t size, CUmem_range_attribute attribute,
                                 CUdeviceptr address, std::size_t bytes) {
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_managed(address, bytes); bad != CUDA_SUCCESS) return bad;
  const Block* found = state().blocks.containing(address);
  const Block block = found == nullptr ? Block() : *found;
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    list_accessors(block, static_cast<int*>(data), size / sizeof(int));
    return CUDA_SUCCESS;
  }
  if (size != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  int value = 0;
  switch (attribute) {
  case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: value = block.is_read_mostly ? 1 : 0; break;
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: value = device_at(block.preferred); break;
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: value = device_at(block.prefetched); break;
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: value = block.preferred.type; break;
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: value = block.preferred.id; break;
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: value = block.prefetched.type; break;
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: value = block.prefetched.id; break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult mem_range_get_attributes(void** data, std::size_t* sizes,
                                  CUmem_range_attribute* attributes, std::size_t count,
                                  CUdeviceptr address, std::size_t bytes) {
  if (data == nullptr || sizes == nullptr || attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result =
      mem_range_get_attribute(data[i], sizes[i], attributes[i], address, bytes);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult stream_attach_mem_async(CUstream stream, CUdeviceptr address, std::size_t,
                                 unsigned flags) {
  if (find_stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
    return CUDA_ERROR_INVALID_VALUE;
  return check_managed(address, 1);
}

} // namespace gmt::sim
