// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/replay/tensor_maps.h"

#include <array>
#include <cstring>

namespace gmt::replay {
namespace {

template <class To> std::array<To, 5> numbers(const std::array<std::uint64_t, 5>& from) {
  std::array<To, 5> to{};
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
  return to;
}

} // namespace

CUresult write_map(const trace::CapturedMap& map, std::string& arguments) {
  static_assert(sizeof(CUtensorMap) == trace::kMapBytes);
  CUtensorMap made{};
  const auto type = static_cast<CUtensorMapDataType>(map.type);
  const auto rank = static_cast<cuuint32_t>(map.rank);
  void* const address = reinterpret_cast<void*>(map.address); // NOLINT(performance-no-int-to-ptr)
  const auto element_strides = numbers<cuuint32_t>(map.element_strides);
  const auto extents = numbers<cuuint64_t>(map.extents), strides = numbers<cuuint64_t>(map.strides);
  const auto interleave = static_cast<CUtensorMapInterleave>(map.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(map.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(map.promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(map.fill);
  CUresult result = CUDA_SUCCESS;
  if (map.is_im2col) {
    const auto lower = numbers<int>(map.first), upper = numbers<int>(map.second);
    result = cuTensorMapEncodeIm2col(
      &made, type, rank, address, extents.data(), strides.data(), lower.data(), upper.data(),
      static_cast<cuuint32_t>(map.channels), static_cast<cuuint32_t>(map.pixels),
      element_strides.data(), interleave, swizzle, promotion, fill);
  } else {
    const auto box = numbers<cuuint32_t>(map.first);
    result =
      cuTensorMapEncodeTiled(&made, type, rank, address, extents.data(), strides.data(), box.data(),
                             element_strides.data(), interleave, swizzle, promotion, fill);
  }
  if (result == CUDA_SUCCESS) std::memcpy(arguments.data() + map.offset, &made, sizeof made);
  return result;
}

} // namespace gmt::replay
