// SPDX-License-Identifier: Apache-2.0
// Passes over the code until nothing is added: a loop may bring a sum to an earlier instruction.
#include "simulated_cuda/executor/program/computed.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gmt::executor {
namespace {

// What a call or a load gives comes from elsewhere, with its state.
bool only_moves(const ptx::Mnemonic& mnemonic) {
  static constexpr std::string_view kOpcodes[] = {
    "mov", "ld",  "ldu", "st",  "selp", "slct", "and",  "or",   "xor", "not", "shl",
    "shr", "bfi", "bfe", "shf", "prmt", "shfl", "cvta", "atom", "red", "call"};
  const std::string_view opcode = mnemonic.opcode;
  if (opcode == "cvt") { // between integers
    return std::none_of(
      mnemonic.modifiers.begin(), mnemonic.modifiers.end(), [](std::string_view word) {
        return ptx::type_named(word) != ptx::Type::kNone && word.find('f') != word.npos;
      });
  }
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

// True if something is new.
bool mark(const ptx::Body& body, const ptx::Operand& operand, std::vector<bool>* computed) {
  if (operand.kind == ptx::OperandKind::kRegister) {
    const bool is_new = !(*computed)[operand.id];
    (*computed)[operand.id] = true;
    return is_new;
  }
  bool is_new = false;
  if (operand.kind == ptx::OperandKind::kVector || operand.kind == ptx::OperandKind::kPair) {
    for (std::uint32_t i = 0; i < operand.count; ++i)
      is_new |= mark(body, body.parts(operand)[i], computed);
  }
  return is_new;
}

} // namespace

bool names_computed(const ptx::Body& body, const ptx::Operand& operand,
                    const std::vector<bool>& computed) {
  if (operand.kind == ptx::OperandKind::kRegister) return computed[operand.id];
  if (operand.kind != ptx::OperandKind::kVector) return false; // an address is not moved
  const ptx::Operand* parts = body.parts(operand);
  return std::any_of(parts, parts + operand.count, [&](const ptx::Operand& part) {
    return names_computed(body, part, computed);
  });
}

std::vector<bool> computed_registers(const ptx::Body& body) {
  std::vector<bool> computed(body.registers.size());
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const ptx::Instruction& instruction : body.instructions) {
      if (instruction.operand_count < 2) continue;
      const ptx::Mnemonic& mnemonic = body.mnemonic(instruction);
      bool is_computed = !only_moves(mnemonic);
      for (std::uint32_t i = 1; i < instruction.operand_count; ++i)
        is_computed |= names_computed(body, body.operand(instruction, i), computed);
      if (is_computed) is_new |= mark(body, body.operand(instruction, 0), &computed);
    }
  }
  return computed;
}

} // namespace gmt::executor
