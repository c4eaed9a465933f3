// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. Creation checks what the real driver checks;
// simulated_cuda/driver/memory/texture_view.h says what kernels see of them. Called through
// driver_api.def with the lock held. Invariant: a linear or pitch2D texture needs a base in live
// memory, on the texture alignment; pitch2D lies wholly in live memory and needs a pitch on the
// texture pitch alignment. Both alignments can be set from the environment. As on an H200, a linear
// texture may go on past its memory, and destroying an object twice is no mistake.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/memory/array_formats.h"
#include "simulated_cuda/driver/memory/texture_view.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstddef>

namespace gmt::sim {
namespace {

CUresult check_linear(CUdeviceptr base, std::size_t extent) {
  if (base % static_cast<std::size_t>(state().settings.texture_alignment) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return state().blocks.view(base, extent) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// 0: there are no such texels.
std::size_t element_bytes(CUarray_format format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4) return 0;
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8: return channels;
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF: return std::size_t{2} * channels;
  case CU_AD_FORMAT_UNSIGNED_INT32:
  case CU_AD_FORMAT_SIGNED_INT32:
  case CU_AD_FORMAT_FLOAT: return std::size_t{4} * channels;
  default: return 0;
  }
}

CUresult check_resource(const CUDA_RESOURCE_DESC& resource) {
  switch (resource.resType) {
  case CU_RESOURCE_TYPE_ARRAY:
    return state().arrays.get(resource.res.array.hArray) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                                    : CUDA_SUCCESS;
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
    return state().mipmapped.get(resource.res.mipmap.hMipmappedArray) == nullptr
             ? CUDA_ERROR_INVALID_HANDLE
             : CUDA_SUCCESS;
  case CU_RESOURCE_TYPE_LINEAR: {
    const auto& linear = resource.res.linear;
    if (linear.sizeInBytes == 0 || element_bytes(linear.format, linear.numChannels) == 0)
      return CUDA_ERROR_INVALID_VALUE;
    return check_linear(linear.devPtr, 1);
  }
  case CU_RESOURCE_TYPE_PITCH2D: {
    const auto& plane = resource.res.pitch2D;
    constexpr std::size_t kMost = 0xffffffffu; // so that a row's bytes are a number
    const std::size_t element = element_bytes(plane.format, plane.numChannels);
    if (plane.width == 0 || plane.height == 0 || element == 0) return CUDA_ERROR_INVALID_VALUE;
    if (plane.width > kMost || plane.height > kMost) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t row = plane.width * element;
    const auto alignment = static_cast<std::size_t>(state().settings.texture_pitch_alignment);
    if (plane.pitchInBytes < row || plane.pitchInBytes % alignment != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return check_linear(plane.devPtr, 1); // rows past the allocation are no error either
  }
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}

std::uint64_t memory_id(const CUDA_RESOURCE_DESC& resource) {
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY)
    return state().arrays.get(resource.res.array.hArray)->id;
  if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
    return state().mipmapped.get(resource.res.mipmap.hMipmappedArray)->levels.front()->id;
  return 0;
}

// Kernels take these handles by value. They are small numbers, as those of a GPU are: one that
// looked like an address of the host's would be taken for a mistake.
unsigned long long add(std::unique_ptr<Texture> texture) {
  State& s = state();
  texture->number = ++s.last_texture;
  Texture* added = s.textures.add(std::move(texture));
  s.numbered_textures[added->number] = added;
  return added->number;
}

Texture* find(unsigned long long handle, bool surface) {
  const auto known = state().numbered_textures.find(handle);
  if (known == state().numbered_textures.end()) return nullptr;
  Texture* texture = state().textures.get(known->second);
  const bool is_it = texture != nullptr && texture->number == handle;
  return is_it && texture->surface == surface ? texture : nullptr;
}

void destroy(unsigned long long handle, bool surface) {
  if (const Texture* texture = find(handle, surface)) {
    state().textures.take(texture);
    state().numbered_textures.erase(handle);
  }
}

template <class T>
CUresult read(const Texture* texture, T* out, T Texture::* member) {
  if (texture == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = texture->*member;
  return CUDA_SUCCESS;
}

} // namespace

CUresult tex_object_create(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* description,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  if (out == nullptr || resource == nullptr || description == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_resource(*resource); bad != CUDA_SUCCESS) return bad;
  auto texture = std::make_unique<Texture>();
  texture->context = this_thread().current();
  texture->resource = *resource;
  texture->texture = *description;
  if (view != nullptr) texture->view = *view;
  auto seen = view_of_texture(*resource, *description, view);
  if (!seen) return not_simulated("textures of this resource or view");
  texture->view_of_kernels = std::move(*seen);
  texture->memory_id = memory_id(*resource);
  *out = add(std::move(texture));
  return CUDA_SUCCESS;
}

CUresult tex_object_destroy(CUtexObject handle) {
  destroy(handle, false);
  return CUDA_SUCCESS;
}

CUresult tex_object_get_resource_desc(CUDA_RESOURCE_DESC* out, CUtexObject handle) {
  return read(find(handle, false), out, &Texture::resource);
}
CUresult tex_object_get_texture_desc(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
  return read(find(handle, false), out, &Texture::texture);
}
CUresult tex_object_get_resource_view_desc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject handle) {
  return read(find(handle, false), out, &Texture::view);
}

CUresult surf_object_create(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  if (out == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY)
    return CUDA_ERROR_INVALID_VALUE;
  const Array* array = state().arrays.get(resource->res.array.hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (array->memory == 0 || !array->planes.empty())
    return not_simulated("surfaces of sparse arrays and of arrays of several planes");
  if (array_format(array->desc.Format).channel == 0)
    return not_simulated("surfaces of compressed and packed texels");
  auto surface = std::make_unique<Texture>();
  surface->context = this_thread().current();
  surface->surface = true;
  surface->resource = *resource;
  surface->view_of_kernels = view_of_surface(*array);
  surface->memory_id = array->id;
  *out = add(std::move(surface));
  return CUDA_SUCCESS;
}

CUresult surf_object_destroy(CUsurfObject handle) {
  destroy(handle, true);
  return CUDA_SUCCESS;
}

CUresult surf_object_get_resource_desc(CUDA_RESOURCE_DESC* out, CUsurfObject handle) {
  return read(find(handle, true), out, &Texture::resource);
}

} // namespace gmt::sim
