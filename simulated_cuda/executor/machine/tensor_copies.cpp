// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/tensor_copies.h"

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/bulk_form.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kMapAlignment = 64, kBoxAlignment = 128;
constexpr std::uint32_t kIllegalInstruction = 715;
constexpr std::uint32_t kChunk = 16; // bytes that a swizzle moves as one

// The program may have written anything there.
bool is_map(const TensorMap& map) {
  constexpr std::uint32_t kMostBox = 256, kMostSwizzle = 3;
  constexpr std::uint64_t kBytesOfBox = 1 << 18;
  const bool is_element = std::has_single_bit(map.element) && map.element <= sizeof(std::uint64_t);
  if (map.magic != TensorMap::kMagic || map.rank == 0 || map.rank > TensorMap::kMostRank ||
      !is_element || map.swizzle > kMostSwizzle)
    return false;
  const bool is_slice = map.slice == 0 || map.slice == 16 || map.slice == 32;
  if (!is_slice || (map.slice != 0 && map.rank < 3)) return false;
  if (map.is_im2col != 0) {
    const bool is_stepping = std::all_of(map.steps, map.steps + map.rank, [](auto s) { return s; });
    return map.rank >= 3 && map.box[0] != 0 && map.box[1] != 0 && is_stepping;
  }
  std::uint64_t bytes = map.element;
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    if (map.box[d] == 0 || map.box[d] > kMostBox || map.steps[d] == 0) return false;
    bytes *= map.box[d];
  }
  return bytes <= kBytesOfBox;
}

// Empty: the copy may use it.
std::string refused_map(const TensorMap& map, const Instruction* in) {
  if (!is_map(map)) return "what should be a tensor map is none that cuTensorMapEncodeTiled made";
  const bool is_im2col = (in->extra & bulk_form::kIm2col) != 0;
  if (map.is_im2col > 1)
    return "the tensor map is one that cuTensorMapEncodeIm2colWide made, whose copies need a GPU "
           "of compute capability 10.0";
  if (is_im2col && map.is_im2col == 0)
    return "the copy is one of im2col, and its tensor map is not";
  if (!is_im2col && map.is_im2col != 0)
    return "the tensor map is one of im2col, and the copy is not";
  if (map.rank == bulk_form::rank(in->extra)) return "";
  return "the tensor map has " + std::to_string(map.rank) + " dimensions";
}

bool load_map(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t address,
              TensorMap* map) {
  const Translation from = translate(w, in, lane, Space::kGeneric, address, TensorMap::kBytes,
                                     Access::kLoad, kMapAlignment);
  if (from.host == nullptr) return false;
  std::memcpy(static_cast<void*>(map), from.host, sizeof *map);
  const std::string why = refused_map(*map, in);
  if (why.empty()) return true;
  w.worker->checks->ends(facts_of(w, in, lane), ReportKind::kOther, 0, why);
  return false;
}

// How often the box has an index of this dimension. Of interleaved channels it has one slice,
// whatever the map says.
std::uint32_t count_of(const TensorMap& map, std::uint32_t dimension) {
  const std::uint32_t step = map.steps[dimension];
  if (map.slice != 0 && dimension + 2 == map.rank) return 1;
  return (map.box[dimension] + step - 1u) / step;
}

// From one row of the box to the next: an H100 keeps that of the swizzle, however narrow the box,
// unless channels are interleaved.
std::uint32_t row_pitch(const TensorMap& map) {
  if (map.slice != 0) return map.is_im2col != 0 ? map.slice : count_of(map, 0) * map.slice;
  return map.swizzle != 0 ? kChunk << map.swizzle : std::uint32_t{map.box[0]} * map.element;
}

// Where a byte of the box lies, `at` bytes behind the address of its beginning.
std::uint64_t swizzled(const TensorMap& map, std::uint64_t begin, std::uint64_t at) {
  const std::uint64_t address = begin + at;
  if (map.swizzle == 0) return address;
  const std::uint64_t mask = (std::uint64_t{1} << map.swizzle) - 1;
  return address ^ ((address >> 7 & mask) << 4);
}

// In the order of CUtensorMapDataType.
constexpr std::string_view kTypes[] = {"u8",  "u16", "u32",  "s32",     "u64", "s64",    "f16",
                                       "f32", "f64", "bf16", "ftz.f32", "f32", "ftz.f32"};
constexpr std::uint8_t kTf32 = 11, kTf32Ftz = 12;

// NaN as an H100 fills it in, whatever the type.
constexpr std::uint64_t kNan = 0x7ff77ff77ff77ff7;

std::span<const std::byte> fill_of(const TensorMap& map) {
  if (map.fills_with_nan == 0) return {};
  return std::as_bytes(std::span(&kNan, 1)).first(map.element);
}

// What a reduction does to elements of the map; null: an H100 has none of this kind, and answers
// with error 715.
const Combine* combine_for(const TensorMap& map, std::string_view operation) {
  std::string type(map.type < std::size(kTypes) ? kTypes[map.type] : std::string_view());
  if (type == "s64" && operation == "add") return nullptr;
  if (operation == "and" || operation == "or" || operation == "xor") {
    if (type != "u32" && type != "s32" && type != "u64") return nullptr;
    type = "b" + type.substr(1);
  }
  return combine_named(std::string(operation) + "." + type);
}

// What an H100 answers with error 715, in words; else empty.
std::string refused_coordinates(const TensorMap& map, const TensorCopy& copy, bool to_global) {
  const std::int64_t first = map.slice != 0 ? 0 : std::int64_t{copy.at[0]} * map.element;
  if (first % kChunk != 0)
    return "the first coordinate of a tensor copy is " + std::to_string(first) +
           " bytes from the beginning, which is no multiple of 16";
  const bool is_before = std::any_of(copy.at, copy.at + map.rank, [](int at) { return at < 0; });
  return to_global && is_before ? "a tensor copy to memory has a coordinate that is less than 0"
                                : "";
}

// One row of the box after the other: elements of the dimension 0.
class Rows {
public:
  Rows(Warp& w, const Instruction* in, std::uint32_t lane, const TensorCopy& copy,
       const TensorMap& map, const Combine* combine)
      : w_(w), in_(in), lane_(lane), copy_(copy), map_(map), fill_(fill_of(map)), combine_(combine),
        to_global_((in->extra & bulk_form::kToGlobal) != 0),
        rounds_to_tf32_(!to_global_ && (map.type == kTf32 || map.type == kTf32Ftz)) {}

  void run() {
    if (map_.is_im2col != 0) return run_pixels();
    std::uint32_t counts[TensorMap::kMostRank] = {1, 1, 1, 1, 1};
    for (std::uint32_t d = 1; d < map_.rank; ++d) counts[d] = count_of(map_, d);
    std::uint32_t i[TensorMap::kMostRank] = {};
    for (i[4] = 0; i[4] < counts[4]; ++i[4])
      for (i[3] = 0; i[3] < counts[3]; ++i[3])
        for (i[2] = 0; i[2] < counts[2]; ++i[2])
          for (i[1] = 0; i[1] < counts[1]; ++i[1]) {
            if (!row(i)) return;
            at_ += row_pitch(map_);
          }
  }

private:
  // One pixel after the other, until as many were taken as the map says.
  void run_pixels() {
    const std::uint32_t image = map_.rank - 1u, first = map_.slice != 0 ? 0 : 1,
                        extents = map_.rank - 2u; // of an image, from the first dimension on
    std::int64_t pixel[TensorMap::kMostRank], moved[TensorMap::kMostRank] = {};
    std::copy(copy_.at, copy_.at + TensorMap::kMostRank, pixel);
    for (std::uint32_t i = 0; i < map_.box[1]; ++i, at_ += row_pitch(map_)) {
      std::copy(pixel, pixel + TensorMap::kMostRank, moved);
      for (std::uint32_t k = 0; k < extents; ++k) moved[first + k] += copy_.offsets[k];
      if (!(map_.slice != 0 ? slice_at(moved, at_) : row_at(moved))) return;
      std::uint32_t k = 0;
      for (; k < extents; ++k) {
        std::int64_t& at = pixel[first + k];
        at += map_.steps[first + k];
        if (at < static_cast<std::int64_t>(map_.sizes[first + k]) + map_.upper[k]) break;
        at = map_.lower[k];
      }
      if (k == extents) pixel[image] += map_.steps[image];
    }
  }
  bool row(const std::uint32_t (&i)[TensorMap::kMostRank]) {
    std::int64_t at[TensorMap::kMostRank];
    for (std::uint32_t d = 1; d < map_.rank; ++d)
      at[d] = std::int64_t{copy_.at[d]} + i[d] * step_of(d);
    if (map_.slice == 0) return row_at(at);
    for (std::uint32_t x = 0; x < count_of(map_, 0); ++x) {
      at[0] = std::int64_t{copy_.at[0]} + x * step_of(0);
      if (!slice_at(at, at_ + std::uint64_t{x} * map_.slice)) return false;
    }
    return true;
  }
  std::int64_t step_of(std::uint32_t dimension) const { return map_.steps[dimension]; }
  // A slice of a pixel's channels, `in_box` bytes behind the beginning of the box.
  bool slice_at(const std::int64_t (&at)[TensorMap::kMostRank], std::uint64_t in_box) {
    bool is_inside = true;
    std::uint64_t address = map_.address;
    for (std::uint32_t d = 0; d < map_.rank; ++d) {
      is_inside = is_inside && at[d] >= 0 && static_cast<std::uint64_t>(at[d]) < map_.sizes[d];
      address += static_cast<std::uint64_t>(at[d]) * (d == 0 ? map_.slice : map_.strides[d]);
    }
    return piece(in_box, map_.slice, is_inside ? address : 0);
  }
  // False: it is refused, and so is the rest.
  bool row_at(const std::int64_t (&row)[TensorMap::kMostRank]) {
    bool is_inside = true;
    std::uint64_t address = map_.address;
    for (std::uint32_t d = 1; d < map_.rank; ++d) {
      const std::int64_t at = row[d];
      is_inside = is_inside && at >= 0 && static_cast<std::uint64_t>(at) < map_.sizes[d];
      address += static_cast<std::uint64_t>(at) * map_.strides[d];
    }
    const std::int64_t first = copy_.at[0], last = first + map_.box[0];
    const auto size = static_cast<std::int64_t>(map_.sizes[0]);
    const std::int64_t from = is_inside ? std::clamp<std::int64_t>(0, first, last) : last;
    const std::int64_t to = std::clamp<std::int64_t>(size, from, last);
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uint32_t>(elements) * map_.element;
    };
    return piece(at_, bytes(from - first), 0) &&
           piece(at_ + bytes(from - first), bytes(to - from),
                 address + static_cast<std::uint64_t>(from) * map_.element) &&
           piece(at_ + bytes(to - first), bytes(last - to), 0);
  }

  // `bytes` from there in the box on; at no address of device memory: they are outside of the
  // tensor.
  bool piece(std::uint64_t in_box, std::uint32_t bytes, std::uint64_t address) {
    if (to_global_ && address == 0) return true;
    while (bytes != 0) {
      const std::uint32_t whole = map_.swizzle == 0 ? bytes : kChunk - in_box % kChunk;
      const std::uint32_t part = std::min(bytes, whole);
      const BulkPiece moved{.shared = swizzled(map_, copy_.shared, in_box),
                            .global = address,
                            .object = copy_.object,
                            .bytes = part,
                            .ranks = copy_.ranks,
                            .fill = fill_,
                            .combine = combine_,
                            .rounds_to_tf32 = rounds_to_tf32_};
      if (!begin_piece(w_, in_, lane_, moved)) return false;
      in_box += part;
      bytes -= part;
      address += address != 0 ? part : 0;
    }
    return true;
  }

  Warp& w_;
  const Instruction* in_;
  const std::uint32_t lane_;
  const TensorCopy& copy_;
  const TensorMap& map_;
  const std::span<const std::byte> fill_;
  const Combine* const combine_;
  const bool to_global_;
  const bool rounds_to_tf32_; // a load does, a store does not
  std::uint64_t at_ = 0;      // the row's, in the box
};

} // namespace

void begin_tensor_copy(Warp& w, const Instruction* in, std::uint32_t lane, const TensorCopy& copy) {
  TensorMap map;
  if (!load_map(w, in, lane, copy.map, &map)) return;
  std::uint32_t bytes = row_pitch(map);
  if (map.is_im2col != 0) bytes *= map.box[1];
  for (std::uint32_t d = 1; d < map.rank && map.is_im2col == 0; ++d) bytes *= count_of(map, d);
  const bool to_global = (in->extra & bulk_form::kToGlobal) != 0;
  if (const std::string why = refused_coordinates(map, copy, to_global); !why.empty())
    return w.worker->checks->ends(facts_of(w, in, lane), ReportKind::kIllegalInstruction,
                                  kIllegalInstruction, why);
  const Translation box = translate(w, in, lane, Space::kShared, copy.shared, bytes,
                                    to_global ? Access::kLoad : Access::kStore, kBoxAlignment);
  if (box.host == nullptr) return;
  const std::string_view operation = bulk_form::operation(in->extra);
  const Combine* combine = operation.empty() ? nullptr : combine_for(map, operation);
  if (!operation.empty() && combine == nullptr)
    return w.worker->checks->ends(
      facts_of(w, in, lane), ReportKind::kIllegalInstruction, kIllegalInstruction,
      "no reduction '" + std::string(operation) + "' takes elements of the tensor's type");
  Rows(w, in, lane, copy, map, combine).run();
}

} // namespace gmt::executor
