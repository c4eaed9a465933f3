// SPDX-License-Identifier: Apache-2.0
// Calls that do many things at once: batches of copies, of prefetches and discards, of stream
// memory operations. Called through driver_api.def with the lock held. Each member is what the
// single call would be. Invariant: the legacy stream takes no batches (1); members before the one
// that fails have been done.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstddef>

namespace gmt::sim {
namespace {

bool is_legacy(CUstream stream) {
  return stream == CU_STREAM_LEGACY || (stream == nullptr && !this_thread().per_thread_default);
}

// `first[i]` says from which member on entry i of another list holds.
bool parts_are_valid(const std::size_t* first, std::size_t parts, std::size_t count) {
  if (first == nullptr || parts == 0 || parts > count || first[0] != 0) return false;
  for (std::size_t i = 1; i < parts; ++i) {
    if (first[i] <= first[i - 1] || first[i] >= count) return false;
  }
  return true;
}

// Pitches and heights of a 3-D operand count elements, and elements of a pointer are bytes unless
// an array is there.
void set_operand(const CUmemcpy3DOperand& side, std::size_t element, bool is_source,
                 CUDA_MEMCPY3D* copy) {
  CUmemorytype& type = is_source ? copy->srcMemoryType : copy->dstMemoryType;
  if (side.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    type = CU_MEMORYTYPE_ARRAY;
    (is_source ? copy->srcArray : copy->dstArray) = side.op.array.array;
    (is_source ? copy->srcXInBytes : copy->dstXInBytes) = side.op.array.offset.x * element;
    (is_source ? copy->srcY : copy->dstY) = side.op.array.offset.y;
    (is_source ? copy->srcZ : copy->dstZ) = side.op.array.offset.z;
    return;
  }
  type = CU_MEMORYTYPE_UNIFIED;
  (is_source ? copy->srcDevice : copy->dstDevice) = side.op.ptr.ptr;
  (is_source ? copy->srcPitch : copy->dstPitch) = side.op.ptr.rowLength * element;
  (is_source ? copy->srcHeight : copy->dstHeight) = side.op.ptr.layerHeight;
}

std::size_t element_of(const CUDA_MEMCPY3D_BATCH_OP& op) {
  for (const CUmemcpy3DOperand* side : {&op.src, &op.dst}) {
    const bool is_array = side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
    if (const Array* array = is_array ? state().arrays.get(side->op.array.array) : nullptr)
      return array->element;
  }
  return 1;
}

CUresult submit_member(const CUDA_MEMCPY3D_BATCH_OP& op, CUstream stream) {
  if (op.extent.width == 0 || op.extent.height == 0 || op.extent.depth == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const std::size_t element = element_of(op);
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = op.extent.width * element;
  copy.Height = op.extent.height;
  copy.Depth = op.extent.depth;
  set_operand(op.src, element, true, &copy);
  set_operand(op.dst, element, false, &copy);
  return submit(stream, copy);
}

CUresult submit_row(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = from;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = 1;
  copy.Depth = 1;
  return submit(stream, copy);
}

// Does member after member; `failed` receives the index of the first that could not be done, or
// SIZE_MAX.
template <class Member>
CUresult for_each_member(std::size_t count, std::size_t* failed, Member member) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = member(i);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

CUresult check_managed_members(const CUdeviceptr* addresses, const std::size_t* sizes,
                               std::size_t count, unsigned long long flags, CUstream stream) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0 || is_legacy(stream))
    return CUDA_ERROR_INVALID_VALUE;
  if (find_stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return for_each_member(count, nullptr, [&](std::size_t i) {
    const Block* block = state().blocks.containing(addresses[i]);
    const bool managed = block != nullptr && block->kind == BlockKind::kManaged && sizes[i] != 0;
    return managed && state().blocks.view(addresses[i], sizes[i]) != nullptr
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult check_locations(const CUmemLocation* locations, const std::size_t* first,
                         std::size_t parts, std::size_t count) {
  if (locations == nullptr || !parts_are_valid(first, parts, count))
    return CUDA_ERROR_INVALID_VALUE;
  return for_each_member(parts, nullptr, [&](std::size_t i) {
    const bool device = locations[i].type == CU_MEM_LOCATION_TYPE_DEVICE;
    return device && state().device(locations[i].id) == nullptr ? CUDA_ERROR_INVALID_DEVICE
                                                                : CUDA_SUCCESS;
  });
}

} // namespace

CUresult memcpy_batch_async_v1(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                               std::size_t count, CUmemcpyAttributes* attributes,
                               std::size_t* indices, std::size_t attribute_count,
                               std::size_t* failed, CUstream stream) {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (to == nullptr || from == nullptr || sizes == nullptr || count == 0 || is_legacy(stream))
    return CUDA_ERROR_INVALID_VALUE;
  if (attributes == nullptr || !parts_are_valid(indices, attribute_count, count))
    return CUDA_ERROR_INVALID_VALUE;
  return for_each_member(
    count, failed, [&](std::size_t i) { return submit_row(to[i], from[i], sizes[i], stream); });
}

CUresult memcpy_batch_async(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                            std::size_t count, CUmemcpyAttributes* attributes, std::size_t* indices,
                            std::size_t attribute_count, CUstream stream) {
  return memcpy_batch_async_v1(to, from, sizes, count, attributes, indices, attribute_count,
                               nullptr, stream);
}

CUresult memcpy_3d_batch_async_v1(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                                  std::size_t* failed, unsigned long long flags, CUstream stream) {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (list == nullptr || count == 0 || flags != 0 || is_legacy(stream))
    return CUDA_ERROR_INVALID_VALUE;
  return for_each_member(count, failed,
                         [&](std::size_t i) { return submit_member(list[i], stream); });
}

CUresult memcpy_3d_batch_async(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                               unsigned long long flags, CUstream stream) {
  return memcpy_3d_batch_async_v1(count, list, nullptr, flags, stream);
}

CUresult mem_prefetch_batch_async(CUdeviceptr* addresses, std::size_t* sizes, std::size_t count,
                                  CUmemLocation* locations, std::size_t* first, std::size_t parts,
                                  unsigned long long flags, CUstream stream) {
  if (CUresult bad = check_locations(locations, first, parts, count); bad != CUDA_SUCCESS)
    return bad;
  return check_managed_members(addresses, sizes, count, flags, stream);
}

CUresult mem_discard_batch_async(CUdeviceptr* addresses, std::size_t* sizes, std::size_t count,
                                 unsigned long long flags, CUstream stream) {
  return check_managed_members(addresses, sizes, count, flags, stream);
}

CUresult mem_discard_and_prefetch_batch_async(CUdeviceptr* addresses, std::size_t* sizes,
                                              std::size_t count, CUmemLocation* locations,
                                              std::size_t* first, std::size_t parts,
                                              unsigned long long flags, CUstream stream) {
  return mem_prefetch_batch_async(addresses, sizes, count, locations, first, parts, flags, stream);
}

CUresult stream_batch_mem_op(CUstream stream, unsigned count, CUstreamBatchMemOpParams* list,
                             unsigned flags) {
  if (list == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return for_each_member(count, nullptr, [&](std::size_t i) {
    const auto& wait = list[i].waitValue;
    const auto& write = list[i].writeValue;
    switch (list[i].operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return stream_wait_value_32(stream, wait.address, wait.value, wait.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return stream_wait_value_64(stream, wait.address, wait.value64, wait.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return stream_write_value_32(stream, write.address, write.value, write.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return stream_write_value_64(stream, write.address, write.value64, write.flags);
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS;
    default: return not_simulated("an operation of this kind");
    }
  });
}

} // namespace gmt::sim
