// SPDX-License-Identifier: Apache-2.0
// Numbers of bits only fall from kAll, so going over all instructions until nothing changes ends.
#include "ptx/flow/zero_bits.h"

#include <algorithm>
#include <bit>

#include "ptx/flow/accesses.h"

namespace gmt::ptx {
namespace {

constexpr int kMostRoundsOfBits = 64;
constexpr unsigned kAll = 64; // it is 0, or nothing writes it

class ZeroBits {
public:
  ZeroBits(const Module& module, const Body& body)
      : module_(module), body_(body), bits_(body.registers.size(), kAll) {}

  std::vector<std::uint8_t> run() {
    for (const auto* registers : {&body_.parameter_registers, &body_.return_registers}) {
      for (const std::uint32_t id : *registers) {
        if (id != kNone) bits_[id] = 0;
      }
    }
    for (int round = 0; round < kMostRoundsOfBits; ++round) {
      has_changed_ = false;
      for (const Instruction& instruction : body_.instructions) apply(instruction);
      if (!has_changed_) return std::move(bits_);
    }
    return std::vector<std::uint8_t>(bits_.size());
  }

private:
  void apply(const Instruction& instruction) {
    accesses_of(body_, instruction, accesses_);
    if (accesses_.writes.empty()) return;
    const bool is_simple = body_.operand(instruction, 0).kind == OperandKind::kRegister;
    const auto result = static_cast<std::uint8_t>(is_simple ? bits_of_result(instruction) : 0);
    for (const std::uint32_t id : accesses_.writes) {
      if (result >= bits_[id]) continue;
      bits_[id] = result;
      has_changed_ = true;
    }
  }

  unsigned of(const Operand& operand) const {
    switch (operand.kind) {
    case OperandKind::kRegister: return bits_[operand.id];
    case OperandKind::kImmediate:
      return operand.number == Number::kInteger
               ? static_cast<unsigned>(std::countr_zero(operand.bits))
               : 0;
    case OperandKind::kVariable: return of_address(module_.variables()[operand.id], operand);
    case OperandKind::kLocal: return of_address(body_.variables[operand.id], operand);
    default: return 0;
    }
  }
  static unsigned of_address(const Variable& variable, const Operand& operand) {
    const auto offset = static_cast<std::uint64_t>(operand.offset);
    return static_cast<unsigned>(std::countr_zero(offset | std::max(1u, variable.alignment)));
  }
  unsigned source(const Instruction& instruction, std::size_t index) const {
    return index < instruction.operand_count ? of(body_.operand(instruction, index)) : 0;
  }

  // Of integers; what is rounded, saturated or taken from the upper half has none.
  unsigned bits_of_result(const Instruction& instruction) const {
    const Mnemonic& mnemonic = body_.mnemonic(instruction);
    const std::string_view opcode = mnemonic.opcode;
    const auto is_other = [](std::string_view word) {
      return word == "sat" || word == "hi" || word.starts_with('f') || word.starts_with("bf");
    };
    if (std::ranges::any_of(mnemonic.modifiers, is_other)) return 0;
    const unsigned a = source(instruction, 1), b = source(instruction, 2);
    if (opcode == "mov" || opcode == "cvt" || opcode == "cvta") return a;
    if (opcode == "add" || opcode == "sub" || opcode == "or" || opcode == "xor")
      return std::min(a, b);
    if (opcode == "and") return std::max(a, b);
    if (opcode == "mul") return std::min(kAll, a + b);
    if (opcode == "mad") return std::min(a + b, source(instruction, 3));
    if (opcode == "selp" || opcode == "min" || opcode == "max") return std::min(a, b);
    if (opcode == "shl") {
      const Operand& by = body_.operand(instruction, 2);
      const bool is_number = by.kind == OperandKind::kImmediate && by.bits < kAll;
      return is_number ? std::min(kAll, a + static_cast<unsigned>(by.bits)) : a;
    }
    return 0;
  }

  const Module& module_;
  const Body& body_;
  std::vector<std::uint8_t> bits_;
  Accesses accesses_;
  bool has_changed_ = false;
};

} // namespace

std::vector<std::uint8_t> zero_bits_of(const Module& module, const Body& body) {
  return ZeroBits(module, body).run();
}

} // namespace gmt::ptx
