// SPDX-License-Identifier: Apache-2.0
// Sharing pools and cuMemCreate handles by file descriptors: export here, import in this or another
// process. Called through driver_api.def with the lock held. Invariant: only what was made for it
// can be exported (handleTypes of its properties); an imported pool gives no memory, it only opens
// pointers that its owner exported, each to be freed by cuMemFree or cuMemFreeAsync.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/state/mapping.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace gmt::sim {
namespace {

struct PointerData {
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(PointerData) <= sizeof(CUmemPoolPtrExportData));

CUresult check_type(CUmemAllocationHandleType type, unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
           ? CUDA_SUCCESS
           : not_simulated("handles that are no file descriptor");
}

CUresult give_copy(int file, void* out) {
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  std::memcpy(out, &copy, sizeof copy);
  return CUDA_SUCCESS;
}

// The program's descriptor stays the program's.
CUresult take_copy(void* handle, int* copy) {
  *copy = fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)), F_DUPFD_CLOEXEC, 0);
  if (*copy >= 0) return CUDA_SUCCESS;
  return errno == EBADF ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OPERATING_SYSTEM;
}

} // namespace

Pool::~Pool() {
  if (imported_file >= 0) close(imported_file);
}

CUresult mem_pool_export_to_shareable_handle(void* out, CUmemoryPool handle,
                                             CUmemAllocationHandleType type,
                                             unsigned long long flags) {
  const Pool* pool = find_pool(handle);
  if (out == nullptr || pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_type(type, flags); bad != CUDA_SUCCESS) return bad;
  if ((pool->props.handleTypes & type) == 0) return CUDA_ERROR_INVALID_VALUE;
  return give_copy(pool->device->memory_fd, out);
}

CUresult mem_pool_import_from_shareable_handle(CUmemoryPool* out, void* handle,
                                               CUmemAllocationHandleType type,
                                               unsigned long long flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_type(type, flags); bad != CUDA_SUCCESS) return bad;
  int file = -1;
  if (CUresult bad = take_copy(handle, &file); bad != CUDA_SUCCESS) return bad;
  auto pool = std::make_unique<Pool>();
  pool->device = state().device(0);
  pool->imported_file = file;
  *out = reinterpret_cast<CUmemoryPool>(state().pools.add(std::move(pool)));
  return CUDA_SUCCESS;
}

CUresult mem_pool_export_pointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  const Block* block = state().blocks.containing(address);
  if (out == nullptr || block == nullptr || block->kind != BlockKind::kPool)
    return CUDA_ERROR_INVALID_VALUE;
  if (block->pool->props.handleTypes == CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
  const PointerData data{block->device->offset_of(block->base), block->size};
  *out = {};
  std::memcpy(out->reserved, &data, sizeof data);
  return CUDA_SUCCESS;
}

CUresult mem_pool_import_pointer(CUdeviceptr* out, CUmemoryPool handle,
                                 CUmemPoolPtrExportData* exported) {
  Pool* pool = find_pool(handle);
  if (out == nullptr || exported == nullptr || pool == nullptr || pool->imported_file < 0)
    return CUDA_ERROR_INVALID_VALUE;
  PointerData data;
  std::memcpy(&data, exported->reserved, sizeof data);
  Block block;
  if (data.bytes == 0 || !holds(pool->imported_file, data.offset + data.bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (!map_foreign(pool->imported_file, static_cast<off_t>(data.offset), data.bytes, &block))
    return CUDA_ERROR_OUT_OF_MEMORY;
  block.kind = BlockKind::kPoolImport;
  block.context = this_thread().current();
  block.device = pool->device;
  block.pool = pool;
  state().blocks.add(block);
  pool->used.grow(block.size);
  *out = block.base;
  return CUDA_SUCCESS;
}

CUresult mem_export_to_shareable_handle(void* out, CUmemGenericAllocationHandle handle,
                                        CUmemAllocationHandleType type, unsigned long long flags) {
  const VmmHandle* memory = state().vmm_handles.get(handle);
  if (out == nullptr || memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_type(type, flags); bad != CUDA_SUCCESS) return bad;
  return memory->own_file < 0 ? CUDA_ERROR_INVALID_VALUE : give_copy(memory->own_file, out);
}

CUresult mem_import_from_shareable_handle(CUmemGenericAllocationHandle* out, void* handle,
                                          CUmemAllocationHandleType type) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_type(type, 0); bad != CUDA_SUCCESS) return bad;
  int file = -1;
  struct stat status{};
  if (CUresult bad = take_copy(handle, &file); bad != CUDA_SUCCESS) return bad;
  if (fstat(file, &status) != 0 || status.st_size <= 0) {
    close(file);
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto memory = std::make_unique<VmmHandle>();
  memory->device = state().device(0);
  memory->bytes = static_cast<std::size_t>(status.st_size);
  memory->own_file = file;
  memory->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory->prop.requestedHandleTypes = type;
  memory->prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  *out = reinterpret_cast<CUmemGenericAllocationHandle>(state().vmm_handles.add(std::move(memory)));
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
