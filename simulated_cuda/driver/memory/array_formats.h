// SPDX-License-Identifier: Apache-2.0
// How the texels of a format lie in an array: one by one, or in blocks of 4 x 4 that are compressed
// together (BC1 to BC7). Copies count blocks as elements, and rows of them as rows (H100).
#pragma once

#include <cuda.h>

#include <cstddef>

namespace gmt::sim {

struct ArrayFormat {
  std::size_t channel = 0; // bytes; 0: the format's texels are no row of channels
  std::size_t element = 0; // bytes of a texel or a block where `channel` is 0
  unsigned edge = 1;       // of a block, in texels
  unsigned channels = 0;   // that the format has; 0: as many as the description says
};

constexpr ArrayFormat array_format(CUarray_format format) {
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8:
  case CU_AD_FORMAT_NV12: return {1, 0, 1, 0};
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF: return {2, 0, 1, 0};
  case CU_AD_FORMAT_UNSIGNED_INT32:
  case CU_AD_FORMAT_SIGNED_INT32:
  case CU_AD_FORMAT_FLOAT: return {4, 0, 1, 0};
  case CU_AD_FORMAT_UNORM_INT8X1:
  case CU_AD_FORMAT_SNORM_INT8X1: return {1, 0, 1, 1};
  case CU_AD_FORMAT_UNORM_INT8X2:
  case CU_AD_FORMAT_SNORM_INT8X2: return {1, 0, 1, 2};
  case CU_AD_FORMAT_UNORM_INT8X4:
  case CU_AD_FORMAT_SNORM_INT8X4: return {1, 0, 1, 4};
  case CU_AD_FORMAT_UNORM_INT16X1:
  case CU_AD_FORMAT_SNORM_INT16X1: return {2, 0, 1, 1};
  case CU_AD_FORMAT_UNORM_INT16X2:
  case CU_AD_FORMAT_SNORM_INT16X2: return {2, 0, 1, 2};
  case CU_AD_FORMAT_UNORM_INT16X4:
  case CU_AD_FORMAT_SNORM_INT16X4: return {2, 0, 1, 4};
  case CU_AD_FORMAT_UNORM_INT_101010_2: return {0, 4, 1, 4};
  case CU_AD_FORMAT_BC1_UNORM:
  case CU_AD_FORMAT_BC1_UNORM_SRGB: return {0, 8, 4, 4};
  case CU_AD_FORMAT_BC2_UNORM:
  case CU_AD_FORMAT_BC2_UNORM_SRGB:
  case CU_AD_FORMAT_BC3_UNORM:
  case CU_AD_FORMAT_BC3_UNORM_SRGB: return {0, 16, 4, 4};
  case CU_AD_FORMAT_BC6H_UF16:
  case CU_AD_FORMAT_BC6H_SF16: return {0, 16, 4, 3};
  case CU_AD_FORMAT_BC7_UNORM:
  case CU_AD_FORMAT_BC7_UNORM_SRGB: return {0, 16, 4, 4};
  case CU_AD_FORMAT_BC4_UNORM:
  case CU_AD_FORMAT_BC4_SNORM: return {0, 8, 4, 1};
  case CU_AD_FORMAT_BC5_UNORM:
  case CU_AD_FORMAT_BC5_SNORM: return {0, 16, 4, 2};
  default: return {};
  }
}

// Of an array: what copies count.
struct StoredExtent {
  std::size_t element = 0, width = 0, height = 0, depth = 0; // element: bytes; the others: of them
};

constexpr StoredExtent stored_extent(const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  const ArrayFormat format = array_format(desc.Format);
  const auto blocks = [&](std::size_t texels) {
    return texels == 0 ? 1 : (texels + format.edge - 1) / format.edge;
  };
  return {format.channel == 0 ? format.element : format.channel * desc.NumChannels,
          blocks(desc.Width), blocks(desc.Height), desc.Depth == 0 ? 1 : desc.Depth};
}

} // namespace gmt::sim
