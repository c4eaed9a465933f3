// SPDX-License-Identifier: Apache-2.0
// The uses of pointers: addresses by origins.h, and which registers hold more than positions.
#include "ptx/flow/pointer_uses.h"

#include <algorithm>

#include "ptx/flow/accesses.h"
#include "ptx/flow/origins.h"

namespace gmt::ptx {
namespace {

constexpr std::uint32_t kPointerBytes = 8;
// Compilers' code needs a few. Code that is written backwards could need one for each instruction.
constexpr int kMostRounds = 64;

bool reads_parameters(const Body& body, const Instruction& instruction) {
  if (instruction.operand_count != 2 || body.mnemonic(instruction).opcode != "ld") return false;
  const Operand& address = body.operand(instruction, 1);
  return address.kind == OperandKind::kAddress && address.count == 1 &&
         body.parts(address)->kind == OperandKind::kParameter;
}

// By its words: visible to others in an order (PTX manual, memory consistency model).
bool is_strong(const Mnemonic& mnemonic) {
  for (const std::string_view word : {"volatile", "relaxed", "acquire", "release", "mmio"}) {
    if (mnemonic.has(word)) return true;
  }
  return false;
}

bool is_of_shared_memory(const Mnemonic& mnemonic) { return space_of(mnemonic) == Space::kShared; }

// Printing and failing signal nothing while the kernel runs.
bool is_harmless(const Module& module, const Body& body, const Instruction& call) {
  const Operand* target = call_of(body, call).target;
  if (target == nullptr || target->kind != OperandKind::kFunction) return false;
  const std::string_view name = module.functions()[target->id].name;
  return name == "vprintf" || name == "__assertfail";
}

bool may_synchronize(const Module& module, const Body& body) {
  for (const Instruction& instruction : body.instructions) {
    const Mnemonic& mnemonic = body.mnemonic(instruction);
    const std::string_view opcode = mnemonic.opcode;
    if (opcode == "call" && !is_harmless(module, body, instruction)) return true;
    if (opcode == "membar" && !mnemonic.has("cta")) return true;
    if (opcode == "fence" && !mnemonic.has("cta")) return true;
    const bool is_atomic = opcode == "atom" || opcode == "red";
    if ((is_atomic || is_strong(mnemonic)) && !is_of_shared_memory(mnemonic)) return true;
  }
  return false;
}

// Registers whose values depend on something else than pointers, constants and the thread's place:
// on other parameters, on memory, on what calls return. A guard decides whether, not what.
class Variability {
public:
  Variability(const Function& kernel, const Body& body, const std::vector<Origin>& origins)
      : kernel_(kernel), body_(body), origins_(origins), varies_(body.registers.size()) {
    for (int pass = 0; pass < kMostRounds; ++pass) {
      bool changed = false;
      for (const Instruction& instruction : body.instructions) changed |= apply(instruction);
      if (!changed) return;
    }
    varies_.assign(varies_.size(), true);
  }

  bool of(std::uint32_t id) const { return varies_[id]; }

private:
  bool apply(const Instruction& instruction) {
    accesses_of(body_, instruction, accesses_);
    bool changed = false;
    for (const std::uint32_t id : accesses_.writes) {
      if (varies_[id] || !makes_vary(instruction, id)) continue;
      varies_[id] = changed = true;
    }
    return changed;
  }

  bool makes_vary(const Instruction& instruction, std::uint32_t result) const {
    if (reads_parameters(body_, instruction)) return !is_pointer(result);
    const std::string_view opcode = body_.mnemonic(instruction).opcode;
    for (const std::string_view other : {"ld", "ldu", "atom", "call", "tex", "tld4", "suld"}) {
      if (opcode == other) return true;
    }
    // A pointer that became a number was none: a size or an offset of 64 bits.
    const bool stays_pointer = origins_[result].kind == OriginKind::kParameter;
    return std::ranges::any_of(accesses_.reads, [&](std::uint32_t id) {
      const bool loses_pointer = origins_[id].kind == OriginKind::kParameter && !stays_pointer;
      return id != instruction.guard && (varies_[id] || loses_pointer);
    });
  }

  bool is_pointer(std::uint32_t id) const {
    const Origin& origin = origins_[id];
    return origin.kind == OriginKind::kParameter && origin.offset == 0 &&
           kernel_.parameters[origin.parameter].size == kPointerBytes;
  }

  const Function& kernel_;
  const Body& body_;
  const std::vector<Origin>& origins_;
  Accesses accesses_;
  std::vector<bool> varies_; // by register
};

} // namespace

std::vector<PointerUse> pointer_uses_of(const Module& module, const Function& kernel,
                                        const Body& body) {
  std::vector<PointerUse> found(kernel.parameters.size());
  if (!kernel.is_entry || may_synchronize(module, body)) return found;
  const std::vector<Origin> origins = origins_of(kernel, body);
  const Variability varies(kernel, body, origins);
  std::vector<bool> varies_anywhere(found.size());
  std::vector<OperandUse> uses;
  for (const Instruction& instruction : body.instructions) {
    if (!uses_of(body, instruction, uses)) continue;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const OperandUse& use = uses[i];
      const bool is_accessed =
        use.memory != MemoryUse::kNoAddress && use.memory != MemoryUse::kNotAccessed;
      if (!is_accessed || (use.space != Space::kNone && use.space != Space::kGlobal)) continue;
      const Operand& address = body.operand(instruction, i);
      if (address.kind != OperandKind::kAddress || address.count != 1) continue;
      const Operand& base = *body.parts(address);
      if (base.kind != OperandKind::kRegister) continue;
      const Origin& origin = origins[base.id];
      if (origin.kind != OriginKind::kParameter || origin.offset != 0 ||
          kernel.parameters[origin.parameter].size != kPointerBytes)
        continue;
      PointerUse& pointer = found[origin.parameter];
      pointer.is_read |= use.memory != MemoryUse::kWritten;
      pointer.is_written |= use.memory != MemoryUse::kRead;
      varies_anywhere[origin.parameter] = varies_anywhere[origin.parameter] || varies.of(base.id);
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i].is_by_position = (found[i].is_read || found[i].is_written) && !varies_anywhere[i];
  return found;
}

} // namespace gmt::ptx
