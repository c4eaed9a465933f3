// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces, which instructions name by the 64 bits of their objects.
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/texture_form.h"

#include <algorithm>
#include <iterator>

namespace gmt::executor {

using ptx::OperandKind;
using ptx::Type;

namespace {

// Dimensions, layers and cube of a word such as "a2d"; 0: it is none.
std::uint32_t geometry(std::string_view word) {
  using namespace texture_form;
  const std::uint32_t layered = word.starts_with('a') ? kLayered : 0;
  if (layered != 0) word.remove_prefix(1);
  if (word == "1d") return layered | 1;
  if (word == "2d") return layered | 2;
  if (word == "3d" && layered == 0) return 3;
  return word == "cube" ? layered | kCube | 3 : 0;
}

bool is_result_type(std::string_view word) {
  return word == "f32" || word == "u32" || word == "s32";
}

} // namespace

// The parts of a vector, or the operand alone.
std::span<const ptx::Operand> FunctionDecoder::elements_of(const Operand& operand) const {
  if (operand.kind == OperandKind::kVector) return {body_.parts(operand), operand.count};
  return {&operand, 1};
}

// The layer and the coordinates of [object, {...}] become values. Of three dimensions the text has
// four coordinates, and so it has of two with a layer: the last does not count.
std::uint32_t FunctionDecoder::coordinates_of(const Operand& address, std::uint32_t form,
                                              std::vector<std::uint32_t>& values) {
  using namespace texture_form;
  if (address.kind != OperandKind::kAddress || address.count < 2) fail("no address of a texture");
  if (address.count != 2) fail("a sampler apart from its texture");
  const auto given = elements_of(body_.parts(address)[1]);
  const bool layered = (form & kLayered) != 0;
  const std::size_t needed = dimensions(form) + (layered ? 1 : 0);
  if (given.size() < needed) fail("coordinates of fewer dimensions");
  for (std::size_t i = 0; i < needed; ++i) {
    Type type = (form & kIntegers) != 0 ? Type::kS32 : Type::kF32;
    if (layered && i == 0) type = Type::kU32;
    values.push_back(source(given[i], type));
  }
  return texture_object(address);
}

std::uint32_t FunctionDecoder::texture_object(const Operand& address) {
  if (address.kind != OperandKind::kAddress || address.count == 0) fail("no address of a texture");
  const Operand& object = body_.parts(address)[0];
  if (object.kind == OperandKind::kVariable) fail("a texture or surface that is a variable");
  return source(object, Type::kU64);
}

// Moves the values to slots that lie one behind the other.
std::uint32_t FunctionDecoder::in_a_row(const std::vector<std::uint32_t>& values) {
  std::uint32_t first = kNoOperand;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t slot = temporary();
    if (i == 0) first = slot;
    if (slot != first + i * texture_form::kSlotBytes) fail("coordinates apart");
    Instruction& in = emit("mov.b32", Shape::moved(32));
    in.r[0] = slot;
    in.r[1] = values[i];
  }
  return first;
}

// tex{.base|.level|.grad}.geometry.v4.type.type {d}, [texture, {c}]{, level | dx, dy}{, offsets}
// and tld4.component.2d. A depth to compare with is not executed.
void FunctionDecoder::decode_texture() {
  using namespace texture_form;
  std::uint32_t form = mnemonic().opcode == "tld4" ? kGather : 0;
  std::vector<std::string_view> types_given;
  bool is_whole = false;
  for (const std::string_view word : mnemonic().modifiers) {
    static constexpr std::string_view kComponents = "rgba";
    if (const std::uint32_t of_word = geometry(word); of_word != 0) form |= of_word;
    else if (word == "level") form |= kLevel;
    else if (word == "grad") form |= kGradient;
    else if (word == "v4") is_whole = true;
    else if (is_result_type(word)) types_given.push_back(word);
    else if ((form & kGather) != 0 && word.size() == 1 &&
             kComponents.find(word) != std::string_view::npos)
      form |= static_cast<std::uint32_t>(kComponents.find(word)) << kComponentShift;
    else if (word != "base") decode_not_executed();
  }
  if (dimensions(form) == 0 || !is_whole || types_given.size() != 2) decode_not_executed();
  if (types_given[1] == "s32") form |= kIntegers;
  const Operand& written = operand(0);
  const bool is_pair = written.kind == OperandKind::kPair;
  const auto to = elements_of(is_pair ? body_.parts(written)[0] : written);
  if (to.size() != 4) decode_not_executed();
  std::vector<std::uint32_t> values;
  const std::uint32_t object = coordinates_of(operand(1), form, values);
  std::size_t at = 2;
  const auto take = [&](std::size_t count, Type type) {
    const auto given = elements_of(operand(at++));
    if (given.size() < count) fail("too few elements of an operand");
    for (std::size_t i = 0; i < count; ++i) values.push_back(source(given[i], type));
  };
  if ((form & kLevel) != 0) take(1, (form & kIntegers) != 0 ? Type::kS32 : Type::kF32);
  if ((form & kGradient) != 0) take(dimensions(form), Type::kF32);
  if ((form & kGradient) != 0) take(dimensions(form), Type::kF32);
  if (at < instruction_->operand_count) {
    const bool is_vector = operand(at).kind == OperandKind::kVector;
    if (!is_vector || (form & kCube) != 0) decode_not_executed(); // a depth to compare with
    form |= kOffsets;
    take(dimensions(form), Type::kS32);
  }
  if (at != instruction_->operand_count) decode_not_executed();
  const std::uint32_t first = in_a_row(values);
  Result all[4];
  Shape shape;
  for (std::size_t i = 0; i < 4; ++i) {
    all[i] = result(to[i], Type::kB32);
    shape.result(i, 32);
  }
  shape.decides(4, 64).decides(5, 32).memory = Shape::Memory::kUnknown;
  Instruction& in = emit("tex", shape);
  for (std::size_t i = 0; i < 4; ++i) in.r[i] = all[i].offset;
  in.r[4] = object;
  in.r[5] = first;
  in.immediate = form;
  for (const Result& each : all) write_back(each);
  if (is_pair) all_resident(body_.parts(written)[1]);
}

// Whether the memory was there: here it always is.
void FunctionDecoder::all_resident(const Operand& predicate) {
  const Result to = result(predicate, Type::kPred);
  Instruction& in = emit("mov.pred", Shape::moved(1));
  in.r[0] = to.offset;
  in.r[1] = builder_.constant(~0u, 4);
}

// suld.b.geometry{.cache}.vec.type.mode {d}, [surface, {c}], sust.b and sust.p, whose values come
// last, and sured with its operation.
void FunctionDecoder::decode_surface() {
  using namespace texture_form;
  const bool loads = mnemonic().opcode == "suld", reduces = mnemonic().opcode == "sured";
  std::uint32_t form = kIntegers, count = 1;
  std::string_view operation, type_word;
  for (const std::string_view word : mnemonic().modifiers) {
    static constexpr std::string_view kPassed[] = {"b", "ca", "cg", "cs", "cv", "wb", "wt", "trap"};
    if (const std::uint32_t of_word = geometry(word); of_word != 0) form |= of_word;
    else if (word == "p") form |= kFormatted;
    else if (word == "v2") count = 2;
    else if (word == "v4") count = 4;
    else if (word == "clamp") form |= kClamp << kModeShift;
    else if (word == "zero") form |= kZero << kModeShift;
    else if (ptx::type_named(word) != Type::kNone) type_word = word;
    else if (reduces && operation.empty() && word != "b" && word != "trap") operation = word;
    else if (std::ranges::find(kPassed, word) == std::end(kPassed)) decode_not_executed();
  }
  const Type type = ptx::type_named(type_word);
  const std::uint32_t bytes = ptx::size_of(type);
  if (dimensions(form) == 0 || (form & kCube) != 0 || bytes == 0 || bytes > 8)
    decode_not_executed();
  if (reduces) {
    const std::string text = std::string(operation) + "." + std::string(type_word);
    const auto known = std::ranges::find(kOperations, text);
    if (known == kOperations.end()) decode_not_executed();
    form |= static_cast<std::uint32_t>(known - kOperations.begin()) << kOperationShift;
  }
  std::vector<std::uint32_t> values;
  const std::uint32_t object = coordinates_of(operand(loads ? 1 : 0), form, values);
  const auto data = elements_of(operand(loads ? 0 : 1));
  if (data.size() != count) fail("another number of elements than the vector has");
  Result all[4];
  std::uint32_t given[4] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand};
  Shape shape;
  for (std::size_t i = 0; i < count; ++i) {
    if (loads) {
      all[i] = result(data[i], type);
      given[i] = all[i].offset;
      shape.result(i, bytes * 8);
    } else {
      given[i] = source_of(data[i], bytes, type);
      shape.source(i, bytes * 8);
    }
  }
  const std::uint32_t first = in_a_row(values);
  shape.decides(4, 64).decides(5, 32).memory = Shape::Memory::kUnknown;
  Instruction& in = emit(std::string(mnemonic().opcode), shape);
  std::copy(std::begin(given), std::end(given), in.r);
  in.r[4] = object;
  in.r[5] = first;
  in.immediate = form | bytes << kBytesShift | count << kCountShift;
  for (std::size_t i = 0; loads && i < count; ++i) write_back(all[i]);
}

} // namespace gmt::executor
