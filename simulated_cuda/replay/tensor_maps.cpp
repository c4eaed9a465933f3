// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/replay/tensor_maps.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace gmt::replay {
namespace {

template <class To> std::array<To, 5> numbers(const std::array<std::uint64_t, 5>& from) {
  std::array<To, 5> to{};
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
  return to;
}

CUresult make_map(const trace::CapturedMap& map, CUtensorMap* made) {
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
      made, type, rank, address, extents.data(), strides.data(), lower.data(), upper.data(),
      static_cast<cuuint32_t>(map.channels), static_cast<cuuint32_t>(map.pixels),
      element_strides.data(), interleave, swizzle, promotion, fill);
  } else {
    const auto box = numbers<cuuint32_t>(map.first);
    result =
      cuTensorMapEncodeTiled(made, type, rank, address, extents.data(), strides.data(), box.data(),
                             element_strides.data(), interleave, swizzle, promotion, fill);
  }
  return result;
}

void put(const trace::CapturedMap& map, std::string_view made, trace::Capture& capture) {
  const auto write = [made](std::string& to, std::size_t at) { to.replace(at, made.size(), made); };
  if (map.lies_at == 0) return write(capture.arguments, map.offset);
  trace::CapturedBlock& block =
    capture.blocks[trace::block_around(capture, map.lies_at, trace::kMapBytes)];
  const std::size_t at = map.lies_at - block.address;
  const bool is_as_before =
    !block.after.empty() &&
    block.after.compare(at, made.size(), block.before, at, made.size()) == 0;
  write(block.before, at);
  if (is_as_before) write(block.after, at);
}

} // namespace

CUresult write_maps(trace::Capture* capture) {
  static_assert(sizeof(CUtensorMap) == trace::kMapBytes);
  for (const trace::CapturedMap& map : capture->maps) {
    CUtensorMap made{};
    if (const CUresult refused = make_map(map, &made); refused != CUDA_SUCCESS) return refused;
    put(map, {reinterpret_cast<const char*>(&made), sizeof made}, *capture);
  }
  return CUDA_SUCCESS;
}

} // namespace gmt::replay
