// SPDX-License-Identifier: Apache-2.0
// What tensor maps were made of, by the bytes that the driver answered: a launch that has these
// bytes among its arguments, or in memory that it can reach, uses the map.
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Maps {
  std::map<std::string, trace::CapturedMap, std::less<>> by_bytes;
  std::unordered_set<std::uint64_t> beginnings; // their first words: what has none of them is none
};
constinit Lasting<Maps> all_maps;

std::string bytes_of(const CUtensorMap* map) {
  return {reinterpret_cast<const char*>(map), trace::kMapBytes};
}

std::uint64_t first_word(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

void keep(const CUtensorMap* map, const trace::CapturedMap& made) noexcept {
  constexpr std::size_t kMost = 1 << 16;
  try {
    std::string bytes = bytes_of(map);
    const Locked lock;
    if ((*all_maps).by_bytes.size() >= kMost) return;
    (*all_maps).beginnings.insert(first_word(bytes));
    (*all_maps).by_bytes[std::move(bytes)] = made;
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

namespace {

// With the lock held; `each` takes a map and its offset in `bytes`.
template <class Each>
void each_map_in(std::string_view bytes, std::size_t alignment, const Each& each) {
  const Maps& maps = *all_maps;
  for (std::size_t at = 0; at + trace::kMapBytes <= bytes.size();) {
    const std::string_view here = bytes.substr(at, trace::kMapBytes);
    const auto found =
      maps.beginnings.contains(first_word(here)) ? maps.by_bytes.find(here) : maps.by_bytes.end();
    if (found == maps.by_bytes.end()) {
      at += alignment;
      continue;
    }
    each(found->second, at);
    at += trace::kMapBytes;
  }
}

} // namespace

void capture_maps(trace::Capture* capture) {
  constexpr std::size_t kAlignment = 8; // of an argument that is part of a structure
  const Locked lock;
  if ((*all_maps).by_bytes.empty()) return;
  const auto add = [capture](trace::CapturedMap map, std::uint64_t lies_at, std::uint64_t offset) {
    map.lies_at = lies_at;
    map.offset = offset;
    capture->maps.push_back(map);
  };
  each_map_in(capture->arguments, kAlignment,
              [&](const trace::CapturedMap& map, std::size_t at) { add(map, 0, at); });
  for (const trace::CapturedBlock& block : capture->blocks) {
    const std::uint64_t past = block.address % trace::kMapAlignment;
    const std::uint64_t before = past == 0 ? 0 : trace::kMapAlignment - past;
    if (before >= block.before.size()) continue;
    each_map_in(std::string_view(block.before).substr(before), trace::kMapAlignment,
                [&](const trace::CapturedMap& map, std::size_t at) {
                  add(map, block.address + before + at, 0);
                });
  }
}

} // namespace gmt::interposer::kernel_checks
