// SPDX-License-Identifier: Apache-2.0
// Copies between arrays and pointers in one and two dimensions; all become cuMemcpy3D.
// Called through runtime_api.def.
// Invariant: a one-dimensional copy that crosses rows of the array is cut into whole rows, so no
// call leaves the array.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/copy_kinds.h"

#include <algorithm>
#include <cstddef>

namespace gmt::sim {
namespace {

CUarray handle_of(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

CUresult run(const CUDA_MEMCPY3D& copy, const cudaStream_t* stream) {
  return stream == nullptr ? driver().cuMemcpy3D(&copy) : driver().cuMemcpy3DAsync(&copy, *stream);
}

struct ArrayPart {
  cudaArray_const_t array;
  std::size_t x, y;
};

struct LinearPart {
  void* pointer;
  std::size_t pitch;
};

void set_array_source(CUDA_MEMCPY3D& copy, ArrayPart at) {
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = handle_of(at.array);
  copy.srcXInBytes = at.x;
  copy.srcY = at.y;
}

void set_array_destination(CUDA_MEMCPY3D& copy, ArrayPart at) {
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = handle_of(at.array);
  copy.dstXInBytes = at.x;
  copy.dstY = at.y;
}

enum class Direction { kToArray, kFromArray };

cudaError_t rectangle(Direction direction, ArrayPart array, LinearPart linear, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (width == 0 || height == 0) return use_context();
  if (height > 1 && width > linear.pitch) return cudaErrorInvalidPitchValue;
  if (!kind_is_known(kind)) return cudaErrorInvalidMemcpyDirection;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = 1;
  if (direction == Direction::kToArray) {
    set_source(copy, source_type(kind), linear.pointer, linear.pitch);
    set_array_destination(copy, array);
  } else {
    set_array_source(copy, array);
    set_destination(copy, destination_type(kind), linear.pointer, linear.pitch);
  }
  return to_runtime(run(copy, stream));
}

cudaError_t row_bytes(cudaArray_const_t array, std::size_t* bytes) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (CUresult result = driver().cuArray3DGetDescriptor(&desc, handle_of(array));
      result != CUDA_SUCCESS)
    return to_runtime(result);
  std::size_t element = 0;
  const cudaError_t error = element_bytes(array, &element);
  *bytes = desc.Width * element;
  return error;
}

// `count` bytes in a row that may go on in the next rows of the array.
cudaError_t run_of_bytes(Direction direction, ArrayPart array, void* pointer, std::size_t count,
                         cudaMemcpyKind kind, const cudaStream_t* stream) {
  std::size_t row = 0;
  if (count == 0) return use_context();
  if (cudaError_t error = row_bytes(array.array, &row); error != cudaSuccess) return error;
  while (count != 0) {
    if (array.x >= row) return cudaErrorInvalidValue;
    const std::size_t part = std::min(count, row - array.x);
    const cudaError_t error = rectangle(direction, array, {pointer, part}, part, 1, kind, stream);
    if (error != cudaSuccess) return error;
    pointer = static_cast<char*>(pointer) + part;
    count -= part;
    array = {array.array, 0, array.y + 1};
  }
  return cudaSuccess;
}

} // namespace

cudaError_t copy_2d_to_array(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                             std::size_t pitch, std::size_t width, std::size_t height,
                             cudaMemcpyKind kind) {
  return rectangle(Direction::kToArray, {to, x, y}, {const_cast<void*>(from), pitch}, width, height,
                   kind, nullptr);
}

cudaError_t copy_2d_to_array_async(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                   std::size_t pitch, std::size_t width, std::size_t height,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return rectangle(Direction::kToArray, {to, x, y}, {const_cast<void*>(from), pitch}, width, height,
                   kind, &stream);
}

cudaError_t copy_2d_from_array(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                               std::size_t y, std::size_t width, std::size_t height,
                               cudaMemcpyKind kind) {
  return rectangle(Direction::kFromArray, {from, x, y}, {to, pitch}, width, height, kind, nullptr);
}

cudaError_t copy_2d_from_array_async(void* to, std::size_t pitch, cudaArray_const_t from,
                                     std::size_t x, std::size_t y, std::size_t width,
                                     std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return rectangle(Direction::kFromArray, {from, x, y}, {to, pitch}, width, height, kind, &stream);
}

cudaError_t copy_2d_array_to_array(cudaArray_t to, std::size_t to_x, std::size_t to_y,
                                   cudaArray_const_t from, std::size_t from_x, std::size_t from_y,
                                   std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (width == 0 || height == 0) return use_context();
  if (!kind_is_known(kind)) return cudaErrorInvalidMemcpyDirection;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = 1;
  set_array_source(copy, {from, from_x, from_y});
  set_array_destination(copy, {to, to_x, to_y});
  return to_runtime(run(copy, nullptr));
}

cudaError_t copy_array_to_array(cudaArray_t to, std::size_t to_x, std::size_t to_y,
                                cudaArray_const_t from, std::size_t from_x, std::size_t from_y,
                                std::size_t count, cudaMemcpyKind kind) {
  std::size_t to_row = 0, from_row = 0;
  if (count == 0) return use_context();
  if (cudaError_t error = row_bytes(to, &to_row); error != cudaSuccess) return error;
  if (cudaError_t error = row_bytes(from, &from_row); error != cudaSuccess) return error;
  while (count != 0) {
    if (to_x >= to_row || from_x >= from_row) return cudaErrorInvalidValue;
    const std::size_t part = std::min({count, to_row - to_x, from_row - from_x});
    const cudaError_t error =
      copy_2d_array_to_array(to, to_x, to_y, from, from_x, from_y, part, 1, kind);
    if (error != cudaSuccess) return error;
    count -= part;
    to_y += (to_x + part) / to_row;
    to_x = (to_x + part) % to_row;
    from_y += (from_x + part) / from_row;
    from_x = (from_x + part) % from_row;
  }
  return cudaSuccess;
}

cudaError_t copy_to_array(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                          std::size_t count, cudaMemcpyKind kind) {
  return run_of_bytes(Direction::kToArray, {to, x, y}, const_cast<void*>(from), count, kind,
                      nullptr);
}

cudaError_t copy_to_array_async(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return run_of_bytes(Direction::kToArray, {to, x, y}, const_cast<void*>(from), count, kind,
                      &stream);
}

cudaError_t copy_from_array(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                            std::size_t count, cudaMemcpyKind kind) {
  return run_of_bytes(Direction::kFromArray, {from, x, y}, to, count, kind, nullptr);
}

cudaError_t copy_from_array_async(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return run_of_bytes(Direction::kFromArray, {from, x, y}, to, count, kind, &stream);
}

} // namespace gmt::sim
