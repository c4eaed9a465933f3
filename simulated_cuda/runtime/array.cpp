// SPDX-License-Identifier: Apache-2.0
// CUDA arrays through the runtime: creation, release, descriptions.
// Called through runtime_api.def. Only the 3-D creation function of the driver is used, as in
// NVIDIA's runtime. Invariant: cudaFreeArray(NULL) succeeds without a driver call.
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/formats.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gmt::sim {
namespace {

CUarray array_handle(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

bool make_descriptor(const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags,
                     CUDA_ARRAY3D_DESCRIPTOR* out) {
  Format format{};
  if (desc == nullptr || !format_of(*desc, &format)) return false;
  *out = {extent.width, extent.height, extent.depth, format.format, format.channels, flags};
  return true;
}

// Kinds that have a format of their own, from cudaChannelFormatKindUnsignedNormalized8X1 on.
constexpr Format kNamedFormats[] = {
  {CU_AD_FORMAT_UNORM_INT8X1, 1},      {CU_AD_FORMAT_UNORM_INT8X2, 2},
  {CU_AD_FORMAT_UNORM_INT8X4, 4},      {CU_AD_FORMAT_UNORM_INT16X1, 1},
  {CU_AD_FORMAT_UNORM_INT16X2, 2},     {CU_AD_FORMAT_UNORM_INT16X4, 4},
  {CU_AD_FORMAT_SNORM_INT8X1, 1},      {CU_AD_FORMAT_SNORM_INT8X2, 2},
  {CU_AD_FORMAT_SNORM_INT8X4, 4},      {CU_AD_FORMAT_SNORM_INT16X1, 1},
  {CU_AD_FORMAT_SNORM_INT16X2, 2},     {CU_AD_FORMAT_SNORM_INT16X4, 4},
  {CU_AD_FORMAT_BC1_UNORM, 4},         {CU_AD_FORMAT_BC1_UNORM_SRGB, 4},
  {CU_AD_FORMAT_BC2_UNORM, 4},         {CU_AD_FORMAT_BC2_UNORM_SRGB, 4},
  {CU_AD_FORMAT_BC3_UNORM, 4},         {CU_AD_FORMAT_BC3_UNORM_SRGB, 4},
  {CU_AD_FORMAT_BC4_UNORM, 1},         {CU_AD_FORMAT_BC4_SNORM, 1},
  {CU_AD_FORMAT_BC5_UNORM, 2},         {CU_AD_FORMAT_BC5_SNORM, 2},
  {CU_AD_FORMAT_BC6H_UF16, 3},         {CU_AD_FORMAT_BC6H_SF16, 3},
  {CU_AD_FORMAT_BC7_UNORM, 4},         {CU_AD_FORMAT_BC7_UNORM_SRGB, 4},
  {CU_AD_FORMAT_UNORM_INT_101010_2, 4}};
constexpr int kFirstNamed = cudaChannelFormatKindUnsignedNormalized8X1;
static_assert(std::size(kNamedFormats) ==
              cudaChannelFormatKindUnsignedNormalized1010102 - kFirstNamed + 1);

// The kind of a named format, with the bits that NVIDIA's runtime says; false: it has no name.
bool describe_named(CUarray_format format, cudaChannelFormatDesc* out) {
  const auto* found = std::find_if(std::begin(kNamedFormats), std::end(kNamedFormats),
                                   [&](const Format& each) { return each.format == format; });
  if (found == std::end(kNamedFormats)) return false;
  const auto kind =
    static_cast<cudaChannelFormatKind>(kFirstNamed + (found - std::begin(kNamedFormats)));
  if (kind == cudaChannelFormatKindUnsignedNormalized1010102) {
    *out = {10, 10, 10, 2, kind};
    return true;
  }
  const bool is_wide = (kind >= cudaChannelFormatKindUnsignedNormalized16X1 &&
                        kind <= cudaChannelFormatKindUnsignedNormalized16X4) ||
                       (kind >= cudaChannelFormatKindSignedNormalized16X1 &&
                        kind <= cudaChannelFormatKindSignedNormalized16X4) ||
                       format == CU_AD_FORMAT_BC6H_UF16 || format == CU_AD_FORMAT_BC6H_SF16;
  const int bits = is_wide ? 16 : 8;
  const auto of = [&](unsigned channel) { return channel < found->channels ? bits : 0; };
  *out = {of(0), of(1), of(2), of(3), kind};
  return true;
}

} // namespace

bool format_of(const cudaChannelFormatDesc& desc, Format* out) {
  if (desc.f == cudaChannelFormatKindNV12) {
    *out = {CU_AD_FORMAT_NV12, 3};
    return true;
  }
  if (desc.f >= kFirstNamed) {
    const auto number = static_cast<std::size_t>(desc.f - kFirstNamed);
    if (number >= std::size(kNamedFormats)) return false;
    *out = kNamedFormats[number];
    return true;
  }
  const int bits = desc.x;
  const unsigned channels = 1u + (desc.y != 0) + (desc.z != 0) + (desc.w != 0);
  if (channels == 3 || (desc.y != 0 && desc.y != bits) || (desc.z != 0 && desc.z != bits))
    return false;
  const bool is_signed = desc.f == cudaChannelFormatKindSigned;
  if (desc.f == cudaChannelFormatKindFloat) {
    if (bits != 16 && bits != 32) return false;
    *out = {bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT, channels};
    return true;
  }
  switch (bits) {
  case 8:
    *out = {is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8, channels};
    return true;
  case 16:
    *out = {is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16, channels};
    return true;
  case 32:
    *out = {is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32, channels};
    return true;
  default: return false;
  }
}

cudaChannelFormatDesc description_of(CUarray_format format, unsigned channels) {
  if (cudaChannelFormatDesc named{}; describe_named(format, &named)) return named;
  int bits = 32;
  cudaChannelFormatKind kind = cudaChannelFormatKindUnsigned;
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8: bits = 8; break;
  case CU_AD_FORMAT_SIGNED_INT8:
    bits = 8;
    kind = cudaChannelFormatKindSigned;
    break;
  case CU_AD_FORMAT_UNSIGNED_INT16: bits = 16; break;
  case CU_AD_FORMAT_SIGNED_INT16:
    bits = 16;
    kind = cudaChannelFormatKindSigned;
    break;
  case CU_AD_FORMAT_SIGNED_INT32: kind = cudaChannelFormatKindSigned; break;
  case CU_AD_FORMAT_HALF:
    bits = 16;
    kind = cudaChannelFormatKindFloat;
    break;
  case CU_AD_FORMAT_FLOAT: kind = cudaChannelFormatKindFloat; break;
  default: break;
  }
  return {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}

cudaChannelFormatDesc create_channel_desc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t malloc_3d_array(cudaArray_t* out, const cudaChannelFormatDesc* desc, cudaExtent extent,
                            unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR made{};
  if (out == nullptr || !make_descriptor(desc, extent, flags, &made)) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(driver().cuArray3DCreate(reinterpret_cast<CUarray*>(out), &made));
}

cudaError_t malloc_array(cudaArray_t* out, const cudaChannelFormatDesc* desc, std::size_t width,
                         std::size_t height, unsigned flags) {
  return malloc_3d_array(out, desc, {width, height, 0}, flags);
}

cudaError_t malloc_mipmapped_array(cudaMipmappedArray_t* out, const cudaChannelFormatDesc* desc,
                                   cudaExtent extent, unsigned levels, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR made{};
  if (out == nullptr || !make_descriptor(desc, extent, flags, &made)) return cudaErrorInvalidValue;
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return to_runtime(
    driver().cuMipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(out), &made, levels));
}

cudaError_t free_array(cudaArray_t array) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  return array == nullptr ? cudaSuccess : to_runtime(driver().cuArrayDestroy(array_handle(array)));
}

cudaError_t free_mipmapped_array(cudaMipmappedArray_t array) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  if (array == nullptr) return cudaSuccess;
  return to_runtime(driver().cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(array)));
}

cudaError_t array_get_info(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags,
                           cudaArray_t array) {
  if (cudaError_t error = use_context(); error != cudaSuccess) return error;
  CUDA_ARRAY3D_DESCRIPTOR found{};
  const CUresult result = driver().cuArray3DGetDescriptor(&found, array_handle(array));
  if (result != CUDA_SUCCESS) return to_runtime(result);
  if (desc != nullptr) *desc = description_of(found.Format, found.NumChannels);
  if (extent != nullptr) *extent = {found.Width, found.Height, found.Depth};
  if (flags != nullptr) *flags = found.Flags;
  return cudaSuccess;
}

cudaError_t get_channel_desc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  if (desc == nullptr) return cudaErrorInvalidValue;
  return array_get_info(desc, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

} // namespace gmt::sim
