// SPDX-License-Identifier: Apache-2.0
// A register is compared alone if all that read it are comparisons, or make of it others that are.
#include "ptx/flow/flag_uses.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "ptx/flow/accesses.h"

namespace gmt::ptx {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool moves_constant(const Body& body, const Instruction& instruction) {
  return body.mnemonic(instruction).opcode == "mov" && instruction.guard == kNone &&
         body.operand(instruction, 1).kind == OperandKind::kImmediate;
}

// For each instruction that stores a register: where that one got a constant, which all ways to
// here have passed; kNone: it may hold something else.
std::vector<std::uint32_t> stored_constants(const Body& body) {
  std::vector<std::uint32_t> of(body.instructions.size(), kNone);
  std::vector<std::uint32_t> from(body.registers.size(), kNone), writes(body.registers.size());
  std::vector<bool> is_target(body.instructions.size() + 1);
  for (const Label& label : body.labels) {
    if (label.instruction != kNone) is_target[label.instruction] = true;
  }
  Accesses accesses;
  for (const Instruction& instruction : body.instructions) {
    accesses_of(body, instruction, accesses);
    for (const std::uint32_t id : accesses.writes) ++writes[id];
  }
  std::uint32_t start = 0; // of the code without a label
  for (std::uint32_t i = 0; i < body.instructions.size(); ++i) {
    const Instruction& instruction = body.instructions[i];
    if (is_target[i]) start = i;
    if (body.mnemonic(instruction).opcode == "st") {
      const Operand& value = body.operand(instruction, 1);
      const bool is_known = value.kind == OperandKind::kRegister && from[value.id] != kNone &&
                            (from[value.id] >= start || writes[value.id] == 1);
      if (is_known) of[i] = from[value.id];
    }
    accesses_of(body, instruction, accesses);
    for (const std::uint32_t id : accesses.writes)
      from[id] = moves_constant(body, instruction) ? i : kNone;
  }
  return of;
}

// Of each register
struct RegisterUses {
  std::vector<bool> is_compared; // and nothing else
  std::vector<bool> is_read;
};

// `constants`: stored_constants().
RegisterUses register_uses(const Body& body, const std::vector<std::uint32_t>& constants) {
  std::vector<bool> alone(body.registers.size(), true), is_read(body.registers.size());
  Accesses accesses;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < body.instructions.size(); ++i) {
      const Instruction& instruction = body.instructions[i];
      const std::string_view opcode = body.mnemonic(instruction).opcode;
      accesses_of(body, instruction, accesses);
      if (constants[i] != kNone) std::erase(accesses.reads, body.operand(instruction, 1).id);
      for (const std::uint32_t id : accesses.reads) is_read[id] = true;
      const bool passes = is_one_of(opcode, {"cvt", "mov", "and", "or", "not"}) &&
                          std::ranges::all_of(accesses.writes, [&](auto id) { return alone[id]; });
      if (passes || opcode == "setp") continue;
      for (const std::uint32_t id : accesses.reads) {
        if (!alone[id] || body.registers[id].type == Type::kPred) continue;
        alone[id] = false;
        changed = true;
      }
    }
  }
  for (std::size_t id = 0; id < alone.size(); ++id) alone[id] = alone[id] && is_read[id];
  return {std::move(alone), std::move(is_read)};
}

// Registers from which operands of atomics are computed, their addresses left out.
std::vector<bool> used_by_atomics(const Body& body) {
  std::vector<bool> used(body.registers.size());
  Accesses accesses;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = body.instructions.size(); i-- != 0;) {
      const Instruction& instruction = body.instructions[i];
      const std::string_view opcode = body.mnemonic(instruction).opcode;
      if (is_one_of(opcode, {"ld", "st", "call"})) continue;
      accesses_of(body, instruction, accesses);
      const bool is_atomic = is_one_of(opcode, {"atom", "red"});
      if (!is_atomic && std::ranges::none_of(accesses.writes, [&](auto id) { return used[id]; }))
        continue;
      for (std::uint32_t k = 0; k < instruction.operand_count && is_atomic; ++k) {
        const Operand& operand = body.operand(instruction, k);
        if (operand.kind == OperandKind::kAddress)
          std::erase(accesses.reads, body.parts(operand)->id);
      }
      for (const std::uint32_t id : accesses.reads) {
        if (used[id] || body.registers[id].type == Type::kPred) continue;
        used[id] = true;
        changed = true;
      }
    }
  }
  return used;
}

// Whether one waits or asks so: numbers with a fraction are ordered where they are data.
bool asks(const Mnemonic& comparison) {
  const bool is_float = std::ranges::any_of(
    comparison.modifiers, [](auto m) { return is_one_of(m, {"f16", "bf16", "f32", "f64"}); });
  return !is_float || std::ranges::any_of(comparison.modifiers, [](auto m) {
    return is_one_of(m, {"eq", "ne", "equ", "neu", "nan", "num"});
  });
}

// Whether what it reads may be compared elsewhere: where values are returned, or kept in local
// memory in code for a debugger.
bool hands_on(const Mnemonic& mnemonic) {
  return mnemonic.opcode == "call" ||
         (mnemonic.opcode == "st" && (mnemonic.has("param") || mnemonic.has("local")));
}

// Registers that comparisons read, or may read, or of which they read some bits or a sum.
std::vector<bool> compared_registers(const Body& body) {
  std::vector<bool> compared(body.registers.size());
  Accesses accesses;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = body.instructions.size(); i-- != 0;) {
      const Instruction& instruction = body.instructions[i];
      const Mnemonic& mnemonic = body.mnemonic(instruction);
      accesses_of(body, instruction, accesses);
      const bool passes =
        is_one_of(mnemonic.opcode, {"cvt", "mov", "and", "or", "xor", "not", "shr", "shl", "add",
                                    "sub", "bfe", "prmt", "selp", "shfl"}) &&
        std::ranges::any_of(accesses.writes, [&](auto id) { return bool{compared[id]}; });
      const bool is_asked = mnemonic.opcode == "setp" && asks(mnemonic);
      if (!passes && !is_asked && !hands_on(mnemonic)) continue;
      for (const std::uint32_t id : accesses.reads) {
        if (compared[id] || body.registers[id].type == Type::kPred) continue;
        compared[id] = true;
        changed = true;
      }
    }
  }
  return compared;
}

using Address = std::tuple<OperandKind, std::uint32_t, std::int64_t>;

// Two accesses with equal ones mean the same memory in one thread, where it writes registers once.
bool address_of(const Body& body, const Operand& operand, Address* address) {
  if (operand.kind != OperandKind::kAddress || operand.count != 1) return false;
  const Operand& base = *body.parts(operand);
  *address = {base.kind, base.id, base.offset};
  return true;
}

} // namespace

FlagUses flag_uses_of(const Body& body) {
  const std::vector<std::uint32_t> constants = stored_constants(body);
  const RegisterUses registers = register_uses(body, constants);
  const std::vector<bool>& alone = registers.is_compared;
  const std::vector<bool> in_atomics = used_by_atomics(body);
  const std::vector<bool> compared = compared_registers(body);
  FlagUses uses;
  uses.is_test.resize(body.instructions.size());
  uses.is_raise.resize(body.instructions.size());
  uses.is_constant.resize(body.instructions.size());
  uses.is_poll.resize(body.instructions.size());
  uses.is_looked_at.resize(body.instructions.size());
  std::set<Address> tested;
  Accesses accesses;
  for (std::size_t i = 0; i < body.instructions.size(); ++i) {
    const Instruction& instruction = body.instructions[i];
    const std::string_view opcode = body.mnemonic(instruction).opcode;
    Address address;
    if (opcode == "ld" && address_of(body, body.operand(instruction, 1), &address)) {
      accesses_of(body, instruction, accesses);
      uses.is_test[i] = std::ranges::all_of(accesses.writes, [&](auto id) { return alone[id]; });
      if (uses.is_test[i]) tested.insert(address);
      uses.is_poll[i] = std::ranges::all_of(accesses.writes, [&](auto id) {
        return alone[id] || in_atomics[id] || !registers.is_read[id];
      });
      uses.is_looked_at[i] = uses.is_poll[i] || std::ranges::any_of(accesses.writes, [&](auto id) {
                               return bool{compared[id]};
                             });
    } else if (opcode == "st" && address_of(body, body.operand(instruction, 0), &address)) {
      const Operand& value =
        body.operand(constants[i] != kNone ? body.instructions[constants[i]] : instruction, 1);
      uses.is_constant[i] = value.kind == OperandKind::kImmediate;
      uses.is_raise[i] = uses.is_constant[i] ? value.bits != 0 : tested.contains(address);
    }
  }
  return uses;
}

} // namespace gmt::ptx
