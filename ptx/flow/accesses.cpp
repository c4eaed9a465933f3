// SPDX-License-Identifier: Apache-2.0
// Reads and writes of instructions. An address is always read, also where a result would stand.
#include "ptx/flow/accesses.h"

namespace gmt::ptx {
namespace {

void add_registers(const Body& body, const Operand& operand, std::vector<std::uint32_t>& out) {
  if (operand.kind == OperandKind::kRegister) {
    out.push_back(operand.id);
    return;
  }
  for (std::uint16_t i = 0; i < operand.count; ++i)
    add_registers(body, body.parts(operand)[i], out);
}

} // namespace

void accesses_of(const Body& body, const Instruction& instruction, Accesses& accesses) {
  accesses.reads.clear();
  accesses.writes.clear();
  if (instruction.guard != kNone) accesses.reads.push_back(instruction.guard);
  match_operands(body, instruction, accesses.operands);
  for (std::size_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = body.operand(instruction, i);
    const OperandPattern& pattern = *accesses.operands[i];
    if (pattern.writes) add_registers(body, operand, accesses.writes);
    if (pattern.reads) add_registers(body, operand, accesses.reads);
  }
}

} // namespace gmt::ptx
