// SPDX-License-Identifier: Apache-2.0
// Reads and writes of instructions. An address is always read, also where a result would stand.
#include "ptx/flow/accesses.h"

#include <algorithm>
#include <iterator>

namespace gmt::ptx {
namespace {

// Of these the first operand is a source, or there is none. What starts with an address (st, red,
// cp.async, mbarrier.init) needs no row.
constexpr std::string_view kWithoutResult[] = {
  "bra",       "brx",     "ret",        "exit",           "trap",         "brkpt",
  "st",        "red",     "prefetch",   "prefetchu",      "membar",       "fence",
  "nanosleep", "pmevent", "setmaxnreg", "griddepcontrol", "stackrestore", "cp",
};

void add_registers(const Body& body, const Operand& operand, std::vector<std::uint32_t>& out) {
  if (operand.kind == OperandKind::kRegister) {
    out.push_back(operand.id);
    return;
  }
  for (std::uint16_t i = 0; i < operand.count; ++i)
    add_registers(body, body.parts(operand)[i], out);
}

} // namespace

bool has_result(const Mnemonic& mnemonic) {
  const std::string_view opcode = mnemonic.opcode;
  // bar.red and barrier.cta.red have one, bar.sync, barrier.arrive and barrier.cluster have none.
  if (opcode == "bar" || opcode == "barrier") return mnemonic.has("red");
  return std::find(std::begin(kWithoutResult), std::end(kWithoutResult), opcode) ==
         std::end(kWithoutResult);
}

void accesses_of(const Body& body, const Instruction& instruction, Accesses& accesses) {
  accesses.reads.clear();
  accesses.writes.clear();
  if (instruction.guard != kNone) accesses.reads.push_back(instruction.guard);
  const Mnemonic& mnemonic = body.mnemonic(instruction);
  const Operand* operand = body.begin(instruction);
  const Operand* end = operand + instruction.operand_count;
  if (operand == end) return;
  bool writes_first = has_result(mnemonic) && operand->kind != OperandKind::kAddress;
  if (mnemonic.opcode == "call") writes_first = operand->kind == OperandKind::kList;
  if (writes_first) {
    add_registers(body, *operand, accesses.writes);
    // The accumulator is a source and the result.
    if (mnemonic.opcode == "wgmma") add_registers(body, *operand, accesses.reads);
    ++operand;
  }
  for (; operand < end; ++operand) add_registers(body, *operand, accesses.reads);
}

} // namespace gmt::ptx
