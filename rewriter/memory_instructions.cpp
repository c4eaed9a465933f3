// SPDX-License-Identifier: Apache-2.0
// The first type that an instruction names is that of the memory, ".v4" multiplies it.
#include "rewriter/memory_instructions.h"

#include <algorithm>
#include <iterator>

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Instruction;
using ptx::Mnemonic;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

// Results depend on sources alone, for each thread by itself.
constexpr std::string_view kPure[] = {
  "abs",  "add",      "and",      "bfe",  "bfi",   "bfind", "bmsk",  "brev", "clz",
  "cnot", "copysign", "cos",      "cvt",  "cvta",  "div",   "dp2a",  "dp4a", "ex2",
  "fma",  "fns",      "isspacep", "lg2",  "lop3",  "mad",   "mad24", "max",  "min",
  "mov",  "mul",      "mul24",    "neg",  "not",   "or",    "popc",  "prmt", "rcp",
  "rem",  "rsqrt",    "sad",      "selp", "set",   "setp",  "shf",   "shl",  "shr",
  "sin",  "slct",     "sqrt",     "sub",  "szext", "tanh",  "testp", "xor",
};
// They read or write the carry, which no register shows.
constexpr std::string_view kCarry[] = {"addc", "subc", "madc"};

template <class List>
bool is_one_of(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

Space space_of(const Mnemonic& mnemonic) {
  for (const std::string_view modifier : mnemonic.modifiers) {
    const Space space = ptx::space_named(modifier);
    if (space != Space::kNone) return space;
  }
  return Space::kNone;
}

std::uint32_t bytes_of(const Mnemonic& mnemonic) {
  std::uint32_t elements = 1, bytes = 0;
  for (const std::string_view modifier : mnemonic.modifiers) {
    if (modifier == "v2") elements = 2;
    if (modifier == "v4") elements = 4;
    if (modifier == "v8") elements = 8;
    const Type type = ptx::type_named(modifier);
    if (type != Type::kNone && bytes == 0) bytes = ptx::size_of(type);
  }
  return bytes * elements;
}

bool is_ordered(const Mnemonic& mnemonic) {
  static constexpr std::string_view kOrdered[] = {"volatile", "relaxed", "acquire", "release",
                                                  "acq_rel",  "mmio",    "sc"};
  return std::ranges::any_of(
    mnemonic.modifiers, [](std::string_view modifier) { return is_one_of(modifier, kOrdered); });
}

// The address of ld, ldu, st, red and atom; null if there is none.
const Operand* address_of(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  const bool has_result =
    mnemonic.opcode == "ld" || mnemonic.opcode == "ldu" || mnemonic.opcode == "atom";
  const std::size_t index = has_result ? 1 : 0;
  if (instruction.operand_count <= index) return nullptr;
  const Operand& address = body.operand(instruction, index);
  return address.kind == OperandKind::kAddress && address.count == 1 ? body.parts(address)
                                                                     : nullptr;
}

bool kind_of(std::string_view opcode, AccessKind& kind) {
  if (opcode == "ld" || opcode == "ldu") kind = AccessKind::kLoad;
  else if (opcode == "st") kind = AccessKind::kStore;
  else if (opcode == "atom") kind = AccessKind::kAtomic;
  else if (opcode == "red") kind = AccessKind::kReduction;
  else return false;
  return true;
}

// What ld and st of other spaces are: their addresses may be variables.
Role role_in(Space space, AccessKind kind, const Mnemonic& mnemonic, const Operand& address) {
  if (space == Space::kParam) {
    const bool is_parameter = kind == AccessKind::kLoad && address.kind == OperandKind::kParameter;
    return is_parameter ? Role::kPure : Role::kBoundary;
  }
  if (kind != AccessKind::kLoad || is_ordered(mnemonic)) return Role::kFixed;
  return Role::kLoad;
}

} // namespace

Classified classify(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  Classified result;
  AccessKind kind;
  if (!kind_of(mnemonic.opcode, kind)) {
    if (is_one_of(mnemonic.opcode, kCarry) || mnemonic.has("cc")) result.role = Role::kFixed;
    else if (is_one_of(mnemonic.opcode, kPure)) result.role = Role::kPure;
    return result;
  }
  const Operand* address = address_of(body, instruction);
  const std::uint32_t bytes = bytes_of(mnemonic);
  const bool is_power = bytes != 0 && (bytes & (bytes - 1)) == 0 && bytes <= 32;
  if (address == nullptr || !is_power || mnemonic.has("async")) return result;
  const Space space = space_of(mnemonic);
  if (space != Space::kGlobal && space != Space::kNone) {
    if (mnemonic.has("shared::cluster")) return result;
    result.role = role_in(space, kind, mnemonic, *address);
    return result;
  }
  const bool is_variable = address->kind == OperandKind::kVariable;
  if (is_variable) { // its own bytes, which the text bounds
    result.role = Role::kFixed;
    return result;
  }
  if (address->kind != OperandKind::kRegister) return result;
  if (body.registers[address->id].vector > 1) return result;
  if (ptx::bits_of(body.registers[address->id].type) != 64) return result;
  result.role = Role::kAccess;
  result.access = {kind,  space == Space::kNone, is_ordered(mnemonic) || kind != AccessKind::kLoad,
                   bytes, address->id,           address->offset};
  return result;
}

std::string_view why_unchecked(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  const std::string_view opcode = mnemonic.opcode;
  if (opcode == "cp") return mnemonic.has("bulk") ? "copies in bulk" : "asynchronous copies";
  if (opcode == "wmma" && !mnemonic.has("mma")) return "loads and stores of matrices";
  if (opcode == "suld" || opcode == "sust" || opcode == "sured") return "surfaces";
  if (opcode == "tex" || opcode == "tld4") return "textures";
  if (opcode == "multimem") return "multicast memory";
  AccessKind kind;
  if (!kind_of(opcode, kind)) return {};
  const Space space = space_of(mnemonic);
  const bool is_global = space == Space::kGlobal || space == Space::kNone;
  if (is_global && classify(body, instruction).role == Role::kBoundary)
    return "accesses of a form that is not known";
  return {};
}

} // namespace gmt::rewriter
