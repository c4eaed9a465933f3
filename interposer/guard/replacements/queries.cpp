// SPDX-License-Identifier: Apache-2.0
// Replacements of what the program asks about addresses and memory: the answers are those that
// plain blocks would have got. Bytes that are mapped beside a block are no memory to the program.
#include <algorithm>
#include <cstring>

#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/replacements/replacements.h"
#include "interposer/guard/store/physical.h"

namespace gmt::interposer {

namespace {

#define ROW(symbol) driver_row<decltype(symbol##_here)>(trace::kApi_##symbol)
#define HERE(symbol) install(trace::kApi_##symbol, reinterpret_cast<void*>(&symbol##_here))

CUresult cuMemGetInfo_v2_here(std::size_t* free_bytes, std::size_t* total) noexcept {
  const CUresult result = ROW(cuMemGetInfo_v2)(free_bytes, total);
  CUdevice ordinal = -1;
  if (result != CUDA_SUCCESS || !guard_is_on() || free_bytes == nullptr) return result;
  if (guard_driver.device(&ordinal) != 0) return result;
  const GuardDevice* device = guard_device(ordinal);
  if (device == nullptr) return result;
  *free_bytes += device->hidden.load() + kept_bytes(ordinal);
  if (total != nullptr) *free_bytes = std::min(*free_bytes, *total);
  return result;
}

bool is_inside(const GuardBlock& block, CUdeviceptr address) noexcept {
  return address >= block.address && address < block.end() && block.state == BlockState::kLive;
}

CUresult cuMemGetAddressRange_v2_here(CUdeviceptr* base, std::size_t* bytes,
                                      CUdeviceptr address) noexcept {
  GuardBlock block;
  if (!guard_is_on() || !find_guarded(address, &block))
    return ROW(cuMemGetAddressRange_v2)(base, bytes, address);
  if (!is_inside(block, address)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block.address;
  if (bytes != nullptr) *bytes = block.bytes;
  return CUDA_SUCCESS;
}

template <class T> bool put(void* data, T value) noexcept {
  std::memcpy(data, &value, sizeof value);
  return true;
}

// What is another answer for a mapping than for a block; false for all else.
bool write_attribute(void* data, CUpointer_attribute attribute, const GuardBlock& block) noexcept {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: return put(data, block.context);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return put(data, block.address);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return put(data, block.bytes);
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return put(data, block.pool);
  default: return false;
  }
}

CUresult cuPointerGetAttribute_here(void* data, CUpointer_attribute attribute,
                                    CUdeviceptr address) noexcept {
  GuardBlock block;
  if (!guard_is_on() || data == nullptr || !find_guarded(address, &block))
    return ROW(cuPointerGetAttribute)(data, attribute, address);
  if (!is_inside(block, address)) return CUDA_ERROR_INVALID_VALUE;
  if (write_attribute(data, attribute, block)) return CUDA_SUCCESS;
  return ROW(cuPointerGetAttribute)(data, attribute, address);
}

CUresult cuPointerGetAttributes_here(unsigned count, CUpointer_attribute* attributes, void** data,
                                     CUdeviceptr address) noexcept {
  GuardBlock block;
  if (!guard_is_on() || !find_guarded(address, &block))
    return ROW(cuPointerGetAttributes)(count, attributes, data, address);
  // Behind the mapping there is nothing, as there seems to be here.
  const bool inside = is_inside(block, address);
  const CUdeviceptr asked = inside ? address : block.mapping + block.mapped;
  const CUresult result = ROW(cuPointerGetAttributes)(count, attributes, data, asked);
  for (unsigned i = 0; result == CUDA_SUCCESS && inside && i < count; ++i)
    write_attribute(data[i], attributes[i], block);
  return result;
}

// Pools grow by as much, as they do without the fence.
std::uint64_t reserved(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kUnit = 32 << 20;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

CUresult cuMemPoolGetAttribute_here(CUmemoryPool pool, CUmemPool_attribute attribute,
                                    void* value) noexcept {
  const CUresult result = ROW(cuMemPoolGetAttribute)(pool, attribute, value);
  if (result != CUDA_SUCCESS || !guard_is_on()) return result;
  const PoolUse use = pool_use(pool);
  auto* number = static_cast<cuuint64_t*>(value);
  switch (attribute) {
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *number += use.current; break;
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *number += use.high; break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *number += reserved(use.current); break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *number += reserved(use.high); break;
  default: break;
  }
  return result;
}

} // namespace

void install_queries(Install install) noexcept {
  HERE(cuMemGetInfo_v2);
  HERE(cuMemGetAddressRange_v2);
  HERE(cuPointerGetAttribute);
  HERE(cuPointerGetAttributes);
  HERE(cuMemPoolGetAttribute);
}

} // namespace gmt::interposer
