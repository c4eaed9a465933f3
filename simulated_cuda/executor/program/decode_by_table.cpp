// SPDX-License-Identifier: Apache-2.0
// From the row of an instruction to the way in which it is decoded, and the ways for which the row
// says enough. A form is the opcode with all other words. A machine that has no handler for a form
// cannot execute it, so that a word which is not listed anywhere is never passed over.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>
#include <iterator>

namespace gmt::executor {

void FunctionDecoder::decode_by_way() {
  using Way = void (FunctionDecoder::*)();
  static constexpr Way kWays[] = {
#define GMT_PTX_OPCODE(name, forms, operands, implied, flow, accuracy, way, since)                 \
  &FunctionDecoder::decode_##way,
#define GMT_PTX_NOT_EXECUTED(name, forms, operands, programs) &FunctionDecoder::decode_not_executed,
#include "ptx/opcodes/opcodes.def"
#undef GMT_PTX_OPCODE
#undef GMT_PTX_NOT_EXECUTED
  };
  opcode_ = ptx::find_opcode(mnemonic());
  if (opcode_ == nullptr) decode_not_executed();
  (this->*kWays[opcode_ - ptx::opcodes().data()])();
}

void FunctionDecoder::decode_not_executed() {
  fail(std::string(mnemonic().text) + " is not executed");
}

void FunctionDecoder::decode_nothing() {
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  emit("nop", shape);
}

void FunctionDecoder::decode_grid_dependency() {
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  emit(std::string(mnemonic().text), shape);
}

ptx::Type FunctionDecoder::type_for(char letter, const std::vector<ptx::Type>& found) const {
  using ptx::Type;
  switch (letter) {
  case '1': return Type::kB16;
  case '4': return Type::kB32;
  case '8': return Type::kB64;
  case 'p': return Type::kPred;
  case 'U':
    if (found.size() < 2) fail("no second type");
    return found[1];
  default: break;
  }
  if (found.empty()) fail("no type");
  if (letter == 'L') return found.back();
  if (letter != 'W' || !has("wide")) return found[0];
  switch (found[0]) {
  case Type::kU16: return Type::kU32;
  case Type::kS16: return Type::kS32;
  case Type::kU32: return Type::kU64;
  case Type::kS32: return Type::kS64;
  default: fail("a type that has no wider one");
  }
}

// Results first, then sources, as the row has them. A number of the text is no operand of the
// machine's instruction.
void FunctionDecoder::decode_by_operands() {
  const auto found = types();
  std::uint32_t r[6];
  std::size_t count = 0, at = 0;
  std::vector<Result> all;
  std::int64_t immediate_value = 0;
  Shape shape;
  for (const ptx::OperandPattern& pattern : opcode_->patterns()) {
    if (pattern.is_optional && at == instruction_->operand_count) continue;
    const Operand& given = operand(at++);
    if (pattern.type == 'i') {
      if (given.kind != ptx::OperandKind::kImmediate) fail("an operand that must be a number");
      immediate_value = static_cast<std::int64_t>(given.bits);
      continue;
    }
    if (count == std::size(r)) fail("too many operands");
    const ptx::Type type = type_for(pattern.type, found);
    if (pattern.writes) {
      all.push_back(result(given, type));
      shape.result(count, ptx::bits_of(type));
      r[count++] = all.back().offset;
    } else {
      shape.source(count, ptx::bits_of(type));
      r[count++] = source(given, type);
    }
  }
  if (at != instruction_->operand_count) fail("too many operands");
  shape.flow = flow_of(opcode_->flow, found, mnemonic());
  shape.is_inexact = ptx::is_inexact(*opcode_, mnemonic());
  Instruction& in = emit(own_form(), shape);
  std::copy(r, r + count, in.r);
  in.immediate = immediate_value;
  in.extra = layout_.carry;
  for (const Result& each : all) write_back(each);
}

// cvt.f16x2.f32 d, a, b joins two values; all others convert one.
void FunctionDecoder::decode_conversion() {
  const std::vector<ptx::Type> found = types();
  if (found.size() != 2) fail("not the two types of a conversion");
  const auto is_pair = [](ptx::Type type) {
    return type == ptx::Type::kF16x2 || type == ptx::Type::kBf16x2 || type == ptx::Type::kE4m3x2 ||
           type == ptx::Type::kE5m2x2;
  };
  const bool joins = is_pair(found[0]) && !is_pair(found[1]);
  if (instruction_->operand_count != (joins ? 3 : 2)) fail("too few or too many operands");
  decode_by_operands();
}

// cvt.pack.sat.u8.s32.b32 d, a, b, c has a third source; without .b32 there are two.
void FunctionDecoder::decode_packed_conversion() {
  const std::vector<ptx::Type> found = types(); // .u4 and .u2 are none of them
  const bool has_third = !found.empty() && found.back() == ptx::Type::kB32;
  if (instruction_->operand_count != (has_third ? 4 : 3)) fail("too few or too many operands");
  decode_by_operands();
}

} // namespace gmt::executor
