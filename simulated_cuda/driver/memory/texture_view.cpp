// SPDX-License-Identifier: Apache-2.0
// Called with the lock held, which a launch keeps while its workers ask for objects. A handle's
// number is given once: a lower one than the last that leads to nothing was destroyed.
#include "simulated_cuda/driver/memory/texture_view.h"

#include "simulated_cuda/driver/memory/array_formats.h"
#include "simulated_cuda/driver/state/state.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace gmt::sim {
namespace {

using executor::TexelKind;
using executor::TexelRows;

// Compressed and packed texels: what kernels get of them has four channels.
bool set_packing(executor::Texture& t, CUarray_format format) {
  using executor::TexelPacking;
  const auto packed = [&](TexelPacking packing, TexelKind kind, std::uint8_t channel_bytes) {
    t.packing = packing;
    t.kind = kind;
    t.channel_bytes = channel_bytes;
    t.channels = 4;
    return true;
  };
  switch (format) {
  case CU_AD_FORMAT_UNORM_INT_101010_2:
    return packed(TexelPacking::k1010102, TexelKind::kUnsigned, 2);
  case CU_AD_FORMAT_BC1_UNORM:
  case CU_AD_FORMAT_BC1_UNORM_SRGB: return packed(TexelPacking::kBc1, TexelKind::kUnsigned, 1);
  case CU_AD_FORMAT_BC2_UNORM:
  case CU_AD_FORMAT_BC2_UNORM_SRGB: return packed(TexelPacking::kBc2, TexelKind::kUnsigned, 1);
  case CU_AD_FORMAT_BC3_UNORM:
  case CU_AD_FORMAT_BC3_UNORM_SRGB: return packed(TexelPacking::kBc3, TexelKind::kUnsigned, 1);
  case CU_AD_FORMAT_BC6H_SF16: t.kind_of_bits = TexelKind::kSigned; [[fallthrough]];
  case CU_AD_FORMAT_BC6H_UF16: return packed(TexelPacking::kBc6, TexelKind::kFloat, 2);
  case CU_AD_FORMAT_BC7_UNORM:
  case CU_AD_FORMAT_BC7_UNORM_SRGB: return packed(TexelPacking::kBc7, TexelKind::kUnsigned, 1);
  case CU_AD_FORMAT_BC4_UNORM: return packed(TexelPacking::kBc4, TexelKind::kUnsigned, 2);
  case CU_AD_FORMAT_BC4_SNORM: return packed(TexelPacking::kBc4, TexelKind::kSigned, 2);
  case CU_AD_FORMAT_BC5_UNORM: return packed(TexelPacking::kBc5, TexelKind::kUnsigned, 2);
  case CU_AD_FORMAT_BC5_SNORM: return packed(TexelPacking::kBc5, TexelKind::kSigned, 2);
  default: return false;
  }
}

bool is_signed_fraction(CUarray_format format) {
  return format >= CU_AD_FORMAT_SNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4;
}

void set_format(executor::Texture& t, CUarray_format format, unsigned channels) {
  if (set_packing(t, format)) return;
  t.channels = static_cast<std::uint8_t>(channels);
  if (const ArrayFormat of = array_format(format); of.channels != 0) { // UNORM and SNORM
    t.kind = is_signed_fraction(format) ? TexelKind::kSigned : TexelKind::kUnsigned;
    t.channel_bytes = static_cast<std::uint8_t>(of.channel);
    return;
  }
  switch (format) {
  case CU_AD_FORMAT_SIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT32: t.kind = TexelKind::kSigned; break;
  case CU_AD_FORMAT_HALF:
  case CU_AD_FORMAT_FLOAT: t.kind = TexelKind::kFloat; break;
  default: t.kind = TexelKind::kUnsigned; break;
  }
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8: t.channel_bytes = 1; break;
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF: t.channel_bytes = 2; break;
  default: t.channel_bytes = 4; break;
  }
}

// Formats of views come in threes: of one, two and four channels. False: blocks of texels.
bool set_view_format(executor::Texture& t, CUresourceViewFormat format) {
  static constexpr CUarray_format kFormats[] = {
    CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT8,    CU_AD_FORMAT_UNSIGNED_INT16,
    CU_AD_FORMAT_SIGNED_INT16,  CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
    CU_AD_FORMAT_HALF,          CU_AD_FORMAT_FLOAT};
  if (format == CU_RES_VIEW_FORMAT_NONE) return true;
  const unsigned number = static_cast<unsigned>(format) - 1;
  if (number / 3 >= std::size(kFormats)) return false;
  const unsigned bytes = t.texel_bytes();
  set_format(t, kFormats[number / 3], 1u << number % 3);
  return t.texel_bytes() == bytes;
}

TexelRows rows_of(const Array& array) {
  const CUDA_ARRAY3D_DESCRIPTOR& desc = array.desc;
  TexelRows rows;
  rows.width = static_cast<std::uint32_t>(desc.Width);
  rows.height = static_cast<std::uint32_t>(std::max<std::size_t>(desc.Height, 1));
  rows.depth = static_cast<std::uint32_t>(std::max<std::size_t>(desc.Depth, 1));
  const StoredExtent stored = stored_extent(desc);
  rows.pitch = stored.width * stored.element;
  rows.slice = rows.pitch * stored.height;
  rows.host = reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(array.memory) +
                                           array.context->device->to_host());
  return rows;
}

void set_array(executor::Texture& t, const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  set_format(t, desc.Format, desc.NumChannels);
  t.is_layered = (desc.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  t.is_cube = (desc.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  const bool has_slices = desc.Depth != 0 && !t.is_layered && !t.is_cube;
  t.dimensions = 2;
  if (has_slices) t.dimensions = 3;
  if (desc.Height == 0) t.dimensions = 1;
}

void set_description(executor::Texture& t, const CUDA_TEXTURE_DESC& from) {
  for (std::size_t d = 0; d < 3; ++d)
    t.modes[d] = static_cast<executor::AddressMode>(from.addressMode[d] & 3);
  t.is_normalized = (from.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0 || t.levels.size() > 1;
  const bool is_always = t.packing == executor::TexelPacking::k1010102; // whatever is asked for
  t.reads_fractions = ((from.flags & CU_TRSF_READ_AS_INTEGER) == 0 || is_always) &&
                      t.channel_bytes < 4 && t.kind != TexelKind::kFloat;
  const bool are_joined = t.kind == TexelKind::kFloat || t.reads_fractions; // integers never
  t.interpolates = from.filterMode == CU_TR_FILTER_MODE_LINEAR && are_joined;
  t.interpolates_levels = from.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR && are_joined;
  t.is_srgb = (from.flags & CU_TRSF_SRGB) != 0;
  t.is_seamless = (from.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  t.bias = std::isnan(from.mipmapLevelBias) ? 0 : from.mipmapLevelBias;
  t.least_level = from.minMipmapLevelClamp;
  t.most_level = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), t.border);
}

// The layers and levels that a view leaves.
void restrict_to(executor::Texture& t, const CUDA_RESOURCE_VIEW_DESC& view) {
  const std::size_t first = std::min<std::size_t>(view.firstMipmapLevel, t.levels.size() - 1);
  const std::size_t last =
    std::clamp<std::size_t>(view.lastMipmapLevel, first, t.levels.size() - 1);
  t.levels.assign(t.levels.begin() + static_cast<std::ptrdiff_t>(first),
                  t.levels.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  if (!t.is_layered || view.lastLayer < view.firstLayer) return;
  for (TexelRows& rows : t.levels) {
    const std::uint32_t begin = std::min(view.firstLayer, rows.depth - 1);
    rows.host += begin * rows.slice;
    rows.depth = std::min(view.lastLayer, rows.depth - 1) - begin + 1;
  }
}

} // namespace

std::optional<executor::Texture> view_of_texture(const CUDA_RESOURCE_DESC& resource,
                                                 const CUDA_TEXTURE_DESC& description,
                                                 const CUDA_RESOURCE_VIEW_DESC* view) {
  executor::Texture t;
  switch (resource.resType) {
  case CU_RESOURCE_TYPE_ARRAY: {
    const Array& array = *state().arrays.get(resource.res.array.hArray);
    if (array.memory == 0 || !array.planes.empty()) return std::nullopt;
    set_array(t, array.desc);
    t.levels.push_back(rows_of(array));
    break;
  }
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
    const MipmappedArray& all = *state().mipmapped.get(resource.res.mipmap.hMipmappedArray);
    set_array(t, all.desc);
    for (const Array* level : all.levels) t.levels.push_back(rows_of(*level));
    break;
  }
  case CU_RESOURCE_TYPE_LINEAR: {
    const auto& linear = resource.res.linear;
    set_format(t, linear.format, linear.numChannels);
    t.is_linear_memory = true;
    TexelRows rows;
    rows.address = linear.devPtr;
    constexpr std::size_t kMost = 0xffffffffu;
    rows.width = static_cast<std::uint32_t>(std::min(linear.sizeInBytes / t.texel_bytes(), kMost));
    rows.pitch = rows.slice = linear.sizeInBytes;
    t.levels.push_back(rows);
    break;
  }
  default: {
    const auto& plane = resource.res.pitch2D;
    set_format(t, plane.format, plane.numChannels);
    t.dimensions = 2;
    TexelRows rows;
    rows.address = plane.devPtr;
    rows.width = static_cast<std::uint32_t>(plane.width);
    rows.height = static_cast<std::uint32_t>(plane.height);
    rows.pitch = plane.pitchInBytes;
    rows.slice = plane.pitchInBytes * plane.height;
    t.levels.push_back(rows);
    break;
  }
  }
  if (view != nullptr && !set_view_format(t, view->format)) return std::nullopt;
  if (view != nullptr && !t.is_linear_memory) restrict_to(t, *view);
  set_description(t, description);
  return t;
}

executor::Texture view_of_surface(const Array& array) {
  executor::Texture t;
  t.is_surface = true;
  set_array(t, array.desc);
  t.levels.push_back(rows_of(array));
  return t;
}

executor::FoundTexture texture_at(std::uint64_t handle) {
  using Found = executor::FoundTexture::State;
  const auto known = state().numbered_textures.find(handle);
  if (known == state().numbered_textures.end())
    return {handle != 0 && handle <= state().last_texture ? Found::kDestroyed : Found::kUnknown,
            nullptr};
  const Texture* texture = state().textures.get(known->second);
  if (texture == nullptr || texture->number != handle) return {Found::kDestroyed, nullptr};
  const CUDA_RESOURCE_DESC& from = texture->resource;
  bool is_alive = true;
  if (from.resType == CU_RESOURCE_TYPE_ARRAY) {
    const Array* array = state().arrays.get(from.res.array.hArray);
    is_alive = array != nullptr && array->id == texture->memory_id;
  } else if (from.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    const MipmappedArray* all = state().mipmapped.get(from.res.mipmap.hMipmappedArray);
    is_alive = all != nullptr && all->levels.front()->id == texture->memory_id;
  }
  return {is_alive ? Found::kAlive : Found::kFreed, &texture->view_of_kernels};
}

} // namespace gmt::sim
