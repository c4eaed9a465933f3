// SPDX-License-Identifier: Apache-2.0
// What tensor maps were made of, by the bytes that the driver answered: a launch that has these
// bytes among its arguments uses the map.
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Maps {
  std::map<std::string, trace::CapturedMap> by_bytes;
};
constinit Lasting<Maps> all_maps;

std::string bytes_of(const CUtensorMap* map) {
  return {reinterpret_cast<const char*>(map), trace::kMapBytes};
}

void keep(const CUtensorMap* map, const trace::CapturedMap& made) noexcept {
  constexpr std::size_t kMost = 1 << 16;
  try {
    std::string bytes = bytes_of(map);
    const Locked lock;
    if ((*all_maps).by_bytes.size() < kMost) (*all_maps).by_bytes[std::move(bytes)] = made;
  } catch (const std::exception&) { // of memory: its launch cannot be replayed then
    return;
  }
}

template <class From>
void copy_numbers(std::array<std::uint64_t, 5>& to, const From* from, std::uint64_t count) {
  for (std::uint64_t i = 0; from != nullptr && i < count && i < to.size(); ++i)
    to[i] = static_cast<std::uint64_t>(from[i]);
}

trace::CapturedMap describe(CUtensorMapDataType type, cuuint32_t rank, const void* address,
                            const cuuint64_t* extents, const cuuint64_t* strides,
                            const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                            CUtensorMapFloatOOBfill fill) {
  trace::CapturedMap map;
  map.type = type;
  map.rank = rank;
  map.address = reinterpret_cast<std::uint64_t>(address);
  copy_numbers(map.extents, extents, rank);
  copy_numbers(map.strides, strides, rank - 1);
  copy_numbers(map.element_strides, element_strides, rank);
  map.interleave = interleave;
  map.swizzle = swizzle;
  map.promotion = promotion;
  map.fill = fill;
  return map;
}

CUresult encode_tiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill) noexcept {
  const int result =
    own<"cuTensorMapEncodeTiled", CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
        const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill>(
      out, type, rank, address, extents, strides, box, element_strides, interleave, swizzle,
      promotion, fill);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  trace::CapturedMap map = describe(type, rank, address, extents, strides, element_strides,
                                    interleave, swizzle, promotion, fill);
  copy_numbers(map.first, box, rank);
  keep(out, map);
  return CUDA_SUCCESS;
}

CUresult encode_im2col(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address,
                       const cuuint64_t* extents, const cuuint64_t* strides, const int* lower,
                       const int* upper, cuuint32_t channels, cuuint32_t pixels,
                       const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill) noexcept {
  const int result =
    own<"cuTensorMapEncodeIm2col", CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
        const cuuint64_t*, const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
        const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
        CUtensorMapFloatOOBfill>(out, type, rank, address, extents, strides, lower, upper, channels,
                                 pixels, element_strides, interleave, swizzle, promotion, fill);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  trace::CapturedMap map = describe(type, rank, address, extents, strides, element_strides,
                                    interleave, swizzle, promotion, fill);
  map.is_im2col = true;
  copy_numbers(map.first, lower, rank - 2);
  copy_numbers(map.second, upper, rank - 2);
  map.channels = channels;
  map.pixels = pixels;
  keep(out, map);
  return CUDA_SUCCESS;
}

CUresult replace_address(CUtensorMap* out, void* address) noexcept {
  trace::CapturedMap map;
  if (out != nullptr) {
    try {
      const std::string bytes = bytes_of(out);
      const Locked lock;
      const auto found = (*all_maps).by_bytes.find(bytes);
      if (found != (*all_maps).by_bytes.end()) map = found->second;
    } catch (const std::exception&) { // of memory
      map.rank = 0;
    }
  }
  const int result = own<"cuTensorMapReplaceAddress", CUtensorMap*, void*>(out, address);
  if (result == CUDA_SUCCESS && map.rank != 0) {
    map.address = reinterpret_cast<std::uint64_t>(address);
    keep(out, map);
  }
  return static_cast<CUresult>(result);
}

} // namespace

void replace_encoders() noexcept {
  replace("cuTensorMapEncodeTiled", reinterpret_cast<void*>(&encode_tiled));
  replace("cuTensorMapEncodeIm2col", reinterpret_cast<void*>(&encode_im2col));
  replace("cuTensorMapReplaceAddress", reinterpret_cast<void*>(&replace_address));
}

void abandon_maps() noexcept { all_maps.begin_anew(); }

void capture_maps(trace::Capture* capture) {
  constexpr std::size_t kAlignment = 8;
  const std::string& arguments = capture->arguments;
  const Locked lock;
  if ((*all_maps).by_bytes.empty()) return;
  for (std::size_t at = 0; at + trace::kMapBytes <= arguments.size();) {
    const auto found = (*all_maps).by_bytes.find(arguments.substr(at, trace::kMapBytes));
    if (found == (*all_maps).by_bytes.end()) {
      at += kAlignment;
      continue;
    }
    capture->maps.push_back(found->second);
    capture->maps.back().offset = at;
    at += trace::kMapBytes;
  }
}

} // namespace gmt::interposer::kernel_checks
