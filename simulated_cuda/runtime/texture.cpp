// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects through the runtime: descriptions are translated, the driver checks
// them. Called through runtime_api.def. Invariant: nothing is checked twice; a wrong pitch or base
// is the driver's answer.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/formats.h"

#include <algorithm>

namespace gmt::sim {
namespace {

bool make_resource(const cudaResourceDesc& in, CUDA_RESOURCE_DESC* out) {
  *out = {};
  Format format{};
  switch (in.resType) {
  case cudaResourceTypeArray:
    out->resType = CU_RESOURCE_TYPE_ARRAY;
    out->res.array.hArray = reinterpret_cast<CUarray>(in.res.array.array);
    return true;
  case cudaResourceTypeMipmappedArray:
    out->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    out->res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(in.res.mipmap.mipmap);
    return true;
  case cudaResourceTypeLinear:
    if (!format_of(in.res.linear.desc, &format)) return false;
    out->resType = CU_RESOURCE_TYPE_LINEAR;
    out->res.linear = {reinterpret_cast<CUdeviceptr>(in.res.linear.devPtr), format.format,
                       format.channels, in.res.linear.sizeInBytes};
    return true;
  case cudaResourceTypePitch2D:
    if (!format_of(in.res.pitch2D.desc, &format)) return false;
    out->resType = CU_RESOURCE_TYPE_PITCH2D;
    out->res.pitch2D = {reinterpret_cast<CUdeviceptr>(in.res.pitch2D.devPtr),
                        format.format,
                        format.channels,
                        in.res.pitch2D.width,
                        in.res.pitch2D.height,
                        in.res.pitch2D.pitchInBytes};
    return true;
  default: return false;
  }
}

CUDA_TEXTURE_DESC make_texture(const cudaTextureDesc& in) {
  CUDA_TEXTURE_DESC out{};
  for (int i = 0; i < 3; ++i) out.addressMode[i] = static_cast<CUaddress_mode>(in.addressMode[i]);
  out.filterMode = static_cast<CUfilter_mode>(in.filterMode);
  if (in.readMode == cudaReadModeElementType) out.flags |= CU_TRSF_READ_AS_INTEGER;
  if (in.normalizedCoords != 0) out.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (in.sRGB != 0) out.flags |= CU_TRSF_SRGB;
  if (in.disableTrilinearOptimization != 0) out.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if (in.seamlessCubemap != 0) out.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  out.maxAnisotropy = in.maxAnisotropy;
  out.mipmapFilterMode = static_cast<CUfilter_mode>(in.mipmapFilterMode);
  out.mipmapLevelBias = in.mipmapLevelBias;
  out.minMipmapLevelClamp = in.minMipmapLevelClamp;
  out.maxMipmapLevelClamp = in.maxMipmapLevelClamp;
  std::copy(in.borderColor, in.borderColor + 4, out.borderColor);
  return out;
}

// Formats of fractions alone, and colours in the encoding of sRGB, are read as such only.
cudaError_t check_reading(const CUDA_RESOURCE_DESC& resource, const cudaTextureDesc& texture) {
  CUDA_ARRAY3D_DESCRIPTOR array{};
  if (resource.resType != CU_RESOURCE_TYPE_ARRAY ||
      driver().cuArray3DGetDescriptor(&array, resource.res.array.hArray) != CUDA_SUCCESS)
    return cudaSuccess; // the driver says what is wrong
  const cudaChannelFormatKind kind = description_of(array.Format, array.NumChannels).f;
  if (kind < cudaChannelFormatKindUnsignedNormalized8X1) return cudaSuccess;
  const bool is_float = kind == cudaChannelFormatKindUnsignedNormalized1010102 ||
                        kind == cudaChannelFormatKindUnsignedBlockCompressed6H ||
                        kind == cudaChannelFormatKindSignedBlockCompressed6H;
  if ((texture.readMode == cudaReadModeElementType) != is_float) return cudaErrorInvalidNormSetting;
  const bool is_srgb = kind == cudaChannelFormatKindUnsignedBlockCompressed1SRGB ||
                       kind == cudaChannelFormatKindUnsignedBlockCompressed2SRGB ||
                       kind == cudaChannelFormatKindUnsignedBlockCompressed3SRGB ||
                       kind == cudaChannelFormatKindUnsignedBlockCompressed7SRGB;
  return is_srgb && texture.sRGB == 0 ? cudaErrorInvalidValue : cudaSuccess;
}

cudaResourceDesc described(const CUDA_RESOURCE_DESC& in) {
  cudaResourceDesc out{};
  switch (in.resType) {
  case CU_RESOURCE_TYPE_ARRAY:
    out.resType = cudaResourceTypeArray;
    out.res.array.array = reinterpret_cast<cudaArray_t>(in.res.array.hArray);
    break;
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
    out.resType = cudaResourceTypeMipmappedArray;
    out.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(in.res.mipmap.hMipmappedArray);
    break;
  case CU_RESOURCE_TYPE_LINEAR:
    out.resType = cudaResourceTypeLinear;
    out.res.linear = {reinterpret_cast<void*>(in.res.linear.devPtr),
                      description_of(in.res.linear.format, in.res.linear.numChannels),
                      in.res.linear.sizeInBytes};
    break;
  case CU_RESOURCE_TYPE_PITCH2D:
    out.resType = cudaResourceTypePitch2D;
    out.res.pitch2D = {reinterpret_cast<void*>(in.res.pitch2D.devPtr),
                       description_of(in.res.pitch2D.format, in.res.pitch2D.numChannels),
                       in.res.pitch2D.width, in.res.pitch2D.height, in.res.pitch2D.pitchInBytes};
    break;
  default: break;
  }
  return out;
}

cudaTextureDesc described(const CUDA_TEXTURE_DESC& in) {
  cudaTextureDesc out{};
  for (int i = 0; i < 3; ++i)
    out.addressMode[i] = static_cast<cudaTextureAddressMode>(in.addressMode[i]);
  out.filterMode = static_cast<cudaTextureFilterMode>(in.filterMode);
  const auto has = [&in](unsigned flag) { return (in.flags & flag) != 0 ? 1 : 0; };
  out.readMode =
    has(CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  out.normalizedCoords = has(CU_TRSF_NORMALIZED_COORDINATES);
  out.sRGB = has(CU_TRSF_SRGB);
  out.disableTrilinearOptimization = has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
  out.seamlessCubemap = has(CU_TRSF_SEAMLESS_CUBEMAP);
  out.maxAnisotropy = in.maxAnisotropy;
  out.mipmapFilterMode = static_cast<cudaTextureFilterMode>(in.mipmapFilterMode);
  out.mipmapLevelBias = in.mipmapLevelBias;
  out.minMipmapLevelClamp = in.minMipmapLevelClamp;
  out.maxMipmapLevelClamp = in.maxMipmapLevelClamp;
  std::copy(in.borderColor, in.borderColor + 4, out.borderColor);
  return out;
}

} // namespace

cudaError_t create_texture_object(cudaTextureObject_t* out, const cudaResourceDesc* resource,
                                  const cudaTextureDesc* texture,
                                  const cudaResourceViewDesc* view) {
  if (out == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_RESOURCE_DESC made{};
  if (!make_resource(*resource, &made)) return cudaErrorInvalidChannelDescriptor;
  if (cudaError_t bad = check_reading(made, *texture); bad != cudaSuccess) return bad;
  const CUDA_TEXTURE_DESC description = make_texture(*texture);
  CUDA_RESOURCE_VIEW_DESC made_view{};
  if (view != nullptr) {
    made_view.format = static_cast<CUresourceViewFormat>(view->format);
    made_view.width = view->width;
    made_view.height = view->height;
    made_view.depth = view->depth;
    made_view.firstMipmapLevel = view->firstMipmapLevel;
    made_view.lastMipmapLevel = view->lastMipmapLevel;
    made_view.firstLayer = view->firstLayer;
    made_view.lastLayer = view->lastLayer;
  }
  return to_runtime(
    driver().cuTexObjectCreate(out, &made, &description, view == nullptr ? nullptr : &made_view));
}

cudaError_t create_surface_object(cudaSurfaceObject_t* out, const cudaResourceDesc* resource) {
  if (out == nullptr || resource == nullptr) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_RESOURCE_DESC made{};
  if (!make_resource(*resource, &made)) return cudaErrorInvalidChannelDescriptor;
  return to_runtime(driver().cuSurfObjectCreate(out, &made));
}

cudaError_t texture_object_resource_desc(cudaResourceDesc* out, cudaTextureObject_t object) {
  CUDA_RESOURCE_DESC resource{};
  if (out == nullptr) return cudaErrorInvalidValue;
  const CUresult result = driver().cuTexObjectGetResourceDesc(&resource, object);
  if (result == CUDA_SUCCESS) *out = described(resource);
  return to_runtime(result);
}

cudaError_t surface_object_resource_desc(cudaResourceDesc* out, cudaSurfaceObject_t object) {
  CUDA_RESOURCE_DESC resource{};
  if (out == nullptr) return cudaErrorInvalidValue;
  const CUresult result = driver().cuSurfObjectGetResourceDesc(&resource, object);
  if (result == CUDA_SUCCESS) *out = described(resource);
  return to_runtime(result);
}

cudaError_t texture_object_texture_desc(cudaTextureDesc* out, cudaTextureObject_t object) {
  CUDA_TEXTURE_DESC texture{};
  if (out == nullptr) return cudaErrorInvalidValue;
  const CUresult result = driver().cuTexObjectGetTextureDesc(&texture, object);
  if (result == CUDA_SUCCESS) *out = described(texture);
  return to_runtime(result);
}

cudaError_t texture_object_resource_view_desc(cudaResourceViewDesc* out,
                                              cudaTextureObject_t object) {
  CUDA_RESOURCE_VIEW_DESC view{};
  if (out == nullptr) return cudaErrorInvalidValue;
  const CUresult result = driver().cuTexObjectGetResourceViewDesc(&view, object);
  if (result != CUDA_SUCCESS) return to_runtime(result);
  *out = {};
  out->format = static_cast<cudaResourceViewFormat>(view.format);
  out->width = view.width;
  out->height = view.height;
  out->depth = view.depth;
  out->firstMipmapLevel = view.firstMipmapLevel;
  out->lastMipmapLevel = view.lastMipmapLevel;
  out->firstLayer = view.firstLayer;
  out->lastLayer = view.lastLayer;
  return cudaSuccess;
}

} // namespace gmt::sim
