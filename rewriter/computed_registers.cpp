// SPDX-License-Identifier: Apache-2.0
// Forwards through the instructions until nothing changes, in whatever order they are executed.
#include "rewriter/computed_registers.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace gmt::rewriter {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

std::vector<bool> computed_registers(const ptx::Body& body) {
  static constexpr std::string_view kMoving[] = {
    "mov", "ld",   "ldu",  "st",  "selp", "slct", "or",   "bfi", "bfe",
    "shf", "prmt", "shfl", "cvt", "and",  "xor",  "not",  "shl", "shr",
    "red", "bra",  "ret",  "bar", "exit", "atom", "call", "cvta"};
  std::vector<bool> computed(body.registers.size());
  const auto is_computed = [&](const Operand& operand) {
    if (operand.kind == OperandKind::kRegister) return static_cast<bool>(computed[operand.id]);
    if (operand.kind != OperandKind::kVector) return false;
    const Operand* parts = body.parts(operand);
    return std::any_of(parts, parts + operand.count, [&](const Operand& part) {
      return part.kind == OperandKind::kRegister && computed[part.id];
    });
  };
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const Instruction& instruction : body.instructions) {
      if (instruction.operand_count < 2) continue;
      bool computes =
        std::ranges::find(kMoving, body.mnemonic(instruction).opcode) == std::end(kMoving);
      for (std::uint32_t i = 1; i < instruction.operand_count && !computes; ++i)
        computes = is_computed(body.operand(instruction, i));
      const Operand& result = body.operand(instruction, 0);
      if (!computes || result.kind != OperandKind::kRegister || computed[result.id]) continue;
      computed[result.id] = is_new = true;
    }
  }
  return computed;
}

} // namespace gmt::rewriter
