// SPDX-License-Identifier: Apache-2.0
// Copies to and from __device__ and __constant__ variables, their addresses and sizes.
// Called through runtime_api.def.
// Invariant: a range outside the variable is refused here and never reaches the driver; only the
// kinds that can mean this direction are accepted.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/registration.h"

#include <cstddef>

namespace gmt::sim {
namespace {

cudaError_t locate(const void* symbol, std::size_t bytes, std::size_t offset, void** target) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  if (cudaError_t error = variable_of(symbol, &address, &size); error != cudaSuccess) return error;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  *target = reinterpret_cast<void*>(address + offset);
  return cudaSuccess;
}

bool goes_to_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
         kind == cudaMemcpyDefault;
}

bool comes_from_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
         kind == cudaMemcpyDefault;
}

} // namespace

cudaError_t copy_to_symbol(const void* symbol, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind) {
  void* target = nullptr;
  if (bytes == 0) return use_context();
  if (!goes_to_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const cudaError_t error = locate(symbol, bytes, offset, &target);
  return error != cudaSuccess ? error : copy(target, from, bytes, kind);
}

cudaError_t copy_to_symbol_async(const void* symbol, const void* from, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  void* target = nullptr;
  if (bytes == 0) return use_context();
  if (!goes_to_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const cudaError_t error = locate(symbol, bytes, offset, &target);
  return error != cudaSuccess ? error : copy_async(target, from, bytes, kind, stream);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                             cudaMemcpyKind kind) {
  void* target = nullptr;
  if (bytes == 0) return use_context();
  if (!comes_from_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const cudaError_t error = locate(symbol, bytes, offset, &target);
  return error != cudaSuccess ? error : copy(to, target, bytes, kind);
}

cudaError_t copy_from_symbol_async(void* to, const void* symbol, std::size_t bytes,
                                   std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  void* target = nullptr;
  if (bytes == 0) return use_context();
  if (!comes_from_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const cudaError_t error = locate(symbol, bytes, offset, &target);
  return error != cudaSuccess ? error : copy_async(to, target, bytes, kind, stream);
}

cudaError_t get_symbol_address(void** pointer, const void* symbol) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  return locate(symbol, 0, 0, pointer);
}

cudaError_t get_symbol_size(std::size_t* bytes, const void* symbol) {
  CUdeviceptr address = 0;
  return bytes == nullptr ? cudaErrorInvalidValue : variable_of(symbol, &address, bytes);
}

} // namespace gmt::sim
