// SPDX-License-Identifier: Apache-2.0
// One- and two-dimensional copies and sets between pointers.
// Called through runtime_api.def. The copy kind selects the driver function, as in NVIDIA's
// runtime, so the direction is visible to a tool that watches the driver. Invariant: nothing of
// size zero reaches the driver, and the kind is not even looked at then; a copy of several rows
// wider than the pitch answers cudaErrorInvalidPitchValue (12) and an unknown kind
// cudaErrorInvalidMemcpyDirection (21) from here. The driver answers one row wider than the pitch,
// and sets.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/copy_kinds.h"

#include <cstddef>

namespace gmt::sim {
namespace {

CUDA_MEMCPY2D plane(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                    std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = source_type(kind);
  copy.srcHost = from;
  copy.srcDevice = address_of(from);
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = destination_type(kind);
  copy.dstHost = to;
  copy.dstDevice = address_of(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

CUresult copy_by_kind(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  switch (kind) {
  case cudaMemcpyHostToDevice: return driver().cuMemcpyHtoD(address_of(to), from, bytes);
  case cudaMemcpyDeviceToHost: return driver().cuMemcpyDtoH(to, address_of(from), bytes);
  case cudaMemcpyDeviceToDevice:
    return driver().cuMemcpyDtoD(address_of(to), address_of(from), bytes);
  case cudaMemcpyDefault: return driver().cuMemcpy(address_of(to), address_of(from), bytes);
  default: {
    const CUDA_MEMCPY2D row = plane(to, bytes, from, bytes, bytes, 1, kind);
    return driver().cuMemcpy2DUnaligned(&row);
  }
  }
}

CUresult copy_by_kind(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                      cudaStream_t stream) {
  switch (kind) {
  case cudaMemcpyHostToDevice:
    return driver().cuMemcpyHtoDAsync(address_of(to), from, bytes, stream);
  case cudaMemcpyDeviceToHost:
    return driver().cuMemcpyDtoHAsync(to, address_of(from), bytes, stream);
  case cudaMemcpyDeviceToDevice:
    return driver().cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes, stream);
  case cudaMemcpyDefault:
    return driver().cuMemcpyAsync(address_of(to), address_of(from), bytes, stream);
  default: {
    const CUDA_MEMCPY2D row = plane(to, bytes, from, bytes, bytes, 1, kind);
    return driver().cuMemcpy2DAsync(&row, stream);
  }
  }
}

cudaError_t check_2d(std::size_t to_pitch, std::size_t from_pitch, std::size_t width,
                     std::size_t height, cudaMemcpyKind kind) {
  if (height > 1 && (width > to_pitch || width > from_pitch)) return cudaErrorInvalidPitchValue;
  if (!kind_is_known(kind)) return cudaErrorInvalidMemcpyDirection;
  return use_context();
}

cudaError_t fill(cudaPitchedPtr target, int value, cudaExtent extent, const cudaStream_t* stream) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return use_context();
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  const auto byte = static_cast<unsigned char>(value);
  const auto rows = [&](CUdeviceptr at, std::size_t height) {
    return stream == nullptr
             ? driver().cuMemsetD2D8(at, target.pitch, byte, extent.width, height)
             : driver().cuMemsetD2D8Async(at, target.pitch, byte, extent.width, height, *stream);
  };
  // Slices without rows between them are one block of rows.
  if (extent.depth == 1 || target.ysize == extent.height)
    return to_runtime(rows(address_of(target.ptr), extent.height * extent.depth));
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const CUresult result =
      rows(address_of(target.ptr) + z * target.pitch * target.ysize, extent.height);
    if (result != CUDA_SUCCESS) return to_runtime(result);
  }
  return cudaSuccess;
}

} // namespace

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return use_context();
  if (!kind_is_known(kind)) return cudaErrorInvalidMemcpyDirection;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(copy_by_kind(to, from, bytes, kind));
}

cudaError_t copy_async(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream) {
  if (bytes == 0) return use_context();
  if (!kind_is_known(kind)) return cudaErrorInvalidMemcpyDirection;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(copy_by_kind(to, from, bytes, kind, stream));
}

cudaError_t copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                    std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (width == 0 || height == 0) return use_context();
  if (cudaError_t error = check_2d(to_pitch, from_pitch, width, height, kind); error != cudaSuccess)
    return error;
  const CUDA_MEMCPY2D rows = plane(to, to_pitch, from, from_pitch, width, height, kind);
  return to_runtime(driver().cuMemcpy2DUnaligned(&rows));
}

cudaError_t copy_2d_async(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                          std::size_t width, std::size_t height, cudaMemcpyKind kind,
                          cudaStream_t stream) {
  if (width == 0 || height == 0) return use_context();
  if (cudaError_t error = check_2d(to_pitch, from_pitch, width, height, kind); error != cudaSuccess)
    return error;
  const CUDA_MEMCPY2D rows = plane(to, to_pitch, from, from_pitch, width, height, kind);
  return to_runtime(driver().cuMemcpy2DAsync(&rows, stream));
}

cudaError_t set(void* pointer, int value, std::size_t bytes) {
  if (bytes == 0) return use_context();
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(
    driver().cuMemsetD8(address_of(pointer), static_cast<unsigned char>(value), bytes));
}

cudaError_t set_async(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return use_context();
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(driver().cuMemsetD8Async(address_of(pointer), static_cast<unsigned char>(value),
                                             bytes, stream));
}

cudaError_t set_2d(void* pointer, std::size_t pitch, int value, std::size_t width,
                   std::size_t height) {
  return fill({pointer, pitch, width, height}, value, {width, height, 1}, nullptr);
}

cudaError_t set_2d_async(void* pointer, std::size_t pitch, int value, std::size_t width,
                         std::size_t height, cudaStream_t stream) {
  return fill({pointer, pitch, width, height}, value, {width, height, 1}, &stream);
}

cudaError_t set_3d(cudaPitchedPtr target, int value, cudaExtent extent) {
  return fill(target, value, extent, nullptr);
}
cudaError_t set_3d_async(cudaPitchedPtr target, int value, cudaExtent extent, cudaStream_t stream) {
  return fill(target, value, extent, &stream);
}

} // namespace gmt::sim
