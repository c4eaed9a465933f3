// SPDX-License-Identifier: Apache-2.0
// Tensor maps. What is refused is what an H100 refuses: packed types of 4 and 6 bits, and swizzles
// of larger atoms, which newer GPUs have.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/executor/program/tensor_map.h"

#include <algorithm>
#include <cstring>

namespace gmt::sim {
namespace {

using executor::TensorMap;

constexpr cuuint64_t kMostSize = cuuint64_t{1} << 32, kMostStride = cuuint64_t{1} << 40;
constexpr cuuint64_t kMostBoxBytes = 232448; // of a box: what a block may have in shared memory
constexpr cuuint32_t kMostBox = 256, kMostStep = 8, kAlignment = 16;

// Bytes of an element; 0: an H100 has no such type.
std::uint8_t bytes_of(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
  case CU_TENSOR_MAP_DATA_TYPE_UINT32:
  case CU_TENSOR_MAP_DATA_TYPE_INT32:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
  case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
  case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return 4;
  default: return 0;
  }
}

bool is_integer(CUtensorMapDataType type) { return type <= CU_TENSOR_MAP_DATA_TYPE_INT64; }

// What both kinds of maps have.
struct TensorFacts {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t *sizes, *strides;
  const cuuint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapFloatOOBfill fill;
};

CUresult begin_map(const TensorFacts& given, TensorMap* map) {
  if (given.sizes == nullptr || given.steps == nullptr || given.rank > TensorMap::kMostRank)
    return CUDA_ERROR_INVALID_VALUE;
  if (given.strides == nullptr) return CUDA_ERROR_INVALID_VALUE; // of one dimension, too
  const bool is_interleaved = given.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
  if (is_interleaved && given.rank < 3) return CUDA_ERROR_INVALID_VALUE;
  if (given.interleave > CU_TENSOR_MAP_INTERLEAVE_32B || given.swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return CUDA_ERROR_INVALID_VALUE;
  map->element = bytes_of(given.type);
  if (map->element == 0) return CUDA_ERROR_INVALID_VALUE;
  map->magic = TensorMap::kMagic;
  map->address = reinterpret_cast<std::uint64_t>(given.address);
  const bool is_wide = given.interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
  const cuuint64_t alignment = is_wide ? 2 * kAlignment : kAlignment;
  if (is_interleaved) map->slice = static_cast<std::uint8_t>(alignment);
  if (map->address == 0 || map->address % alignment != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool fills_with_nan = given.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (fills_with_nan && is_integer(given.type)) return CUDA_ERROR_INVALID_VALUE;
  map->rank = static_cast<std::uint8_t>(given.rank);
  map->type = static_cast<std::uint8_t>(given.type);
  map->swizzle = static_cast<std::uint8_t>(given.swizzle);
  map->fills_with_nan = fills_with_nan ? 1 : 0;
  for (cuuint32_t d = 0; d < given.rank; ++d) {
    const cuuint64_t stride = d == 0 ? map->element : given.strides[d - 1];
    if (given.sizes[d] == 0 || given.sizes[d] > kMostSize) return CUDA_ERROR_INVALID_VALUE;
    if (given.steps[d] == 0 || given.steps[d] > kMostStep) return CUDA_ERROR_INVALID_VALUE;
    if (d != 0 && (stride % alignment != 0 || stride >= kMostStride))
      return CUDA_ERROR_INVALID_VALUE;
    map->sizes[d] = given.sizes[d];
    map->strides[d] = stride;
    map->steps[d] = static_cast<std::uint8_t>(given.steps[d]);
  }
  return CUDA_SUCCESS;
}

// A row is what lies side by side in shared memory.
CUresult end_map(const TensorMap& map, CUtensorMap* out) {
  const cuuint32_t row = cuuint32_t{map.box[0]} * map.element;
  if (row % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  if (map.slice == 0 && map.swizzle != 0 && row > (16u << map.swizzle))
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

} // namespace

CUresult tensor_map_encode_tiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank,
                                 void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                 const cuuint32_t* box, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  if (out == nullptr || box == nullptr || rank == 0) return CUDA_ERROR_INVALID_VALUE;
  TensorMap map;
  const CUresult bad =
    begin_map({type, rank, address, sizes, strides, steps, interleave, swizzle, fill}, &map);
  if (bad != CUDA_SUCCESS) return bad;
  cuuint64_t bytes = map.element;
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (box[d] == 0 || box[d] > kMostBox) return CUDA_ERROR_INVALID_VALUE;
    map.box[d] = static_cast<std::uint16_t>(box[d]);
    bytes *= box[d];
  }
  return bytes > kMostBoxBytes ? CUDA_ERROR_INVALID_VALUE : end_map(map, out);
}

// Corners of the box of pixels have as many bits as cuda.h says: 16 in one dimension, 8 in each of
// two, 5 in each of three.
CUresult tensor_map_encode_im2col(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank,
                                  void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                  const int* lower, const int* upper, cuuint32_t channels,
                                  cuuint32_t pixels, const cuuint32_t* steps,
                                  CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                  CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  constexpr cuuint32_t kLeastRank = 3, kMostPixels = 1024;
  constexpr int kCorners[] = {1 << 15, 1 << 7, 1 << 4};
  if (out == nullptr || lower == nullptr || upper == nullptr || rank < kLeastRank)
    return CUDA_ERROR_INVALID_VALUE;
  TensorMap map;
  const CUresult bad =
    begin_map({type, rank, address, sizes, strides, steps, interleave, swizzle, fill}, &map);
  if (bad != CUDA_SUCCESS) return bad;
  if (channels == 0 || channels > kMostBox || pixels == 0 || pixels > kMostPixels)
    return CUDA_ERROR_INVALID_VALUE;
  map.is_im2col = 1;
  map.box[0] = static_cast<std::uint16_t>(channels);
  map.box[1] = static_cast<std::uint16_t>(pixels);
  const int most = kCorners[rank - kLeastRank];
  for (cuuint32_t d = 0; d + 2 < rank; ++d) {
    const auto is_corner = [&](int at) { return at >= -most && at < most; };
    if (!is_corner(lower[d]) || !is_corner(upper[d])) return CUDA_ERROR_INVALID_VALUE;
    map.lower[d] = static_cast<std::int16_t>(lower[d]);
    map.upper[d] = static_cast<std::int16_t>(upper[d]);
  }
  return end_map(map, out);
}

// An H100 makes such a map, though it has no instruction that copies by it.
CUresult tensor_map_encode_im2col_wide(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank,
                                       void* address, const cuuint64_t* sizes,
                                       const cuuint64_t* strides, int lower, int upper,
                                       cuuint32_t channels, cuuint32_t pixels,
                                       const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                       CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion promotion,
                                       CUtensorMapFloatOOBfill fill) {
  if (mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128) return CUDA_ERROR_INVALID_VALUE;
  const int lowers[] = {lower, 0, 0}, uppers[] = {upper, 0, 0};
  constexpr int kMost = 1 << 15;
  if (lower < -kMost || lower >= kMost || upper < -kMost || upper >= kMost)
    return CUDA_ERROR_INVALID_VALUE;
  CUtensorMap made{};
  const int none[] = {0, 0, 0};
  const CUresult bad =
    tensor_map_encode_im2col(&made, type, rank, address, sizes, strides, none, none, channels,
                             pixels, steps, interleave, swizzle, promotion, fill);
  if (bad != CUDA_SUCCESS || out == nullptr)
    return bad != CUDA_SUCCESS ? bad : CUDA_ERROR_INVALID_VALUE;
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), &made, sizeof map);
  map.is_im2col = 2;
  std::copy(lowers, lowers + 3, map.lower);
  std::copy(uppers, uppers + 3, map.upper);
  std::memcpy(out, &made, sizeof made);
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

CUresult tensor_map_replace_address(CUtensorMap* out, void* address) {
  if (out == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), out, sizeof map);
  map.address = reinterpret_cast<std::uint64_t>(address);
  if (map.magic != TensorMap::kMagic || map.address % kAlignment != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
