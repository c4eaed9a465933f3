// SPDX-License-Identifier: Apache-2.0
// Tensor maps. What is refused is what cuda.h says of cuTensorMapEncodeTiled. Tensors whose
// channels are interleaved, and packed types of 4 and 6 bits, are answered as not supported.
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

// Bytes of an element; 0: it is not simulated.
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

} // namespace

CUresult tensor_map_encode_tiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank,
                                 void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                 const cuuint32_t* box, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  const bool has_all = out != nullptr && sizes != nullptr && box != nullptr && steps != nullptr;
  if (!has_all || rank == 0 || rank > TensorMap::kMostRank) return CUDA_ERROR_INVALID_VALUE;
  if (rank > 1 && strides == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) return CUDA_ERROR_INVALID_VALUE;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return not_simulated("tensor maps with interleaved channels");
  TensorMap map;
  map.element = bytes_of(type);
  if (map.element == 0) return not_simulated("tensor maps of packed types");
  map.magic = TensorMap::kMagic;
  map.address = reinterpret_cast<std::uint64_t>(address);
  if (map.address == 0 || map.address % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && is_integer(type))
    return CUDA_ERROR_INVALID_VALUE;
  map.rank = static_cast<std::uint8_t>(rank);
  map.type = static_cast<std::uint8_t>(type);
  map.swizzle = static_cast<std::uint8_t>(swizzle);
  map.fills_with_nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? 1 : 0;
  for (cuuint32_t d = 0; d < rank; ++d) {
    const cuuint64_t stride = d == 0 ? map.element : strides[d - 1];
    if (sizes[d] == 0 || sizes[d] > kMostSize || box[d] == 0 || box[d] > kMostBox)
      return CUDA_ERROR_INVALID_VALUE;
    if (steps[d] == 0 || steps[d] > kMostStep) return CUDA_ERROR_INVALID_VALUE;
    if (d != 0 && (stride % kAlignment != 0 || stride >= kMostStride))
      return CUDA_ERROR_INVALID_VALUE;
    map.sizes[d] = sizes[d];
    map.strides[d] = stride;
    map.box[d] = static_cast<std::uint16_t>(box[d]);
    map.steps[d] = static_cast<std::uint8_t>(steps[d]);
  }
  const cuuint32_t row = box[0] * map.element;
  cuuint64_t bytes = row;
  for (cuuint32_t d = 1; d < rank; ++d) bytes *= box[d];
  if (bytes > kMostBoxBytes) return CUDA_ERROR_INVALID_VALUE;
  if (row % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  if (map.swizzle != 0 && row > (16u << map.swizzle)) return CUDA_ERROR_INVALID_VALUE;
  std::memset(out, 0, sizeof *out);
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
