// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and moves of their parts between lanes. ldmatrix and stmatrix become a load
// or a store of a row of 16 bytes by each lane that gives an address, so that it is checked as any
// access; what remains is a move between registers. Their first instruction lets the warp meet.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>
#include <charconv>

namespace gmt::executor {
namespace {

using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

constexpr std::uint32_t kRowsOfMatrix = 8, kRegistersOfRow = 4;

Shape moved_parts(std::uint32_t count) {
  Shape shape;
  for (std::uint32_t i = 0; i < count; ++i) shape.result(i, 32);
  shape.source(4, 32).flow = ptx::BitFlow::kParts;
  shape.count = static_cast<std::uint8_t>(count);
  return shape;
}

} // namespace

bool read_matrix_shape(std::string_view word, Product* product) {
  const char* at = word.data();
  const char* const end = at + word.size();
  for (auto [letter, to] : {std::pair{'m', &product->m}, {'n', &product->n}, {'k', &product->k}}) {
    if (at == end || *at != letter) return false;
    const auto [behind, error] = std::from_chars(at + 1, end, *to);
    if (error != std::errc()) return false;
    at = behind;
  }
  return at == end;
}

std::uint32_t FunctionDecoder::matrices_moved() const {
  if (!has("m8n8") || !has("b16") || has("shared::cluster")) return 0;
  if (has("x1")) return 1;
  if (has("x2")) return 2;
  return has("x4") ? 4 : 0;
}

std::uint32_t FunctionDecoder::rows_of(std::uint32_t matrices) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << matrices * kRowsOfMatrix) - 1);
}

// Lanes whose address is that of no row take no part.
void FunctionDecoder::restrict_to_rows(Instruction* access, std::uint32_t matrices) {
  if (matrices == 4) return;
  access->guard = builder_.constant(rows_of(matrices), 4);
  access->flip = 0;
}

std::vector<std::uint32_t> FunctionDecoder::fragment_sources(const Operand& operand,
                                                             std::uint32_t bytes) {
  const bool is_vector = operand.kind == OperandKind::kVector;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < (is_vector ? operand.count : 1); ++i)
    all.push_back(source_of(is_vector ? body_.parts(operand)[i] : operand, bytes,
                            bytes == 8 ? Type::kB64 : Type::kB32));
  return all;
}

void FunctionDecoder::decode_load_matrix() {
  const std::uint32_t count = matrices_moved();
  if (count == 0) decode_not_executed();
  const Operand& to = operand(0);
  const bool is_vector = to.kind == OperandKind::kVector;
  if ((is_vector ? to.count : 1) != count) fail("a fragment of another size than its matrices");
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  const Target from = address(operand(1), space());
  note_shared_access(from.space, 16);
  std::uint32_t row[kRegistersOfRow];
  for (std::uint32_t& each : row) each = temporary();
  const char* const name = from.space == Space::kShared ? "ld.shared.v4" : "ld.generic.v4";
  Instruction& load = emit(std::string(name) + (from.narrow ? ".a32.b32" : ".b32"),
                           shape_of_access(from, 4, kRegistersOfRow, true));
  std::ranges::copy(row, load.r);
  load.r[4] = from.operand;
  load.immediate = from.offset;
  restrict_to_rows(&load, count);
  std::vector<Result> results;
  for (std::uint32_t i = 0; i < count; ++i)
    results.push_back(result(is_vector ? body_.parts(to)[i] : to, Type::kB32));
  Instruction& spread = emit(
    "matrix.spread.x" + std::to_string(count) + (has("trans") ? ".trans" : ""), moved_parts(count));
  for (std::uint32_t i = 0; i < count; ++i) spread.r[i] = results[i].offset;
  spread.r[4] = row[0];
  for (const Result& each : results) write_back(each);
  end_guard(guard);
}

void FunctionDecoder::decode_store_matrix() {
  const std::uint32_t count = matrices_moved();
  if (count == 0) decode_not_executed();
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  const std::vector<std::uint32_t> sources = fragment_sources(operand(1), 4);
  if (sources.size() != count) fail("a fragment of another size than its matrices");
  const Target to = address(operand(0), space());
  note_shared_access(to.space, 16);
  std::uint32_t fragment[kRegistersOfRow], row[kRegistersOfRow];
  for (std::uint32_t& each : fragment) each = temporary();
  for (std::uint32_t& each : row) each = temporary();
  for (std::uint32_t i = 0; i < count; ++i) {
    Instruction& move = emit("mov.b32", Shape::moved(32));
    move.r[0] = fragment[i];
    move.r[1] = sources[i];
  }
  Instruction& collect =
    emit("matrix.collect.x" + std::to_string(count) + (has("trans") ? ".trans" : ""),
         moved_parts(kRegistersOfRow));
  std::ranges::copy(row, collect.r);
  collect.r[4] = fragment[0];
  const char* const name = to.space == Space::kShared ? "st.shared.v4" : "st.generic.v4";
  Instruction& store = emit(std::string(name) + (to.narrow ? ".a32.b32" : ".b32"),
                            shape_of_access(to, 4, kRegistersOfRow, false));
  std::ranges::copy(row, store.r);
  store.r[4] = to.operand;
  store.immediate = to.offset;
  restrict_to_rows(&store, count);
  end_guard(guard);
}

void FunctionDecoder::turn_register(std::uint32_t to, std::uint32_t from) {
  Instruction& in = emit("matrix.turn", moved_parts(1));
  in.r[0] = to;
  in.r[4] = from;
}

void FunctionDecoder::decode_move_matrix() {
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  const std::uint32_t from = source(operand(1), Type::kB32);
  const Result to = result(operand(0), Type::kB32);
  turn_register(to.offset, from);
  write_back(to);
  end_guard(guard);
}

// mma d, a, b, c{, metadata, selector} and wmma.mma d, a, b, c. The layouts of the two factors are
// those of the fragments, which no form of mma leaves open but m8n8k4 of f16.
void FunctionDecoder::decode_product() {
  Product product;
  const auto is_shape = [&](std::string_view word) { return read_matrix_shape(word, &product); };
  if (std::ranges::none_of(mnemonic().modifiers, is_shape)) decode_not_executed();
  const std::size_t guard = begin_guard();
  const std::uint32_t bytes = has("f64") ? 8 : 4;
  product.a = fragment_sources(operand(1), bytes);
  product.b = fragment_sources(operand(2), bytes);
  product.c = fragment_sources(operand(3), bytes);
  if (instruction_->operand_count > 4) {
    product.metadata = source(operand(4), Type::kB32);
    const Operand& selector = operand(5);
    if (selector.kind != OperandKind::kImmediate) fail("an operand that must be a number");
    product.selector = static_cast<std::uint32_t>(selector.bits & 3);
  } else if (has("sp") || has("sp::ordered_metadata")) {
    fail("too few operands");
  }
  const Operand& to = operand(0);
  const bool is_vector = to.kind == OperandKind::kVector;
  std::vector<Result> results;
  for (std::uint32_t i = 0; i < (is_vector ? to.count : 1); ++i) {
    results.push_back(
      result(is_vector ? body_.parts(to)[i] : to, bytes == 8 ? Type::kB64 : Type::kB32));
    product.d.push_back(results.back().offset);
  }
  emit_product(product_form(), std::move(product), bytes);
  for (const Result& each : results) write_back(each);
  end_guard(guard);
}

// The word .satfinite may stand behind the types as well; the form has it before them.
std::string FunctionDecoder::product_form() const {
  constexpr std::string_view kClamped = ".satfinite";
  std::string form = own_form();
  if (!form.ends_with(kClamped)) return form;
  form.resize(form.size() - kClamped.size());
  const std::size_t shape = form.find(".m");
  const std::size_t types = shape == std::string::npos ? shape : form.find('.', shape + 1);
  return types == std::string::npos ? form : form.insert(types, kClamped);
}

// The handlers have room for the largest fragments alone.
void FunctionDecoder::emit_product(const std::string& form, Product product, std::uint32_t bytes) {
  Shape shape;
  shape.kind = Shape::Kind::kProduct;
  shape.element = static_cast<std::uint8_t>(bytes);
  Instruction& in = emit(form, shape);
  const std::size_t blocks = product.m / kRowsOfMatrix;
  if (product.a.size() > blocks * kRegistersOfRow || product.b.size() > kRegistersOfRow ||
      product.c.size() > 2 * blocks || product.d.size() > 2 * blocks)
    decode_not_executed();
  in.extra = static_cast<std::uint32_t>(code_.products.size());
  code_.products.push_back(std::move(product));
}

} // namespace gmt::executor
