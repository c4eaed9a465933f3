// SPDX-License-Identifier: Apache-2.0
// Three-dimensional and peer copies.
// Called through runtime_api.def; make_copy_3d() also by graph.cpp.
// Invariant: each side names exactly one of an array and a pointer; extents count elements as soon
// as an array takes part, and positions count elements on the array side and bytes on the pointer
// side.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/context.h"
#include "simulated_cuda/runtime/copy_kinds.h"

#include <cstddef>

namespace gmt::sim {
namespace {

bool one_of(const void* array, const void* pointer) {
  return (array == nullptr) != (pointer == nullptr);
}

cudaError_t peer_contexts(int to, int from, CUcontext* to_context, CUcontext* from_context) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (cudaError_t error = primary_context(to, to_context); error != cudaSuccess) return error;
  return primary_context(from, from_context);
}

cudaError_t make_peer_copy(const cudaMemcpy3DPeerParms& p, CUDA_MEMCPY3D_PEER* out, bool* empty) {
  CUcontext to = nullptr, from = nullptr;
  if (cudaError_t error = peer_contexts(p.dstDevice, p.srcDevice, &to, &from); error != cudaSuccess)
    return error;
  cudaMemcpy3DParms plain{};
  plain.srcArray = p.srcArray;
  plain.srcPos = p.srcPos;
  plain.srcPtr = p.srcPtr;
  plain.dstArray = p.dstArray;
  plain.dstPos = p.dstPos;
  plain.dstPtr = p.dstPtr;
  plain.extent = p.extent;
  plain.kind = cudaMemcpyDeviceToDevice;
  CUDA_MEMCPY3D copy{};
  if (cudaError_t error = make_copy_3d(plain, &copy, empty); error != cudaSuccess) return error;
  static_assert(sizeof copy == sizeof *out);
  // The contexts stand where CUDA_MEMCPY3D has reserved words
  __builtin_memcpy(out, &copy, sizeof copy);
  out->srcContext = from;
  out->dstContext = to;
  return cudaSuccess;
}

} // namespace

cudaError_t element_bytes(cudaArray_const_t array, std::size_t* bytes) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  const auto handle = reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
  const CUresult result = driver().cuArray3DGetDescriptor(&desc, handle);
  if (result != CUDA_SUCCESS) return to_runtime(result);
  const bool one =
    desc.Format == CU_AD_FORMAT_UNSIGNED_INT8 || desc.Format == CU_AD_FORMAT_SIGNED_INT8;
  const bool four = desc.Format == CU_AD_FORMAT_UNSIGNED_INT32 ||
                    desc.Format == CU_AD_FORMAT_SIGNED_INT32 || desc.Format == CU_AD_FORMAT_FLOAT;
  const unsigned more = four ? 4 : 2;
  *bytes = (one ? 1 : more) * desc.NumChannels;
  return cudaSuccess;
}

cudaError_t make_copy_3d(const cudaMemcpy3DParms& p, CUDA_MEMCPY3D* out, bool* empty) {
  *empty = p.extent.width == 0 || p.extent.height == 0 || p.extent.depth == 0;
  if (*empty) return cudaSuccess;
  if (!one_of(p.srcArray, p.srcPtr.ptr) || !one_of(p.dstArray, p.dstPtr.ptr))
    return cudaErrorInvalidValue;
  if (!kind_is_known(p.kind)) return cudaErrorInvalidMemcpyDirection;
  std::size_t element = 1;
  if (p.srcArray != nullptr || p.dstArray != nullptr) {
    const cudaError_t error =
      element_bytes(p.srcArray != nullptr ? p.srcArray : p.dstArray, &element);
    if (error != cudaSuccess) return error;
  }
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = p.extent.width * element;
  copy.Height = p.extent.height;
  copy.Depth = p.extent.depth;
  const bool many_rows = copy.Height > 1 || copy.Depth > 1;
  if (p.srcArray != nullptr) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = reinterpret_cast<CUarray>(p.srcArray);
    copy.srcXInBytes = p.srcPos.x * element;
  } else {
    set_source(copy, source_type(p.kind), p.srcPtr.ptr, p.srcPtr.pitch);
    copy.srcHeight = p.srcPtr.ysize;
    copy.srcXInBytes = p.srcPos.x;
    if (many_rows && copy.WidthInBytes > p.srcPtr.pitch) return cudaErrorInvalidPitchValue;
  }
  if (p.dstArray != nullptr) {
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = reinterpret_cast<CUarray>(p.dstArray);
    copy.dstXInBytes = p.dstPos.x * element;
  } else {
    set_destination(copy, destination_type(p.kind), p.dstPtr.ptr, p.dstPtr.pitch);
    copy.dstHeight = p.dstPtr.ysize;
    copy.dstXInBytes = p.dstPos.x;
    if (many_rows && copy.WidthInBytes > p.dstPtr.pitch) return cudaErrorInvalidPitchValue;
  }
  copy.srcY = p.srcPos.y;
  copy.srcZ = p.srcPos.z;
  copy.dstY = p.dstPos.y;
  copy.dstZ = p.dstPos.z;
  *out = copy;
  return cudaSuccess;
}

cudaError_t describe_copy_3d(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* out) {
  const bool from_array = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY;
  const bool to_array = copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
  *out = {};
  if (from_array) out->srcArray = reinterpret_cast<cudaArray_t>(copy.srcArray);
  if (to_array) out->dstArray = reinterpret_cast<cudaArray_t>(copy.dstArray);
  std::size_t element = 1;
  if (from_array || to_array) {
    const cudaError_t error = element_bytes(from_array ? out->srcArray : out->dstArray, &element);
    if (error != cudaSuccess) return error;
  }
  const bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  if (!from_array) {
    void* from =
      from_host ? const_cast<void*>(copy.srcHost) : reinterpret_cast<void*>(copy.srcDevice);
    out->srcPtr = {from, copy.srcPitch, copy.srcPitch, copy.srcHeight};
  }
  if (!to_array) {
    void* to = to_host ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
    out->dstPtr = {to, copy.dstPitch, copy.dstPitch, copy.dstHeight};
  }
  out->srcPos = {copy.srcXInBytes / (from_array ? element : 1), copy.srcY, copy.srcZ};
  out->dstPos = {copy.dstXInBytes / (to_array ? element : 1), copy.dstY, copy.dstZ};
  out->extent = {copy.WidthInBytes / element, copy.Height, copy.Depth};
  if (copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED)
    out->kind = cudaMemcpyDefault;
  else if (from_host) out->kind = to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  else out->kind = to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  return cudaSuccess;
}

cudaError_t copy_3d(const cudaMemcpy3DParms* p) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_MEMCPY3D made{};
  bool empty = false;
  const cudaError_t error = make_copy_3d(*p, &made, &empty);
  return error != cudaSuccess || empty ? error : to_runtime(driver().cuMemcpy3D(&made));
}

cudaError_t copy_3d_async(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_MEMCPY3D made{};
  bool empty = false;
  const cudaError_t error = make_copy_3d(*p, &made, &empty);
  return error != cudaSuccess || empty ? error
                                       : to_runtime(driver().cuMemcpy3DAsync(&made, stream));
}

cudaError_t copy_3d_peer(const cudaMemcpy3DPeerParms* p) {
  if (p == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D_PEER made{};
  bool empty = false;
  const cudaError_t error = make_peer_copy(*p, &made, &empty);
  return error != cudaSuccess || empty ? error : to_runtime(driver().cuMemcpy3DPeer(&made));
}

cudaError_t copy_3d_peer_async(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  if (p == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D_PEER made{};
  bool empty = false;
  const cudaError_t error = make_peer_copy(*p, &made, &empty);
  return error != cudaSuccess || empty ? error
                                       : to_runtime(driver().cuMemcpy3DPeerAsync(&made, stream));
}

cudaError_t copy_peer(void* to, int to_device, const void* from, int from_device,
                      std::size_t bytes) {
  if (bytes == 0) return use_context();
  CUcontext to_context = nullptr, from_context = nullptr;
  const cudaError_t error = peer_contexts(to_device, from_device, &to_context, &from_context);
  if (error != cudaSuccess) return error;
  return to_runtime(driver().cuMemcpyPeer(reinterpret_cast<CUdeviceptr>(to), to_context,
                                          reinterpret_cast<CUdeviceptr>(from), from_context,
                                          bytes));
}

cudaError_t copy_peer_async(void* to, int to_device, const void* from, int from_device,
                            std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return use_context();
  CUcontext to_context = nullptr, from_context = nullptr;
  const cudaError_t error = peer_contexts(to_device, from_device, &to_context, &from_context);
  if (error != cudaSuccess) return error;
  return to_runtime(driver().cuMemcpyPeerAsync(reinterpret_cast<CUdeviceptr>(to), to_context,
                                               reinterpret_cast<CUdeviceptr>(from), from_context,
                                               bytes, stream));
}

} // namespace gmt::sim
