// SPDX-License-Identifier: Apache-2.0
// How a cudaMemcpyKind becomes driver memory types, and how cudaMemcpy3DParms become a
// CUDA_MEMCPY3D. Invariant: a kind outside 0..4 is refused here and never reaches the driver, as in
// NVIDIA's runtime.
#pragma once

#include "simulated_cuda/runtime/driver_calls.h"

#include <cstddef>

namespace gmt::sim {

inline bool kind_is_known(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

inline CUmemorytype source_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  const bool host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

inline CUmemorytype destination_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  const bool host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

inline void set_source(CUDA_MEMCPY3D& copy, CUmemorytype type, const void* pointer,
                       std::size_t pitch) {
  copy.srcMemoryType = type;
  copy.srcHost = pointer;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(pointer);
  copy.srcPitch = pitch;
}

inline void set_destination(CUDA_MEMCPY3D& copy, CUmemorytype type, void* pointer,
                            std::size_t pitch) {
  copy.dstMemoryType = type;
  copy.dstHost = pointer;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(pointer);
  copy.dstPitch = pitch;
}

// The number of bytes of an element of an array; an error if the handle is no array.
cudaError_t element_bytes(cudaArray_const_t array, std::size_t* bytes);

// Fills *copy; *empty says that there is nothing to do.
cudaError_t make_copy_3d(const cudaMemcpy3DParms& params, CUDA_MEMCPY3D* copy, bool* empty);
// The other way round.
cudaError_t describe_copy_3d(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* params);

} // namespace gmt::sim
