// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/replay/textures.h"

#include "simulated_cuda/replay/placement.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace gmt::replay {
namespace {

// A structure of cuda.h that the capture holds byte by byte.
template <class T> std::optional<T> structure(const std::string& bytes) {
  T value{};
  if (bytes.size() != sizeof value) return std::nullopt;
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
  return value;
}

// Between the whole level and memory of the host; nothing if both do not have so many bytes.
std::optional<CUDA_MEMCPY3D> copy_of_level(CUarray level, std::size_t bytes, bool to_array) {
  CUDA_ARRAY3D_DESCRIPTOR is{};
  if (cuArray3DGetDescriptor(&is, level) != CUDA_SUCCESS) return std::nullopt;
  CUDA_MEMCPY3D copy{};
  copy.Height = std::max<std::size_t>(is.Height, 1);
  copy.Depth = std::max<std::size_t>(is.Depth, 1);
  const std::size_t rows = copy.Height * copy.Depth;
  if (bytes == 0 || bytes % rows != 0) return std::nullopt;
  copy.WidthInBytes = bytes / rows;
  copy.srcMemoryType = to_array ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
  copy.dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes;
  copy.srcHeight = copy.dstHeight = copy.Height;
  (to_array ? copy.dstArray : copy.srcArray) = level;
  return copy;
}

} // namespace

std::string Textures::make_array(const trace::CapturedArray& captured) {
  const auto description = structure<CUDA_ARRAY3D_DESCRIPTOR>(captured.description);
  if (!description) return "an array's description is none";
  Array& made = arrays_.emplace_back();
  const auto count = static_cast<unsigned>(captured.levels.size());
  const CUresult refused = captured.is_mipmapped
                             ? cuMipmappedArrayCreate(&made.mipmapped, &*description, count)
                             : cuArray3DCreate(&made.array, &*description);
  if (refused != CUDA_SUCCESS) return "an array could not be made";
  for (unsigned i = 0; i < count; ++i) {
    CUarray level = made.array;
    if (captured.is_mipmapped &&
        cuMipmappedArrayGetLevel(&level, made.mipmapped, i) != CUDA_SUCCESS)
      return "an array has fewer levels than it had";
    made.levels.push_back(level);
    const std::string& bytes = captured.levels[i].before;
    auto copy = copy_of_level(level, bytes.size(), true);
    if (!copy) return "an array's bytes do not fit it";
    copy->srcHost = bytes.data();
    if (cuMemcpy3D(&*copy) != CUDA_SUCCESS) return "an array could not be filled";
  }
  return {};
}

std::string Textures::make_object(const trace::CapturedTexture& captured) {
  auto resource = structure<CUDA_RESOURCE_DESC>(captured.resource);
  if (!resource) return "a texture's description is none";
  const bool is_array = resource->resType == CU_RESOURCE_TYPE_ARRAY,
             is_mipmapped = resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  if (is_array || is_mipmapped) {
    if (captured.array == 0) return "a texture has no array";
    const Array& array = arrays_[captured.array - 1];
    if (is_array == (array.array == nullptr)) return "a texture's array is of another kind";
    if (is_array) resource->res.array.hArray = array.array;
    else resource->res.mipmap.hMipmappedArray = array.mipmapped;
  }
  choose_handle(captured.handle);
  unsigned long long handle = 0;
  CUresult refused = CUDA_SUCCESS;
  if (captured.is_surface) {
    refused = cuSurfObjectCreate(&handle, &*resource);
    if (refused == CUDA_SUCCESS) surfaces_.push_back(handle);
  } else {
    const auto description = structure<CUDA_TEXTURE_DESC>(captured.description);
    const auto view = structure<CUDA_RESOURCE_VIEW_DESC>(captured.view);
    if (!description) return "a texture's description is none";
    refused = cuTexObjectCreate(&handle, &*resource, &*description, view ? &*view : nullptr);
    if (refused == CUDA_SUCCESS) textures_.push_back(handle);
  }
  return refused == CUDA_SUCCESS && handle == captured.handle ? ""
                                                              : "a texture could not be made anew";
}

std::string Textures::make(const trace::CapturedTextures& captured) {
  for (const trace::CapturedArray& array : captured.arrays) {
    if (std::string problem = make_array(array); !problem.empty()) return problem;
  }
  std::vector<const trace::CapturedTexture*> in_order; // a lower number may not follow
  for (const trace::CapturedTexture& texture : captured.textures) in_order.push_back(&texture);
  std::ranges::sort(in_order, {}, &trace::CapturedTexture::handle);
  for (const trace::CapturedTexture* texture : in_order) {
    if (std::string problem = make_object(*texture); !problem.empty()) return problem;
  }
  return {};
}

bool Textures::read(std::size_t array, std::size_t level, std::string* bytes) const {
  auto copy = copy_of_level(arrays_[array].levels[level], bytes->size(), false);
  if (!copy) return false;
  copy->dstHost = bytes->data();
  return cuMemcpy3D(&*copy) == CUDA_SUCCESS;
}

void Textures::destroy() {
  for (const CUtexObject one : textures_) cuTexObjectDestroy(one);
  for (const CUsurfObject one : surfaces_) cuSurfObjectDestroy(one);
  for (const Array& one : arrays_) {
    if (one.array != nullptr) cuArrayDestroy(one.array);
    if (one.mipmapped != nullptr) cuMipmappedArrayDestroy(one.mipmapped);
  }
}

} // namespace gmt::replay
