// SPDX-License-Identifier: Apache-2.0
// Allocation and release through the runtime: linear, pitched, managed, pinned and stream-ordered
// memory. Called through runtime_api.def. Invariant: a size of zero never reaches the driver and
// gives a null pointer; cudaFree(NULL) does reach it, because programs use it to start CUDA.
// Stream-ordered calls try the driver first and make a context only if it asks for one.
#include "simulated_cuda/runtime/api.h"

#include <cstddef>

namespace gmt::sim {
namespace {

constexpr unsigned kElementBytes = 4;

CUdeviceptr* as_address(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }
bool wants_context(CUresult result) {
  return result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT ||
         result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

template <class Call>
cudaError_t call_then_retry(Call call) {
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  CUresult result = call();
  if (!wants_context(result)) return to_runtime(result);
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(call());
}

// Runs a call that needs a context.
template <class Call>
cudaError_t in_context(Call call) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(call());
}

cudaError_t allocate_pinned(void** pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return use_context();
  }
  return in_context([&] { return driver().cuMemHostAlloc(pointer, bytes, flags); });
}

} // namespace

cudaError_t malloc_device(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return use_context();
  }
  return in_context([&] { return driver().cuMemAlloc(as_address(pointer), bytes); });
}

cudaError_t malloc_pitch(void** pointer, std::size_t* pitch, std::size_t width,
                         std::size_t height) {
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  if (width == 0 || height == 0) {
    *pointer = nullptr;
    *pitch = 0;
    return use_context();
  }
  return in_context([&] {
    return driver().cuMemAllocPitch(as_address(pointer), pitch, width, height, kElementBytes);
  });
}

cudaError_t malloc_3d(cudaPitchedPtr* out, cudaExtent extent) {
  if (out == nullptr) return cudaErrorInvalidValue;
  void* pointer = nullptr;
  std::size_t pitch = 0;
  const std::size_t rows = extent.height * extent.depth;
  const cudaError_t error = malloc_pitch(&pointer, &pitch, extent.width, rows);
  if (error == cudaSuccess) *out = {pointer, pitch, extent.width, extent.height};
  return error;
}

cudaError_t malloc_managed(void** pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return use_context();
  }
  return in_context([&] { return driver().cuMemAllocManaged(as_address(pointer), bytes, flags); });
}

cudaError_t malloc_host(void** pointer, std::size_t bytes) {
  return allocate_pinned(pointer, bytes, 0);
}
cudaError_t host_alloc(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate_pinned(pointer, bytes, flags);
}

cudaError_t malloc_async(void** pointer, std::size_t bytes, cudaStream_t stream) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return use_context();
  }
  return call_then_retry(
    [&] { return driver().cuMemAllocAsync(as_address(pointer), bytes, stream); });
}

cudaError_t malloc_from_pool_async(void** pointer, std::size_t bytes, cudaMemPool_t pool,
                                   cudaStream_t stream) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return use_context();
  }
  return call_then_retry(
    [&] { return driver().cuMemAllocFromPoolAsync(as_address(pointer), bytes, pool, stream); });
}

cudaError_t free_device(void* pointer) {
  return in_context([&] { return driver().cuMemFree(address_of(pointer)); });
}

cudaError_t free_host(void* pointer) {
  return in_context(
    [&] { return pointer == nullptr ? CUDA_SUCCESS : driver().cuMemFreeHost(pointer); });
}

cudaError_t free_async(void* pointer, cudaStream_t stream) {
  return call_then_retry([&] { return driver().cuMemFreeAsync(address_of(pointer), stream); });
}

cudaError_t stream_attach_mem_async(cudaStream_t stream, void* pointer, std::size_t bytes,
                                    unsigned flags) {
  return in_context(
    [&] { return driver().cuStreamAttachMemAsync(stream, address_of(pointer), bytes, flags); });
}

cudaError_t pointer_get_attributes(cudaPointerAttributes* out, const void* pointer) {
  if (out == nullptr) return cudaErrorInvalidValue;
  unsigned type = 0;
  int managed = 0, ordinal = 0;
  CUdeviceptr device = 0;
  void* host = nullptr;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                 CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&type, &managed, &ordinal, &device, &host};
  const cudaError_t error = in_context(
    [&] { return driver().cuPointerGetAttributes(5, names, values, address_of(pointer)); });
  if (error != cudaSuccess) return error;
  *out = {};
  out->device = ordinal;
  out->devicePointer = reinterpret_cast<void*>(device);
  out->hostPointer = host;
  out->type = cudaMemoryTypeUnregistered;
  if (type == CU_MEMORYTYPE_HOST) out->type = cudaMemoryTypeHost;
  if (type == CU_MEMORYTYPE_DEVICE) out->type = cudaMemoryTypeDevice;
  if (managed != 0) out->type = cudaMemoryTypeManaged;
  if (out->type == cudaMemoryTypeUnregistered) out->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

} // namespace gmt::sim
