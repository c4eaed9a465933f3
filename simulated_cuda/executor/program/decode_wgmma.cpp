// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async of a warpgroup: each of its four warps computes 16 of the 64 rows, as products of
// mma. Matrices in shared memory are loaded by rows of 16 bytes, as ldmatrix does, from addresses
// that the descriptor gives; so each access is checked. All is done where the instruction stands:
// a GPU may be as quick.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>

namespace gmt::executor {
namespace {

using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

constexpr std::uint32_t kWords = 4; // of a row, and registers of four matrices

// Bits that are the signs of the elements of a register.
std::uint32_t signs_of(std::string_view type) {
  if (type == "tf32") return 0x80000000u;
  return type.starts_with("e") ? 0x80808080u : 0x80008000u;
}

} // namespace

// Loads four matrices by a descriptor into `fragment`. `outer` is the first row of A or column of
// B.
void FunctionDecoder::load_by_descriptor(std::uint32_t descriptor, const char* form,
                                         std::uint32_t outer, bool is_transposed,
                                         std::uint32_t matrices, const std::uint32_t* row,
                                         std::uint32_t address, const std::uint32_t* fragment) {
  Shape shape;
  Instruction& in = emit(form, shape.result(0, 64).source(1, 64));
  in.r[0] = address;
  in.r[1] = descriptor;
  in.immediate = outer | (is_transposed ? std::int64_t{1} << 16 : 0);
  in.extra = rows_of(matrices);
  Target target;
  target.space = Space::kShared;
  Instruction& load = emit("ld.shared.v4.b32", shape_of_access(target, 4, kWords, true));
  std::copy_n(row, kWords, load.r);
  load.r[4] = address;
  restrict_to_rows(&load, matrices);
  Shape moved;
  for (std::uint32_t i = 0; i < kWords; ++i) moved.result(i, 32);
  moved.source(4, 32).flow = ptx::BitFlow::kParts;
  moved.count = kWords;
  Instruction& spread = emit(is_transposed ? "matrix.spread.x4.trans" : "matrix.spread.x4", moved);
  std::copy_n(fragment, kWords, spread.r);
  spread.r[4] = row[0];
}

// d, a, b{, metadata, selector}, scale-d{, imm-scale-a, imm-scale-b{, imm-trans-a{, imm-trans-b}}}
void FunctionDecoder::decode_group_product() {
  Product whole;
  std::vector<std::string> types;
  for (const std::string_view word : mnemonic().modifiers) {
    if (whole.k == 0) read_matrix_shape(word, &whole);
    else if (word != "satfinite" && word != "and" && word != "popc") types.emplace_back(word);
  }
  if (whole.m != 64 || whole.n % 8 != 0 || types.size() != 3) decode_not_executed();
  const bool is_sparse = has("sp"); // A has half of its elements, and B twice as many of k
  const std::size_t first = is_sparse ? 5 : 3; // operand behind the factors
  const Operand &to = operand(0), &a = operand(1);
  const bool from_registers = a.kind == OperandKind::kVector;
  const auto number = [&](std::size_t at) -> std::int64_t {
    if (at >= instruction_->operand_count) return 0;
    if (operand(at).kind != OperandKind::kImmediate) fail("an operand that must be a number");
    return static_cast<std::int32_t>(operand(at).bits);
  };
  const bool is_negative = number(first + 1) * number(first + 2) < 0;
  const bool trans_a = !from_registers && number(first + 3) != 0;
  const bool trans_b = number(from_registers ? first + 3 : first + 4) != 0;
  const bool is_half = types[0] == "f16";
  const std::uint32_t each = is_half ? 2 : 4; // registers of a tile of D
  if (to.kind != OperandKind::kVector || to.count != whole.n / 8 * each)
    fail("a fragment of another size than its matrix");
  const std::size_t guard = begin_guard();
  emit("wgmma.begin").extra = std::ranges::binary_search(unfenced_, current) ? 1 : 0;
  note_shared_access(Space::kShared, 16);
  const std::uint32_t address = temporary();
  std::uint32_t row[kWords], left[kWords], right[kWords], accumulator[kWords];
  for (auto* registers : {row, left, right, accumulator})
    std::generate_n(registers, kWords, [&] { return temporary(); });
  if (from_registers) {
    const std::vector<std::uint32_t> sources = fragment_sources(a, 4);
    if (sources.size() != kWords) fail("a fragment of another size than its matrix");
    std::ranges::copy(sources, left);
  } else {
    load_by_descriptor(source(a, Type::kB64), "wgmma.rows", 0, trans_a, 4, row, address, left);
  }
  if (is_negative) {
    const std::uint32_t signs = builder_.constant(signs_of(types[1]), 4);
    for (std::uint32_t& part : left) {
      Shape shape;
      shape.result(0, 32).source(1, 32).source(2, 32).flow = ptx::BitFlow::kUnion;
      Instruction& in = emit("xor.b32", shape);
      in.r[1] = part;
      in.r[2] = signs;
      in.r[0] = part = from_registers ? temporary() : part;
    }
  }
  const Operand& scale = operand(first);
  const bool always_adds = scale.kind == OperandKind::kImmediate && scale.bits != 0;
  const std::uint32_t adds = always_adds ? kNoOperand : predicate(scale);
  const std::uint32_t descriptor = source(operand(2), Type::kB64);
  const std::uint32_t metadata = is_sparse ? source(operand(3), Type::kB32) : kNoOperand;
  const bool is_byte_float = types[1].starts_with("e"); // whose sums have fewer bits than those of
                                                        // mma
  std::string form = is_byte_float ? "wgmma" : "mma";
  form += is_sparse ? ".sp.m16n8k" : ".m16n8k";
  form += std::to_string(whole.k) + (has("satfinite") ? ".satfinite." : ".") + types[0] + "." +
          types[1] + "." + types[2] + "." + types[0] + (has("popc") ? ".and.popc" : "");
  for (std::uint32_t tile = 0; tile < whole.n / 8; ++tile) {
    Product product;
    product.a.assign(left, left + kWords);
    if (is_sparse) {
      load_by_descriptor(descriptor, "wgmma.columns.wide", tile * 8, trans_b, 4, row, address,
                         right);
      product.b.assign(right, right + kWords);
      product.metadata = metadata;
      product.selector = static_cast<std::uint32_t>(number(4) & 3);
    } else {
      if (tile % 2 == 0)
        load_by_descriptor(descriptor, "wgmma.columns", tile * 8, trans_b,
                           tile + 1 < whole.n / 8 ? 4 : 2, row, address, right);
      product.b.assign(right + tile % 2 * 2, right + tile % 2 * 2 + 2);
    }
    for (std::uint32_t i = 0; i < each; ++i)
      product.d.push_back(result(body_.parts(to)[tile * each + i], Type::kB32).offset);
    product.c = product.d;
    for (std::uint32_t i = 0; i < each && adds != kNoOperand; ++i) {
      Shape shape;
      shape.result(0, 32).source(1, 32).source(2, 32).source(3, 1).flow = ptx::BitFlow::kSame12;
      Instruction& in = emit("selp.b32", shape);
      in.r[0] = accumulator[i];
      in.r[1] = product.d[i];
      in.r[2] = builder_.constant(0, 4);
      in.r[3] = adds;
      product.c[i] = accumulator[i];
    }
    product.m = 16;
    product.n = 8;
    product.k = whole.k;
    emit_product(form, std::move(product), 4);
  }
  end_guard(guard);
}

// wgmma.fence and wgmma.wait_group.
void FunctionDecoder::decode_group_meeting() {
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  emit(instruction_->operand_count != 0 ? "wgmma.meet" : "wgmma.fence", shape);
  end_guard(guard);
}

} // namespace gmt::executor
