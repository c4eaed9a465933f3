// SPDX-License-Identifier: Apache-2.0
// Operands of instructions: registers become offsets in the frame, everything that is the same for
// all lanes becomes a constant. A register that is wider than its instruction's type is read and
// written through a temporary.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kTemporaryBytes = 16 * kLanes;

bool is_float(ptx::Type type) {
  using ptx::Type;
  return type == Type::kF32 || type == Type::kF64 || type == Type::kF16 || type == Type::kBf16 ||
         type == Type::kTf32;
}

bool is_signed_type(ptx::Type type) {
  using ptx::Type;
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

} // namespace

Instruction& FunctionDecoder::emit(const std::string& form, const Shape& shape) {
  Instruction instruction;
  instruction.form = builder_.form(form, shape);
  instruction.source = current;
  if (instruction_ != nullptr && instruction_->guard != ptx::kNone) {
    instruction.guard = register_offset(instruction_->guard);
    instruction.flip = instruction_->guard_negated ? ~0u : 0;
  }
  code_.instructions.push_back(instruction);
  return code_.instructions.back();
}

std::uint32_t FunctionDecoder::temporary() {
  const std::uint32_t offset = layout_.temporaries + temporaries_ * kTemporaryBytes;
  ++temporaries_;
  if (temporaries_ > most_temporaries_) most_temporaries_ = temporaries_;
  return offset;
}

std::uint32_t FunctionDecoder::register_offset(std::uint32_t id) const {
  const Slot slot = slots_.of[id];
  if (slot.index == ptx::kNone) fail("a register without a slot");
  return layout_.offset_of(slot, register_bytes(id));
}

std::uint32_t FunctionDecoder::register_bytes(std::uint32_t id) const {
  return ptx::bits_of(body_.registers[id].type) / 8;
}

std::uint32_t FunctionDecoder::convert(std::uint32_t from, std::uint32_t from_bytes,
                                       std::uint32_t to_bytes, bool is_signed, std::uint32_t to) {
  if (to == kNoOperand) to = temporary();
  if (from_bytes == 16 || to_bytes == 16) fail("a conversion of 128 bits");
  const std::string prefix = is_signed ? "cvt.s" : "cvt.u";
  Shape shape;
  shape.result(0, to_bytes * 8).source(1, from_bytes * 8).flow = ptx::BitFlow::kSame1;
  Instruction& in = emit(prefix + std::to_string(to_bytes * 8) + (is_signed ? ".s" : ".u") +
                           std::to_string(from_bytes * 8),
                         shape);
  in.r[0] = to;
  in.r[1] = from;
  return to;
}

std::uint64_t FunctionDecoder::immediate(const Operand& operand, ptx::Type type) const {
  if (operand.number == ptx::Number::kInteger) {
    if (!is_float(type)) return operand.bits;
    return operand.bits; // a pattern of bits, as nvcc writes constants of half types
  }
  double value;
  if (operand.number == ptx::Number::kFloat32) {
    if (ptx::bits_of(type) <= 32) return operand.bits & 0xffffffffu;
    const auto bits = static_cast<std::uint32_t>(operand.bits);
    float narrow;
    std::memcpy(&narrow, &bits, sizeof narrow);
    if (type != ptx::Type::kF64) return bits;
    value = narrow;
  } else {
    if (type == ptx::Type::kF32 || type == ptx::Type::kB32) {
      double wide;
      std::memcpy(&wide, &operand.bits, sizeof wide);
      const auto narrow = static_cast<float>(wide);
      std::uint32_t bits;
      std::memcpy(&bits, &narrow, sizeof bits);
      return bits;
    }
    return operand.bits;
  }
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::uint32_t FunctionDecoder::special(const Operand& operand, std::uint32_t bytes) {
  const auto which = static_cast<ptx::SpecialRegister>(operand.id);
  const ptx::Type type = ptx::type_of(which);
  const std::uint32_t own = ptx::bits_of(type) / 8;
  if (which >= ptx::SpecialRegister::kPm0 && which <= ptx::SpecialRegister::kPm764)
    fail("the register " + std::string(ptx::name_of(which)));
  if (which == ptx::SpecialRegister::kEnvreg1 || which == ptx::SpecialRegister::kEnvreg2)
    program_.uses_grid_sync = true;
  if (which == ptx::SpecialRegister::kWARPSZ) return builder_.constant(kLanes, bytes);
  const std::uint32_t to = temporary();
  Shape shape;
  shape.result(0, own == 8 ? 64 : 32).kind = Shape::Kind::kSpecialRegister;
  Instruction& in = emit(own == 8 ? "special.b64" : "special.b32", shape);
  in.r[0] = to;
  in.extra = operand.id;
  return own == bytes || own == 0 ? to : convert(to, own, bytes, false);
}

// False if the operand is no address. Of functions, global and shared variables.
bool FunctionDecoder::address_of(const Operand& operand, std::uint64_t* value) {
  switch (operand.kind) {
  case ptx::OperandKind::kVariable: {
    const ptx::Variable& variable = code_.module->variables()[operand.id];
    const std::uint32_t linked = program_.linked->variable_of(code_.module_index, operand.id);
    if (variable.space == ptx::Space::kShared)
      *value = builder_.shared_offset(program_.linked->variables()[linked].variable);
    else *value = builder_.addresses().of_variable(linked);
    *value += static_cast<std::uint64_t>(operand.offset);
    return true;
  }
  case ptx::OperandKind::kFunction:
    *value = builder_.addresses().of_function(
      program_.linked->function_of(code_.module_index, operand.id));
    return true;
  case ptx::OperandKind::kLocal: {
    const ptx::Variable& variable = body_.variables[operand.id];
    if (variable.space == ptx::Space::kShared) *value = builder_.shared_offset(&variable);
    else if (variable.space == ptx::Space::kParam) *value = local_offsets_[operand.id];
    else return false;
    *value += static_cast<std::uint64_t>(operand.offset);
    return true;
  }
  case ptx::OperandKind::kParameter:
    *value = code_.parameter_offsets[operand.id] + static_cast<std::uint64_t>(operand.offset);
    if (is_kernel_) program_.uses_generic_parameters = true;
    return true;
  case ptx::OperandKind::kReturn:
    *value = code_.return_offsets[operand.id] + static_cast<std::uint64_t>(operand.offset);
    return true;
  default: return false;
  }
}

std::uint32_t FunctionDecoder::source_of(const Operand& operand, std::uint32_t bytes,
                                         ptx::Type type) {
  switch (operand.kind) {
  case ptx::OperandKind::kRegister: {
    const std::uint32_t own = register_bytes(operand.id);
    if (own == 0) fail("a predicate as an operand");
    if (operand.negated) fail("a negated operand");
    const std::uint32_t offset = register_offset(operand.id);
    return own == bytes ? offset : convert(offset, own, bytes, is_signed_type(type) && own < bytes);
  }
  case ptx::OperandKind::kImmediate: return builder_.constant(immediate(operand, type), bytes);
  case ptx::OperandKind::kSpecial: return special(operand, bytes);
  case ptx::OperandKind::kLocal:
    if (body_.variables[operand.id].space == ptx::Space::kLocal) {
      const std::uint32_t to = temporary();
      Instruction& in = emit(bytes == 8 ? "local.address.b64" : "local.address.b32",
                             Shape().result(0, bytes == 8 ? 64 : 32));
      in.r[0] = to;
      in.immediate = local_offsets_[operand.id] + operand.offset;
      return to;
    }
    [[fallthrough]];
  default: {
    std::uint64_t value = 0;
    if (!address_of(operand, &value)) fail("an operand of another kind than a value");
    return builder_.constant(value, bytes);
  }
  }
}

std::uint32_t FunctionDecoder::source(const Operand& operand, ptx::Type type) {
  const std::uint32_t bits = ptx::bits_of(type);
  return bits == 1 ? predicate(operand) : source_of(operand, bits / 8, type);
}

std::uint32_t FunctionDecoder::predicate(const Operand& operand) {
  if (operand.kind == ptx::OperandKind::kImmediate)
    return builder_.constant((operand.bits != 0) != operand.negated ? ~0u : 0u, 4);
  if (operand.kind == ptx::OperandKind::kSpecial) {
    if (static_cast<ptx::SpecialRegister>(operand.id) != ptx::SpecialRegister::kIsExplicitCluster)
      return builder_.constant(0, 4);
    const std::uint32_t is = temporary();
    emit("is_explicit_cluster", Shape().result(0, 1)).r[0] = is;
    return is;
  }
  if (operand.kind != ptx::OperandKind::kRegister || register_bytes(operand.id) != 0)
    fail("a predicate that is none");
  const std::uint32_t offset = register_offset(operand.id);
  if (!operand.negated) return offset;
  const std::uint32_t to = temporary();
  Instruction& in = emit("not.pred", Shape::moved(1));
  in.r[0] = to;
  in.r[1] = offset;
  return to;
}

FunctionDecoder::Result FunctionDecoder::result(const Operand& operand, ptx::Type type) {
  Result result;
  const std::uint32_t bits = ptx::bits_of(type);
  if (operand.kind == ptx::OperandKind::kDiscard) {
    result.offset = temporary();
    return result;
  }
  if (operand.kind != ptx::OperandKind::kRegister) fail("a result that is no register");
  const std::uint32_t own = register_bytes(operand.id);
  if ((bits == 1) != (own == 0)) fail("a result of another type than its register");
  result.offset = register_offset(operand.id);
  if (own == bits / 8) return result;
  result.narrow = result.offset;
  result.bytes = own;
  result.narrow_bytes = bits / 8;
  result.is_signed = is_signed_type(type);
  result.offset = temporary();
  return result;
}

void FunctionDecoder::write_back(const Result& result) {
  if (result.narrow != kNoOperand)
    convert(result.offset, result.narrow_bytes, result.bytes, result.is_signed, result.narrow);
}

const ptx::Operand& FunctionDecoder::operand(std::size_t index) const {
  if (index >= instruction_->operand_count) fail("too few operands");
  return body_.operand(*instruction_, index);
}

std::vector<ptx::Type> FunctionDecoder::types() const { return ptx::types_of(mnemonic()); }

ptx::Type FunctionDecoder::only_type() const {
  const auto found = types();
  if (found.empty()) fail("no type");
  return found[0];
}

std::string FunctionDecoder::own_form() const {
  const auto is_implied = [&](std::string_view word) {
    std::string_view rest = opcode_->implied;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == word) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
  };
  std::string form(mnemonic().opcode);
  for (const std::string_view modifier : mnemonic().modifiers) {
    if (is_implied(modifier)) continue;
    form += '.';
    form += modifier;
  }
  return form;
}

ptx::Space FunctionDecoder::space() const { return ptx::space_of(mnemonic()); }

void FunctionDecoder::note_shared_access(ptx::Space space, std::uint32_t bytes) {
  if ((space == ptx::Space::kShared || space == ptx::Space::kNone) &&
      bytes < program_.shared_granule)
    program_.shared_granule = bytes;
}

} // namespace gmt::executor
