// SPDX-License-Identifier: Apache-2.0
// Passes over the code until nothing is added: a loop may bring a sum to an earlier instruction.
#include "simulated_cuda/executor/program/computed.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gmt::executor {
namespace {

template <std::size_t N>
bool is_one_of(const std::string_view (&all)[N], std::string_view one) {
  return std::find(std::begin(all), std::end(all), one) != std::end(all);
}

// What a call or a load gives comes from elsewhere, with its state.
bool only_moves(const ptx::Mnemonic& mnemonic) {
  static constexpr std::string_view kOpcodes[] = {"mov",  "ld",   "ldu", "st",  "selp", "slct",
                                                  "or",   "bfi",  "bfe", "shf", "prmt", "shfl",
                                                  "cvta", "atom", "red", "call"};
  if (mnemonic.opcode == "cvt") { // between integers
    return std::none_of(
      mnemonic.modifiers.begin(), mnemonic.modifiers.end(), [](std::string_view word) {
        return ptx::type_named(word) != ptx::Type::kNone && word.find('f') != word.npos;
      });
  }
  return is_one_of(kOpcodes, mnemonic.opcode);
}

// An immediate operand of which each byte is kept or left out as a whole.
bool takes_bytes(const ptx::Operand& mask) {
  if (mask.kind != ptx::OperandKind::kImmediate) return false;
  for (std::uint64_t bits = mask.bits; bits != 0; bits >>= 8) {
    if ((bits & 0xff) != 0 && (bits & 0xff) != 0xff) return false;
  }
  return true;
}

Derivation derivation_by(const ptx::Body& body, const ptx::Instruction& instruction) {
  static constexpr std::string_view kOfBits[] = {"and", "xor", "not", "shl", "shr"};
  const ptx::Mnemonic& mnemonic = body.mnemonic(instruction);
  if (only_moves(mnemonic)) return Derivation::kMoved;
  if (!is_one_of(kOfBits, mnemonic.opcode)) return Derivation::kComputed;
  if (instruction.operand_count < 3) return Derivation::kOfBits;
  const ptx::Operand& last = body.operand(instruction, 2);
  if (mnemonic.opcode == "and" && takes_bytes(last)) return Derivation::kMoved;
  const bool is_shift = mnemonic.opcode == "shl" || mnemonic.opcode == "shr";
  const bool by_bits = last.kind == ptx::OperandKind::kImmediate && last.bits % 8 != 0;
  return is_shift && !by_bits ? Derivation::kMoved : Derivation::kOfBits;
}

// True if something is new.
bool mark(const ptx::Body& body, const ptx::Operand& operand, Derivation how,
          std::vector<Derivation>* registers) {
  if (operand.kind == ptx::OperandKind::kRegister) {
    Derivation& known = (*registers)[operand.id];
    const bool is_new = known < how;
    known = std::max(known, how);
    return is_new;
  }
  bool is_new = false;
  if (operand.kind == ptx::OperandKind::kVector || operand.kind == ptx::OperandKind::kPair) {
    for (std::uint32_t i = 0; i < operand.count; ++i)
      is_new |= mark(body, body.parts(operand)[i], how, registers);
  }
  return is_new;
}

// Registers that an instruction loads or puts together, whatever others do to them.
std::vector<bool> gathered_registers(const ptx::Body& body) {
  static constexpr std::string_view kOpcodes[] = {"or", "bfi", "ld", "ldu"};
  std::vector<bool> gathered(body.registers.size());
  for (const ptx::Instruction& instruction : body.instructions) {
    if (instruction.operand_count < 2) continue;
    const ptx::Operand& result = body.operand(instruction, 0);
    if (result.kind == ptx::OperandKind::kRegister &&
        is_one_of(kOpcodes, body.mnemonic(instruction).opcode))
      gathered[result.id] = true;
  }
  return gathered;
}

} // namespace

Derivation derivation_of(const ptx::Body& body, const ptx::Operand& operand,
                         const std::vector<Derivation>& registers) {
  if (operand.kind == ptx::OperandKind::kRegister) return registers[operand.id];
  Derivation most = Derivation::kMoved;
  if (operand.kind != ptx::OperandKind::kVector) return most; // an address is not moved
  for (std::uint32_t i = 0; i < operand.count; ++i)
    most = std::max(most, derivation_of(body, body.parts(operand)[i], registers));
  return most;
}

std::vector<Derivation> derivations_of_registers(const ptx::Body& body) {
  const std::vector<bool> gathered = gathered_registers(body);
  std::vector<Derivation> registers(body.registers.size());
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const ptx::Instruction& instruction : body.instructions) {
      if (instruction.operand_count < 2) continue;
      Derivation most = Derivation::kMoved;
      for (std::uint32_t i = 1; i < instruction.operand_count; ++i)
        most = std::max(most, derivation_of(body, body.operand(instruction, i), registers));
      most = std::max(most, derivation_by(body, instruction));
      const ptx::Operand& result = body.operand(instruction, 0);
      const bool is_gathered = result.kind == ptx::OperandKind::kRegister && gathered[result.id];
      if (most == Derivation::kOfBits && is_gathered) continue; // as an "or" puts values together
      if (most != Derivation::kMoved) is_new |= mark(body, result, most, &registers);
    }
  }
  return registers;
}

} // namespace gmt::executor
