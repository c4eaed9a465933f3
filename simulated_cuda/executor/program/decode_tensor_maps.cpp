// SPDX-License-Identifier: Apache-2.0
// tensormap.replace changes a field of a tensor map, and tensormap.cp_fenceproxy copies one from
// shared memory to where other threads take it. Both become ordinary loads and stores of the map as
// the simulated device lays it out, so that each access is checked.
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/tensor_map.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gmt::executor {
namespace {

using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

struct Element {
  std::uint8_t bytes = 0, type = 0; // type: CUtensorMapDataType
};
// By the number that .elemtype takes; packed types, whose numbers are higher, are not executed.
constexpr Element kElements[] = {{1, 0}, {2, 1},  {4, 2}, {4, 3}, {8, 4},  {8, 5}, {2, 6},
                                 {4, 7}, {4, 10}, {8, 8}, {2, 9}, {4, 11}, {4, 12}};

// Of PTX before this version strides lack their four lowest bits, as CUTLASS has it for CUDA 12.4.
constexpr std::uint32_t kStridesInBytes = 85;

} // namespace

// tensormap.replace.tile.field{.space}.b1024.type [map], {dimension, }value
void FunctionDecoder::decode_replace_in_map() {
  const auto number = [&](std::size_t at) {
    if (operand(at).kind != OperandKind::kImmediate) fail("an operand that must be a number");
    return operand(at).bits;
  };
  const std::uint64_t dimension = instruction_->operand_count > 2 ? number(1) : 0;
  const std::size_t last = instruction_->operand_count - 1u;
  if (last == 0 || dimension >= TensorMap::kMostRank) fail("a dimension that no tensor map has");
  const Target target = address(operand(0), space());
  if (target.in_frame || target.is_parameter) fail("a store to a kernel's parameter");
  note_shared_access(target.space, 8);
  const auto store = [&](std::size_t field, std::uint32_t bytes, std::uint32_t value) {
    const std::string space_name = target.space == Space::kShared   ? "shared"
                                   : target.space == Space::kGlobal ? "global"
                                                                    : "generic";
    Instruction& in =
      emit("st." + space_name + (target.narrow ? ".a32.b" : ".b") + std::to_string(bytes * 8),
           shape_of_access(target, bytes, 1, false));
    in.r[0] = value;
    in.r[4] = target.operand;
    in.immediate = target.offset + static_cast<std::int64_t>(field);
    in.extra = strength(false);
  };
  const auto constant = [&](std::uint64_t value, std::uint32_t bytes) {
    return builder_.constant(value, bytes);
  };
  // Of 32 bits, as narrow as the field is
  const auto narrowed = [&](std::uint32_t bytes) {
    return convert(source(operand(last), Type::kU32), 4, bytes, false);
  };
  if (has("global_address")) {
    store(offsetof(TensorMap, address), 8, source(operand(last), Type::kB64));
  } else if (has("rank")) { // one less than the rank
    const std::uint32_t sum = temporary();
    Shape shape;
    shape.result(0, 32).source(1, 32).source(2, 32).flow = ptx::BitFlow::kSum;
    const std::uint32_t less = source(operand(last), Type::kU32), one = constant(1, 4);
    Instruction& in = emit("add.u32", shape);
    in.r[0] = sum;
    in.r[1] = less;
    in.r[2] = one;
    store(offsetof(TensorMap, rank), 1, convert(sum, 4, 1, false));
  } else if (has("box_dim")) {
    store(offsetof(TensorMap, box) + dimension * 2, 2, narrowed(2));
  } else if (has("global_dim")) {
    store(offsetof(TensorMap, sizes) + dimension * 8, 8, narrowed(8));
  } else if (has("global_stride")) { // the first is that of dimension 1
    if (dimension + 1 == TensorMap::kMostRank) fail("a dimension that no tensor map has");
    std::uint32_t bytes = source(operand(last), Type::kB64);
    if (code_.module->version() < kStridesInBytes) {
      const std::uint32_t sixteenths = bytes;
      bytes = temporary();
      Shape shape;
      shape.result(0, 64).source(1, 64).source(2, 32).flow = ptx::BitFlow::kSame1;
      Instruction& in = emit("shl.b64", shape);
      in.r[0] = bytes;
      in.r[1] = sixteenths;
      in.r[2] = constant(4, 4);
    }
    store(offsetof(TensorMap, strides) + (dimension + 1) * 8, 8, bytes);
  } else if (has("element_stride")) {
    store(offsetof(TensorMap, steps) + dimension, 1, narrowed(1));
  } else if (has("elemtype")) {
    const std::uint64_t which = number(last);
    if (which >= std::size(kElements)) decode_not_executed();
    const Element element = kElements[which];
    store(offsetof(TensorMap, element), 1, constant(element.bytes, 1));
    store(offsetof(TensorMap, type), 1, constant(element.type, 1));
    store(offsetof(TensorMap, strides), 8, constant(element.bytes, 8));
  } else if (has("swizzle_mode")) {
    constexpr std::uint64_t kMostSwizzle = 3;
    if (number(last) > kMostSwizzle) decode_not_executed();
    store(offsetof(TensorMap, swizzle), 1, constant(number(last), 1));
  } else if (has("fill_mode")) {
    store(offsetof(TensorMap, fills_with_nan), 1, constant(number(last), 1));
  } else if (has("interleave_layout")) { // none, 16 bytes, 32 bytes
    constexpr std::uint64_t kMostInterleave = 2;
    if (number(last) > kMostInterleave) decode_not_executed();
    store(offsetof(TensorMap, slice), 1, constant(number(last) * 16, 1));
  } else if (number(last) != 0) { // .swizzle_atomicity has one value here
    decode_not_executed();
  }
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [to],
// [from], 128: the warp's first lane copies.
void FunctionDecoder::decode_copy_of_map() {
  constexpr std::uint32_t kWords = 4;
  if (!has("global") || !has("shared::cta") || operand(2).kind != OperandKind::kImmediate ||
      operand(2).bits != TensorMap::kBytes)
    decode_not_executed();
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  note_shared_access(Space::kShared, kWords * 4);
  Target from = address(operand(1), Space::kShared), to = address(operand(0), Space::kGlobal);
  std::uint32_t words[kWords];
  for (std::uint32_t& word : words) word = temporary();
  const std::uint32_t first_lane = builder_.constant(1, 4);
  for (std::uint32_t at = 0; at < TensorMap::kBytes; at += kWords * 4) {
    for (const Target* part : {&from, &to}) {
      const bool is_load = part == &from;
      const std::string form = is_load ? "ld.shared.v4" : "st.global.v4";
      Instruction& in = emit(form + (part->narrow ? ".a32.b32" : ".b32"),
                             shape_of_access(*part, 4, kWords, is_load));
      std::copy(std::begin(words), std::end(words), in.r);
      in.r[4] = part->operand;
      in.immediate = part->offset + at;
      in.extra = strength(false);
      in.guard = first_lane;
      in.flip = 0;
    }
  }
  decode_fence();
  end_guard(guard);
}

} // namespace gmt::executor
