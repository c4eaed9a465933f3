// SPDX-License-Identifier: Apache-2.0
// External memory: a file descriptor that stands for another API's memory (a memfd here), and
// buffers mapped from it. Called through driver_api.def with the lock held. Semaphores and
// mipmapped arrays of external memory answer 801. Invariant: an import owns its descriptor; buffers
// outlive the import and are freed by cuMemFree.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/state/mapping.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <unistd.h>

namespace gmt::sim {

ExternalMemory::~ExternalMemory() { close(file); }

CUresult import_external_memory(CUexternalMemory* out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  if (out == nullptr || desc == nullptr || desc->size == 0) return CUDA_ERROR_INVALID_VALUE;
  if ((desc->flags & ~static_cast<unsigned>(CUDA_EXTERNAL_MEMORY_DEDICATED)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
    return not_simulated("handles that are no file descriptor");
  if (!holds(desc->handle.fd, desc->size)) return CUDA_ERROR_INVALID_VALUE;
  auto memory = std::make_unique<ExternalMemory>();
  memory->context = this_thread().current();
  memory->file = desc->handle.fd;
  memory->bytes = desc->size;
  *out = reinterpret_cast<CUexternalMemory>(state().external_memory.add(std::move(memory)));
  return CUDA_SUCCESS;
}

CUresult external_memory_get_mapped_buffer(CUdeviceptr* out, CUexternalMemory handle,
                                           const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
  const ExternalMemory* memory = state().external_memory.get(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || desc == nullptr || desc->flags != 0 || desc->size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (desc->offset > memory->bytes || desc->size > memory->bytes - desc->offset)
    return CUDA_ERROR_INVALID_VALUE;
  Block block;
  if (!map_foreign(memory->file, static_cast<off_t>(desc->offset), desc->size, &block))
    return CUDA_ERROR_OUT_OF_MEMORY;
  block.kind = BlockKind::kExternal;
  block.context = this_thread().current();
  block.device = &current_device();
  state().blocks.add(block);
  *out = block.base;
  return CUDA_SUCCESS;
}

CUresult destroy_external_memory(CUexternalMemory handle) {
  const ExternalMemory* memory = state().external_memory.get(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state().external_memory.take(memory);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
