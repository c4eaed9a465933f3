// SPDX-License-Identifier: Apache-2.0
// What loads of constant bank 4 leave in registers, see sass.h. Learnt from the calls of
// __assertfail that nvcc 13 compiles for sm_80 to sm_90. A product with RZ (255) is 0, so an IMAD
// with it moves its addend.
#include <algorithm>
#include <array>

#include "analyzer/base/byte_reader.h"
#include "analyzer/device_code/sass.h"
#include "analyzer/device_code/sass_words.h"

namespace gmt {
namespace {

constexpr std::uint64_t kBank = 4;
constexpr std::uint64_t kMostLookedBack = 256; // instructions that are looked at
constexpr std::uint32_t kZeroRegister = AddressOperand::kZero;

using BankOffset = std::optional<std::uint32_t>; // in bank 4, of the word that the register holds

class BankRegisters {
public:
  BankOffset general(std::uint32_t number) const {
    return number < kZeroRegister ? general_[number] : BankOffset();
  }

  void step(const SassWords& w, unsigned architecture) {
    const auto made = decode_arithmetic(w.low, w.high, architecture);
    if (made && is_move(*made)) return move(*made);
    const RegisterEffect effect = register_effect(w.low, w.high, architecture);
    if (effect.is_jump || effect.is_trap) return forget();
    if (effect.writes_uniform) uniform_.fill({});
    for (std::uint32_t i = 0; i < effect.results; ++i) set(effect.result + i, {});
  }

private:
  void forget() {
    general_.fill({});
    uniform_.fill({});
  }
  void set(std::uint32_t number, BankOffset value) {
    if (number < kZeroRegister) general_[number] = value;
  }

  static bool is_move(const SassArithmetic& made) {
    if (made.op == SassArithmetic::Op::kMove) return true;
    return made.op == SassArithmetic::Op::kMultiplyAndAdd && !made.is_wide && !made.is_uniform &&
           made.first.value == kZeroRegister;
  }

  void move(const SassArithmetic& made) {
    for (std::uint32_t i = 0; i < (made.is_wide ? 2u : 1u); ++i) {
      const BankOffset value = value_of(made.third, i);
      if (made.is_uniform) uniform_[(made.result + i) % uniform_.size()] = value;
      else set(made.result + i, value);
    }
  }

  BankOffset value_of(const SassArithmetic::Operand& operand, std::uint32_t word) const {
    using Kind = SassArithmetic::Operand::Kind;
    if (operand.kind == Kind::kGeneral) return general(operand.value);
    if (operand.kind == Kind::kUniform) return uniform_[operand.value % uniform_.size()];
    const bool is_known = operand.kind == Kind::kConstant && operand.bank == kBank;
    return is_known ? BankOffset(operand.value + 4 * word) : BankOffset();
  }

  std::array<BankOffset, 256> general_;
  std::array<BankOffset, 64> uniform_;
};

} // namespace

std::optional<std::uint32_t> constant_in_register(std::span<const char> code, std::uint64_t at,
                                                  std::uint32_t reg, unsigned architecture) {
  constexpr unsigned kFirst = 80, kLast = 90;
  if (architecture < kFirst || architecture > kLast || at > code.size()) return std::nullopt;
  BankRegisters registers;
  const std::uint64_t most = kMostLookedBack * kInstructionBytes;
  SassWords words;
  for (std::uint64_t i = at - std::min(at / kInstructionBytes * kInstructionBytes, most); i < at;
       i += kInstructionBytes) {
    if (!read_at(code, i, words)) return std::nullopt;
    registers.step(words, architecture);
  }
  return registers.general(reg);
}

} // namespace gmt
