// SPDX-License-Identifier: Apache-2.0
// wmma: its fragments have the layout of those of mma, as an H100 has it, so that a product becomes
// several of mma. A load or store is an address and an access of each lane for each register, or
// for each element of a register whose elements do not lie side by side. Of 16 bits, such a
// register is that of the turned matrix, as an H100 turns it.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>
#include <bit>

namespace gmt::executor {
namespace {

using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

constexpr std::uint32_t kRegisterRowBytes = 16; // of each of 8 rows that a register of 32 bits has

// Which elements of a matrix a register has in lane l: along the outer index outer + l / 4, along
// the inner one as many as the register holds from inner + step * (l % 4) on.
struct RegisterLayout {
  std::uint32_t outer = 0, inner = 0, step = 0;
};

struct FragmentLayout {
  char which = 'a'; // b, c
  Product shape;
  std::uint32_t bits = 0; // of an element

  bool is_transposed() const { return shape.m == 8 && shape.n == 32; } // what mma computes
  bool outer_is_row() const { return which == 'c' ? !is_transposed() : which == 'a'; }
  std::uint32_t rows() const { return which == 'b' ? shape.k : shape.m; }
  std::uint32_t columns() const { return which == 'a' ? shape.k : shape.n; }
  std::uint32_t elements() const { return bits >= 32 ? 1 : 32 / bits; } // of a register
  std::uint32_t row_registers() const {                                 // for all of k
    return bits == 64 ? 1 : shape.k * bits / 8 / kRegisterRowBytes;
  }
  // Registers behind the last of the matrix repeat it.
  std::uint32_t repeats_from() const {
    return which == 'c' ? ~0u : (which == 'a' ? shape.m : shape.n) / 8 * row_registers();
  }
  // Whether it is the factor of mma that has 16 rows in each pair of registers.
  bool is_tall() const { return which == 'a' ? shape.m >= 16 : shape.n == 32; }
  RegisterLayout of(std::uint32_t index) const {
    return which == 'c' ? of_accumulator(index) : of_factor(index);
  }

private:
  RegisterLayout of_factor(std::uint32_t index) const {
    const std::uint32_t each = row_registers();
    const std::uint32_t in_register = bits == 64 ? 4 : kRegisterRowBytes * 8 / bits;
    index %= repeats_from();
    if (!is_tall()) return {index / each * 8, index % each * in_register, elements()};
    const std::uint32_t pair = index % (2 * each);
    return {index / (2 * each) * 16 + pair % 2 * 8, pair / 2 * in_register, elements()};
  }
  RegisterLayout of_accumulator(std::uint32_t index) const {
    const std::uint32_t of_row = bits == 16 ? 1 : 2; // registers for 8 rows of a tile
    const std::uint32_t tile = index / (2 * of_row), part = index % (2 * of_row);
    const bool is_beside = shape.n == 16;
    return {part / of_row * 8 + (is_beside ? 0 : 16 * tile),
            part % of_row + (is_beside ? 8 * tile : 0), 2};
  }
};

const char* space_name(Space space) {
  switch (space) {
  case Space::kShared: return "shared";
  case Space::kGlobal: return "global";
  default: return "generic";
  }
}

std::uint32_t bits_of_element(std::string_view type) {
  if (type == "b1") return 1;
  if (type == "s4" || type == "u4") return 4;
  return ptx::bits_of(ptx::type_named(type));
}

} // namespace

// What the words of wmma.load and wmma.store say of the fragment, and the address of its matrix.
struct FunctionDecoder::Fragment {
  FragmentLayout layout;
  bool is_row_major = false;
  Target target;
  std::uint32_t base = kNoOperand, stride = kNoOperand; // the stride in elements

  bool is_contiguous() const { return layout.outer_is_row() == is_row_major; }
  // A register has 8 rows of 8 elements, which lie side by side in the other direction.
  bool is_turned() const { return !is_contiguous() && layout.bits == 16; }
  std::uint32_t parts() const { // accesses for a register
    return is_contiguous() || is_turned() ? 1 : layout.elements();
  }
};

FunctionDecoder::Fragment FunctionDecoder::fragment(std::size_t address_at, std::size_t stride_at) {
  Fragment of;
  const auto& words = mnemonic().modifiers;
  for (const std::string_view word : words) {
    read_matrix_shape(word, &of.layout.shape);
    if (word == "a" || word == "b") of.layout.which = word[0];
    if (word == "c" || word == "d") of.layout.which = 'c';
  }
  if (of.layout.shape.k == 0 || has("shared::cluster")) decode_not_executed();
  of.is_row_major = has("row");
  of.layout.bits = bits_of_element(words.back());
  const bool is_known = of.layout.bits != 0 && of.layout.bits <= 64 && of.layout.shape.m >= 8 &&
                        of.layout.shape.n >= 8 && of.layout.row_registers() != 0;
  if (!is_known || (of.layout.bits < 8 && !of.is_contiguous())) decode_not_executed();
  of.target = address(operand(address_at), space());
  if (of.target.in_frame || of.target.is_parameter) fail("a matrix in parameters");
  note_shared_access(of.target.space, std::max(of.layout.bits / 8, 1u));
  of.base = whole_address(of.target);
  if (of.target.narrow) of.target.offset = 0;
  of.target.narrow = false;
  if (instruction_->operand_count > stride_at) of.stride = source(operand(stride_at), Type::kB32);
  else of.stride = builder_.constant(of.is_row_major ? of.layout.columns() : of.layout.rows(), 4);
  return of;
}

// The addresses of part `part` of a register, in a temporary.
void FunctionDecoder::fragment_address(const Fragment& of, std::uint32_t index, std::uint32_t part,
                                       std::uint32_t to) {
  const RegisterLayout layout = of.layout.of(index);
  Shape shape;
  shape.result(0, 64).source(1, 64).source(2, 32);
  const bool is_turned = of.is_turned();
  Instruction& in =
    emit(of.is_contiguous() || is_turned ? "matrix.address.outer" : "matrix.address.inner", shape);
  in.r[0] = to;
  in.r[1] = of.base;
  in.r[2] = of.stride;
  const std::uint32_t outer = is_turned ? layout.inner : layout.outer,
                      inner = is_turned ? layout.outer : layout.inner;
  in.immediate = outer | std::int64_t{inner + part} << 8 | std::int64_t{layout.step} << 16 |
                 std::int64_t{std::countr_zero(of.layout.bits)} << 24;
}

Instruction& FunctionDecoder::access_fragment(const Fragment& of, bool is_load,
                                              std::uint32_t address) {
  const std::uint32_t bytes =
    of.parts() == 1 ? std::max(of.layout.bits, 32u) / 8 : of.layout.bits / 8;
  Target target = of.target;
  target.operand = address;
  Instruction& in = emit(std::string(is_load ? "ld." : "st.") + space_name(target.space) + ".b" +
                           std::to_string(bytes * 8),
                         shape_of_access(target, bytes, 1, is_load));
  in.r[4] = address;
  in.immediate = target.offset;
  return in;
}

void FunctionDecoder::decode_load_fragment() {
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  const Fragment of = fragment(1, 2);
  const Operand& to = operand(0);
  const bool is_vector = to.kind == OperandKind::kVector;
  const std::uint32_t address = temporary();
  std::uint32_t parts[4];
  for (std::uint32_t& each : parts) each = temporary();
  const Type type = of.layout.bits == 64 ? Type::kB64 : Type::kB32;
  const bool is_whole = of.parts() == 1 && !of.is_turned();
  std::vector<std::uint32_t> loaded;
  for (std::uint32_t i = 0; i < (is_vector ? to.count : 1); ++i) {
    const Result result_of = result(is_vector ? body_.parts(to)[i] : to, type);
    loaded.push_back(result_of.offset);
    if (i >= of.layout.repeats_from()) {
      Instruction& move = emit("mov.b32", Shape::moved(32));
      move.r[0] = result_of.offset;
      move.r[1] = loaded[i % of.layout.repeats_from()];
      write_back(result_of);
      continue;
    }
    for (std::uint32_t part = 0; part < of.parts(); ++part) {
      fragment_address(of, i, part, address);
      access_fragment(of, true, address).r[0] = is_whole ? result_of.offset : parts[part];
    }
    if (of.is_turned()) turn_register(result_of.offset, parts[0]);
    if (of.parts() > 1) {
      Shape shape;
      shape.result(4, 128).flow = ptx::BitFlow::kWhole;
      shape.count = static_cast<std::uint8_t>(of.parts());
      Instruction& pack = emit("pack.v" + std::to_string(of.parts()) + ".b32", shape);
      std::copy_n(parts, of.parts(), pack.r);
      pack.r[4] = result_of.offset;
    }
    write_back(result_of);
  }
  end_guard(guard);
}

void FunctionDecoder::decode_store_fragment() {
  const std::size_t guard = begin_guard();
  emit("warp.meet");
  const Fragment of = fragment(0, 2);
  const std::vector<std::uint32_t> values =
    fragment_sources(operand(1), of.layout.bits == 64 ? 8 : 4);
  const std::uint32_t address = temporary();
  std::uint32_t parts[4];
  for (std::uint32_t& each : parts) each = temporary();
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (of.parts() > 1) {
      Shape shape;
      shape.flow = ptx::BitFlow::kParts;
      shape.count = static_cast<std::uint8_t>(of.parts());
      for (std::uint32_t part = 0; part < of.parts(); ++part) shape.result(part, 128);
      Instruction& unpack = emit("unpack.v" + std::to_string(of.parts()) + ".b32", shape);
      std::copy_n(parts, of.parts(), unpack.r);
      unpack.r[4] = values[i];
    }
    if (of.is_turned()) turn_register(parts[0], values[i]);
    const bool is_whole = of.parts() == 1 && !of.is_turned();
    for (std::uint32_t part = 0; part < of.parts(); ++part) {
      fragment_address(of, i, part, address);
      access_fragment(of, false, address).r[0] = is_whole ? values[i] : parts[part];
    }
  }
  end_guard(guard);
}

// wmma.mma{.op.popc}.sync.aligned.layouts.shape.types{.satfinite} d, a, b, c
void FunctionDecoder::decode_fragment_product() {
  FragmentLayout a{'a', {}, 0}, b{'b', {}, 0};
  std::vector<std::string> types; // behind the shape; f16 leaves out those of A and B
  for (const std::string_view word : mnemonic().modifiers) {
    if (a.shape.k == 0) read_matrix_shape(word, &a.shape);
    else if (word != "satfinite" && word != "rn") types.emplace_back(word);
  }
  if (types.size() == 2) types = {types[0], "f16", "f16", types[1]};
  if (a.shape.k == 0 || types.size() != 4) decode_not_executed();
  b.shape = a.shape;
  a.bits = b.bits = bits_of_element(types[1]);
  const std::uint32_t bytes = a.bits == 64 ? 8 : 4;
  const std::size_t guard = begin_guard();
  std::vector<std::uint32_t> factors[2] = {fragment_sources(operand(1), bytes),
                                           fragment_sources(operand(2), bytes)};
  const std::vector<std::uint32_t> c = fragment_sources(operand(3), bytes);
  const Operand& to = operand(0);
  std::vector<Result> results;
  for (std::uint32_t i = 0; i < to.count; ++i)
    results.push_back(result(body_.parts(to)[i], bytes == 8 ? Type::kB64 : Type::kB32));
  const bool is_transposed = a.is_transposed();
  if (is_transposed) std::swap(factors[0], factors[1]);
  const bool is_small = a.shape.m == 8 && a.shape.n == 8; // one product of mma
  const std::uint32_t each = a.row_registers(), tiles = is_small ? 1 : 2;
  const bool is_beside = a.shape.n == 16;
  std::string form = is_small ? "mma.m8n8k" : "mma.m16n8k";
  form += std::to_string(a.shape.k);
  if (has("satfinite")) form += ".satfinite";
  for (const std::string& type : types) form += "." + type;
  if (has("popc")) form += has("xor") ? ".xor.popc" : ".and.popc";
  const auto part = [&](const std::vector<std::uint32_t>& all, std::size_t from,
                        std::size_t count) {
    if (from + count > all.size()) fail("a fragment of another size than its matrix");
    return std::vector<std::uint32_t>(all.begin() + static_cast<std::ptrdiff_t>(from),
                                      all.begin() + static_cast<std::ptrdiff_t>(from + count));
  };
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    Product product;
    const std::uint32_t tall = is_small ? each : 2 * each;
    product.a = part(factors[0], is_beside ? 0 : std::size_t{tile} * tall, tall);
    product.b = part(factors[1], is_beside ? std::size_t{tile} * each : 0, each);
    product.c = part(c, c.size() / tiles * tile, c.size() / tiles);
    for (std::size_t i = 0; i < results.size() / tiles; ++i)
      product.d.push_back(results[results.size() / tiles * tile + i].offset);
    product.m = is_small ? 8 : 16;
    product.n = 8;
    product.k = a.shape.k;
    if (types[1] != "tf32") {
      emit_product(form, std::move(product), bytes);
      continue;
    }
    Product half = product; // an H100 sums 4 products of tf32 at a time here
    half.k = product.k = 4;
    half.a.resize(2);
    half.b.resize(1);
    product.a.erase(product.a.begin(), product.a.begin() + 2);
    product.b.erase(product.b.begin());
    product.c = product.d;
    for (Product* step : {&half, &product})
      emit_product("mma.m16n8k4.f32.tf32.tf32.f32", std::move(*step), bytes);
  }
  for (const Result& result_of : results) write_back(result_of);
  end_guard(guard);
}

} // namespace gmt::executor
