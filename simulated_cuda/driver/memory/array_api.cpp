// SPDX-License-Identifier: Apache-2.0
// CUDA arrays and mipmapped arrays: opaque handles over device memory laid out row by row.
// Called through driver_api.def with the lock held; copy.cpp reads and writes their bytes.
// Invariant: an array's memory is no block, so no pointer call can reach it; a level is a view:
// destroying it succeeds and does nothing, the mipmapped array keeps its memory. So is a plane of
// an NV12 array. A sparse array has no memory.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/memory/array_formats.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gmt::sim {
namespace {

CUresult check(const CUDA_ARRAY3D_DESCRIPTOR* desc) {
  if (desc == nullptr || desc->Width == 0 ||
      (desc->Depth != 0 && desc->Height == 0 && (desc->Flags & 1u) == 0))
    return CUDA_ERROR_INVALID_VALUE;
  const ArrayFormat format = array_format(desc->Format);
  if (format.channel == 0 && format.element == 0) return not_simulated("arrays of this format");
  const unsigned n = desc->NumChannels;
  bool fits = desc->Format == CU_AD_FORMAT_NV12 ? n == 3 : n == 1 || n == 2 || n == 4;
  if (format.channels != 0) fits = n == format.channels;
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  // More than any GPU has of a dimension; products of these sizes are far from 2^64
  constexpr std::size_t kMostWidth = 1u << 20, kMostDepth = 1u << 16;
  if (desc->Width > kMostWidth || desc->Height > kMostWidth || desc->Depth > kMostDepth)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

bool is_sparse(const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  return (desc.Flags & CUDA_ARRAY3D_SPARSE) != 0;
}

std::size_t payload(const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  if (desc.Format == CU_AD_FORMAT_NV12)
    return desc.Width * desc.Height * 3 / 2; // a byte, and two for four of them
  const StoredExtent stored = stored_extent(desc);
  return stored.element * stored.width * stored.height * stored.depth;
}

Array* make_array(const CUDA_ARRAY3D_DESCRIPTOR& desc, CUdeviceptr memory, bool is_level) {
  auto array = std::make_unique<Array>();
  array->context = this_thread().current();
  array->id = state().new_id();
  array->desc = desc;
  array->memory = memory;
  array->bytes = payload(desc);
  array->element = stored_extent(desc).element;
  array->is_level = is_level;
  return state().arrays.add(std::move(array));
}

} // namespace

CUresult array_3d_create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* desc) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check(desc); bad != CUDA_SUCCESS) return bad;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  const CUdeviceptr memory = is_sparse(*desc) ? 0 : current_device().take(payload(*desc));
  if (memory == 0 && !is_sparse(*desc)) return CUDA_ERROR_OUT_OF_MEMORY;
  Array* array = make_array(*desc, memory, false);
  if (desc->Format == CU_AD_FORMAT_NV12) {
    const std::size_t luma = desc->Width * desc->Height;
    const CUDA_ARRAY3D_DESCRIPTOR planes[] = {
      {desc->Width, desc->Height, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0},
      {desc->Width / 2, desc->Height / 2, 0, CU_AD_FORMAT_UNSIGNED_INT8, 2, 0},
    };
    array->planes = {make_array(planes[0], memory, true),
                     make_array(planes[1], memory + luma, true)};
  }
  *out = reinterpret_cast<CUarray>(array);
  return CUDA_SUCCESS;
}

CUresult array_get_plane(CUarray* out, CUarray handle, unsigned plane) {
  const Array* array = state().arrays.get(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || plane >= array->planes.size()) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUarray>(array->planes[plane]);
  return CUDA_SUCCESS;
}

// Tiles of 64 KiB, as wide as high where the array is flat. Memory cannot be mapped into them here.
CUresult array_get_sparse_properties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray handle) {
  const Array* array = state().arrays.get(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || !is_sparse(array->desc)) return CUDA_ERROR_INVALID_VALUE;
  constexpr std::size_t kTile = std::size_t{64} << 10;
  std::memset(out, 0, sizeof *out);
  unsigned width = 1, height = 1;
  while (width * height * array->element < kTile) (width <= height ? width : height) *= 2;
  out->tileExtent = {width, height, 1};
  return CUDA_SUCCESS;
}

CUresult array_create(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* desc) {
  if (desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR full{desc->Width,  desc->Height,      0,
                                     desc->Format, desc->NumChannels, 0};
  return array_3d_create(out, &full);
}

CUresult array_3d_get_descriptor(CUDA_ARRAY3D_DESCRIPTOR* desc, CUarray handle) {
  const Array* array = state().arrays.get(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *desc = array->desc;
  return CUDA_SUCCESS;
}

CUresult array_get_descriptor(CUDA_ARRAY_DESCRIPTOR* desc, CUarray handle) {
  const Array* array = state().arrays.get(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *desc = {array->desc.Width, array->desc.Height, array->desc.Format, array->desc.NumChannels};
  return CUDA_SUCCESS;
}

CUresult array_destroy(CUarray handle) {
  const Array* array = state().arrays.get(handle);
  if (array == nullptr)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED; // what an H200 says to a second destruction
  if (array->is_level) return CUDA_SUCCESS;
  if (array->memory != 0) array->context->device->give(array->memory, array->bytes);
  for (const Array* plane : array->planes) state().arrays.take(plane);
  state().arrays.take(array);
  return CUDA_SUCCESS;
}

CUresult array_get_memory_requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUarray handle,
                                       CUdevice) {
  const Array* array = state().arrays.get(handle);
  if (out == nullptr || array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  out->size = round_up(array->bytes, kGranule);
  out->alignment = kGranule;
  return CUDA_SUCCESS;
}

CUresult mipmapped_array_create(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* desc,
                                unsigned levels) {
  if (out == nullptr || levels == 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check(desc); bad != CUDA_SUCCESS) return bad;
  if (CUresult refused = refuse_while_capturing(); refused != CUDA_SUCCESS) return refused;
  auto mipmapped = std::make_unique<MipmappedArray>();
  mipmapped->context = this_thread().current();
  mipmapped->desc = *desc;
  CUDA_ARRAY3D_DESCRIPTOR level = *desc;
  // As CUDA says, not more than until a level is one texel
  const std::size_t longest = std::max({desc->Width, desc->Height, desc->Depth});
  levels = std::min(levels, static_cast<unsigned>(std::bit_width(longest)));
  for (unsigned i = 0; i < levels; ++i) {
    const CUdeviceptr memory = current_device().take(payload(level));
    if (memory == 0) {
      for (const Array* made : mipmapped->levels) {
        current_device().give(made->memory, made->bytes);
        state().arrays.take(made);
      }
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mipmapped->levels.push_back(make_array(level, memory, true));
    level.Width = std::max<std::size_t>(level.Width / 2, 1);
    if (level.Height != 0) level.Height = std::max<std::size_t>(level.Height / 2, 1);
    const bool layered =
      (level.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0; // layers do not shrink
    if (level.Depth != 0 && !layered) level.Depth = std::max<std::size_t>(level.Depth / 2, 1);
  }
  *out = reinterpret_cast<CUmipmappedArray>(state().mipmapped.add(std::move(mipmapped)));
  return CUDA_SUCCESS;
}

CUresult mipmapped_array_destroy(CUmipmappedArray handle) {
  const MipmappedArray* mipmapped = state().mipmapped.get(handle);
  if (mipmapped == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  for (const Array* level : mipmapped->levels) {
    level->context->device->give(level->memory, level->bytes);
    state().arrays.take(level);
  }
  state().mipmapped.take(mipmapped);
  return CUDA_SUCCESS;
}

CUresult mipmapped_array_get_level(CUarray* out, CUmipmappedArray handle, unsigned level) {
  const MipmappedArray* mipmapped = state().mipmapped.get(handle);
  if (mipmapped == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || level >= mipmapped->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUarray>(mipmapped->levels[level]);
  return CUDA_SUCCESS;
}

CUresult mipmapped_array_get_memory_requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                 CUmipmappedArray handle, CUdevice) {
  const MipmappedArray* mipmapped = state().mipmapped.get(handle);
  if (out == nullptr || mipmapped == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  for (const Array* level : mipmapped->levels) out->size += round_up(level->bytes, kGranule);
  out->alignment = kGranule;
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
