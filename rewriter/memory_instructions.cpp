// SPDX-License-Identifier: Apache-2.0
// Addresses, bytes and state spaces are those of the table of opcodes.
#include "rewriter/memory_instructions.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <vector>

#include "ptx/opcodes/opcodes.h"

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Instruction;
using ptx::MemoryUse;
using ptx::Mnemonic;
using ptx::Operand;
using ptx::OperandKind;
using ptx::OperandUse;
using ptx::Space;

// Results depend on sources alone, for each thread by itself.
constexpr std::string_view kPure[] = {
  "abs",  "add",      "and",      "bfe",  "bfi",   "bfind", "bmsk",  "brev", "clz",
  "cnot", "copysign", "cos",      "cvt",  "cvta",  "div",   "dp2a",  "dp4a", "ex2",
  "fma",  "fns",      "isspacep", "lg2",  "lop3",  "mad",   "mad24", "max",  "min",
  "mov",  "mul",      "mul24",    "neg",  "not",   "or",    "popc",  "prmt", "rcp",
  "rem",  "rsqrt",    "sad",      "selp", "set",   "setp",  "shf",   "shl",  "shr",
  "sin",  "slct",     "sqrt",     "sub",  "szext", "tanh",  "testp", "xor",
};
// The same, of all lanes of a warp that execute it.
constexpr std::string_view kTogether[] = {"mma", "movmatrix", "redux", "shfl", "vote"};
// They read or write the carry, which no register shows.
constexpr std::string_view kCarry[] = {"addc", "subc", "madc"};

template <class List>
bool is_one_of(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_ordered(const Mnemonic& mnemonic) {
  static constexpr std::string_view kOrdered[] = {"volatile", "relaxed", "acquire", "release",
                                                  "acq_rel",  "mmio",    "sc"};
  return std::ranges::any_of(
    mnemonic.modifiers, [](std::string_view modifier) { return is_one_of(modifier, kOrdered); });
}

struct Address {
  const Operand* base; // with its offset
  OperandUse use;
};
// Of an instruction whose operands are those of the table.
std::optional<Address> address_of(const Body& body, const Instruction& instruction) {
  std::vector<OperandUse> uses;
  if (!ptx::uses_of(body, instruction, uses)) return std::nullopt;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Operand& operand = body.operand(instruction, i);
    if (uses[i].memory == MemoryUse::kNoAddress) continue;
    if (operand.kind != OperandKind::kAddress || operand.count != 1) return std::nullopt;
    return Address{body.parts(operand), uses[i]};
  }
  return std::nullopt;
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

// Whether the register may hold an address of this space.
bool is_address(const Body& body, const Operand& base, Space space) {
  if (base.kind != OperandKind::kRegister || body.registers[base.id].vector > 1) return false;
  const std::uint32_t bits = ptx::bits_of(body.registers[base.id].type);
  const bool is_small = space == Space::kShared || space == Space::kLocal;
  return bits == 64 || (is_small && bits == 32);
}

// cp.async.ca.shared.global [to], [from], bytes{, bytes to read, or a predicate}{, cache policy}.
// What it reads is a load. Of sizes that are no power of two nothing is checked.
bool is_copy_to_shared(const Mnemonic& mnemonic) {
  return mnemonic.opcode == "cp" && mnemonic.has("global") && !mnemonic.has("bulk");
}

std::optional<MemoryAccess> read_by_copy(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  const std::uint32_t policy = mnemonic.has("L2::cache_hint") ? 1 : 0;
  if (instruction.operand_count < 3 + policy) return std::nullopt;
  const Operand& from = body.operand(instruction, 1);
  const Operand& size = body.operand(instruction, 2);
  if (from.kind != OperandKind::kAddress || from.count != 1) return std::nullopt;
  const Operand& base = *body.parts(from);
  if (size.kind != OperandKind::kImmediate || !is_address(body, base, Space::kGlobal))
    return std::nullopt;
  MemoryAccess access{.kind = AccessKind::kLoad,
                      .space = Space::kGlobal,
                      .is_ordered = true, // it writes shared memory
                      .bytes = static_cast<std::uint32_t>(size.bits),
                      .base = base.id,
                      .variable = base,
                      .offset = base.offset};
  if (instruction.operand_count > 3 + policy) {
    const Operand& read = body.operand(instruction, 3);
    if (read.kind == OperandKind::kImmediate && read.bits <= size.bits) {
      access.bytes = static_cast<std::uint32_t>(read.bits);
    } else if (read.kind == OperandKind::kRegister &&
               ptx::bits_of(body.registers[read.id].type) == 32) {
      access.size = read.id;
    } else {
      return std::nullopt;
    }
  }
  if (access.bytes > 16 || !std::has_single_bit(access.bytes)) return std::nullopt;
  return access;
}

} // namespace

Classified classify(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  Classified result;
  AccessKind kind;
  if (!kind_of(mnemonic.opcode, kind)) {
    if (is_copy_to_shared(mnemonic)) {
      if (const std::optional<MemoryAccess> read = read_by_copy(body, instruction)) {
        result.role = Role::kAccess;
        result.access = *read;
      }
      return result;
    }
    if (is_one_of(mnemonic.opcode, kCarry) || mnemonic.has("cc")) result.role = Role::kFixed;
    else if (is_one_of(mnemonic.opcode, kPure)) result.role = Role::kPure;
    else if (is_one_of(mnemonic.opcode, kTogether)) result.role = Role::kTogether;
    return result;
  }
  const std::optional<Address> address = address_of(body, instruction);
  if (!address || mnemonic.has("async")) return result;
  const std::uint64_t bytes = address->use.bytes;
  const bool is_power = bytes != 0 && (bytes & (bytes - 1)) == 0 && bytes <= 32;
  if (!is_power) return result;
  const Operand& base = *address->base;
  const Space space = address->use.space;
  const bool is_device = space == Space::kGlobal || space == Space::kNone;
  if (!is_device) {
    if (mnemonic.has("shared::cluster")) return result;
    result.role = result.role_unchecked = role_in(space, kind, mnemonic, base);
    if (space != Space::kShared && space != Space::kLocal) return result;
  }
  result.access = {.kind = kind,
                   .space = space,
                   .is_ordered = is_ordered(mnemonic) || kind != AccessKind::kLoad,
                   .bytes = static_cast<std::uint32_t>(bytes),
                   .base = ptx::kNone,
                   .variable = base,
                   .offset = base.offset};
  if (base.kind == OperandKind::kVariable || base.kind == OperandKind::kLocal) {
    if (!is_device) result.role = Role::kAccess;
    else if (base.kind == OperandKind::kVariable) result.role = Role::kFixed; // its own bytes
    return result;
  }
  if (!is_address(body, base, space)) return result;
  result.role = Role::kAccess;
  result.access.base = base.id;
  return result;
}

std::string_view why_unchecked(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  const std::string_view opcode = mnemonic.opcode;
  if (is_copy_to_shared(mnemonic)) {
    const bool is_checked = classify(body, instruction).role == Role::kAccess;
    return is_checked ? std::string_view() : "asynchronous copies";
  }
  if (opcode == "cp" && mnemonic.has("bulk") && instruction.operand_count > 1)
    return mnemonic.has("prefetch") ? std::string_view() : "copies in bulk";
  if (opcode == "wmma" && !mnemonic.has("mma")) return "loads and stores of matrices";
  if (opcode == "ldmatrix" || opcode == "stmatrix") return "loads and stores of matrices";
  if (opcode == "suld" || opcode == "sust" || opcode == "sured") return "surfaces";
  if (opcode == "tex" || opcode == "tld4") return "textures";
  if (opcode == "multimem") return "multicast memory";
  AccessKind kind;
  if (!kind_of(opcode, kind)) return {};
  const Space space = ptx::space_of(mnemonic);
  const bool is_global = space == Space::kGlobal || space == Space::kNone;
  if (is_global && classify(body, instruction).role == Role::kBoundary)
    return "accesses of a form that is not known";
  return {};
}

bool may_write_unseen(const Body& body, const Instruction& instruction) {
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  const std::string_view opcode = mnemonic.opcode;
  if (opcode == "cp") { // the first space is that of the destination
    if (!mnemonic.has("bulk") || mnemonic.has("prefetch")) return false;
    return ptx::space_of(mnemonic) != Space::kShared;
  }
  if (opcode == "wmma") return mnemonic.has("store") && ptx::space_of(mnemonic) != Space::kShared;
  if (opcode == "multimem" || opcode == "tensormap") return true;
  AccessKind kind;
  if (!kind_of(opcode, kind) || kind == AccessKind::kLoad) return false;
  const Space space = ptx::space_of(mnemonic);
  const bool is_global = space == Space::kGlobal || space == Space::kNone;
  return is_global && classify(body, instruction).role == Role::kBoundary;
}

} // namespace gmt::rewriter
