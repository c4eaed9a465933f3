// SPDX-License-Identifier: Apache-2.0
// Instructions that compute integers, see sass.h. Learnt from what nvcc 13 compiles for sm_90, with
// nvdisasm 13.5; moves and loads are the same from sm_80 on. LDC and ULDC have an offset in bytes
// in bits 38 to 53, others in words in bits 40 to 53; all have the bank in bits 54 to 58. Bits 9 to
// 11 say what stands in bits 32 to 63 and whether it is the second or the third operand; the other
// one is the register in bits 64 to 71.
#include "analyzer/device_code/sass.h"
#include "analyzer/device_code/sass_words.h"

namespace gmt {
namespace {

constexpr unsigned kFirstKnown = 80, kLastKnown = 90;
struct IntegerOpcode { // without the form of the operands
  static constexpr std::uint32_t kMov = 0x002, kIadd3 = 0x010, kLea = 0x011, kImad = 0x024,
                                 kImadWide = 0x025, kUldc = 0x0b9, kS2r = 0x119, kBra = 0x147,
                                 kLdc = 0x182, kS2ur = 0x1c3;
  static constexpr std::uint32_t kUniform = 0x080; // UMOV, UIADD3, ...
};

using Operand = SassArithmetic::Operand;
constexpr std::uint32_t kZeroUniform = SassArithmetic::kZeroUniform;

Operand general(std::uint32_t number) { return {Operand::Kind::kGeneral, number}; }
Operand constant(std::uint32_t bank, std::uint32_t offset) {
  return {Operand::Kind::kConstant, offset, bank};
}

enum class Form : std::uint8_t {
  kRegisters = 1,
  kThirdImmediate = 2,
  kThirdConstant = 3,
  kImmediate = 4,
  kConstant = 5,
  kUniform = 6,
  kThirdUniform = 7,
};

// What stands in bits 32 to 63.
std::optional<Operand> middle(const SassWords& w, Form form) {
  switch (form) {
  case Form::kRegisters: return general(w.field(32, 8));
  case Form::kImmediate:
  case Form::kThirdImmediate: return Operand{Operand::Kind::kImmediate, w.field(32, 32)};
  case Form::kConstant:
  case Form::kThirdConstant: return constant(w.field(54, 5), w.field(40, 14) * 4);
  case Form::kUniform:
  case Form::kThirdUniform: return Operand{Operand::Kind::kUniform, w.field(32, 6)};
  }
  return std::nullopt;
}

bool is_third(Form form) {
  return form == Form::kThirdImmediate || form == Form::kThirdConstant ||
         form == Form::kThirdUniform;
}

constexpr unsigned kCarry = 74, kUpper = 80; // bits

// Without a sign, the one's complement or the sign's extension of an operand.
bool is_plain(const SassWords& w, std::uint32_t kind, Form form) {
  constexpr unsigned kFirstNegated = 72, kThirdNegated = 75;
  if (kind == IntegerOpcode::kMov) return true;
  if (w.bit(kFirstNegated)) return false;
  const bool is_sum = kind == IntegerOpcode::kIadd3 || kind == IntegerOpcode::kLea;
  if (!is_sum && w.bit(kCarry)) return false;
  const bool is_number = form == Form::kImmediate || form == Form::kThirdImmediate;
  if (is_sum && ((!is_number && w.bit(63)) || w.bit(73))) return false;
  return kind == IntegerOpcode::kLea || !w.bit(kThirdNegated);
}

// False where more than one carry goes in or out.
bool add_carries(const SassWords& w, std::uint32_t kind, SassArithmetic& sum) {
  constexpr std::uint32_t kNone = SassArithmetic::kNone;
  sum.carry_out = w.field(81, 3);
  if (kind == IntegerOpcode::kIadd3 && w.field(84, 3) != kNone) return false;
  if (!w.bit(kCarry)) return true;
  sum.carry_in = w.field(87, 3);
  const bool is_negated = w.bit(90);
  const bool has_second = kind == IntegerOpcode::kIadd3 && (w.field(77, 3) != kNone || !w.bit(80));
  return !is_negated && !has_second && sum.carry_in != kNone;
}

std::optional<SassArithmetic> load(const SassWords& w, bool is_uniform) {
  constexpr std::uint32_t kWord = 4, kTwoWords = 5;
  const std::uint32_t size = w.field(73, 3);
  if (size != kWord && size != kTwoWords) return std::nullopt;
  if (!is_uniform && w.field(24, 8) != AddressOperand::kZero) return std::nullopt; // indexed
  SassArithmetic load;
  load.is_uniform = is_uniform;
  load.is_wide = size == kTwoWords;
  load.result = w.field(16, is_uniform ? 6 : 8);
  load.third = constant(w.field(54, 5), w.field(38, 16));
  return load;
}

SassArithmetic special(const SassWords& w, bool is_uniform) {
  SassArithmetic move;
  move.is_uniform = is_uniform;
  move.result = w.field(16, is_uniform ? 6 : 8);
  move.third = {Operand::Kind::kSpecial, w.field(72, 8)};
  return move;
}

} // namespace

std::optional<SassArithmetic> decode_arithmetic(std::uint64_t low, std::uint64_t high,
                                                unsigned architecture) {
  const SassWords w{low, high};
  constexpr std::uint32_t kAlways = 7; // the predicate PT
  if (architecture < kFirstKnown || architecture > kLastKnown || w.field(12, 4) != kAlways)
    return std::nullopt;
  std::uint32_t kind = w.kind();
  const auto form = static_cast<Form>(w.field(9, 3));
  if (kind == IntegerOpcode::kLdc || kind == IntegerOpcode::kUldc)
    return load(w, kind == IntegerOpcode::kUldc);
  if (kind == IntegerOpcode::kS2r || kind == IntegerOpcode::kS2ur)
    return special(w, kind == IntegerOpcode::kS2ur);
  const bool is_uniform = (kind & IntegerOpcode::kUniform) != 0;
  kind &= ~IntegerOpcode::kUniform;
  if (kind != IntegerOpcode::kMov && kind != IntegerOpcode::kIadd3 && kind != IntegerOpcode::kLea &&
      kind != IntegerOpcode::kImad && kind != IntegerOpcode::kImadWide)
    return std::nullopt;
  auto in_middle = middle(w, form);
  if (!in_middle || !is_plain(w, kind, form)) return std::nullopt;
  const auto reg = [is_uniform](std::uint32_t number) {
    return Operand{is_uniform ? Operand::Kind::kUniform : Operand::Kind::kGeneral,
                   is_uniform ? number & kZeroUniform : number};
  };
  if (in_middle->kind == Operand::Kind::kGeneral) in_middle = reg(in_middle->value);
  const Operand other = reg(w.field(64, 8));
  SassArithmetic result;
  result.is_uniform = is_uniform;
  result.result = reg(w.field(16, 8)).value;
  result.first = reg(w.field(24, 8));
  result.second = is_third(form) ? other : *in_middle;
  result.third = is_third(form) ? *in_middle : other;
  switch (kind) {
  case IntegerOpcode::kMov:
    if (is_third(form)) return std::nullopt;
    result.first = {};
    result.third = *in_middle;
    break;
  case IntegerOpcode::kIadd3:
    result.op = SassArithmetic::Op::kAdd;
    if (!add_carries(w, kind, result)) return std::nullopt;
    break;
  case IntegerOpcode::kLea:
    if (is_third(form) || !add_carries(w, kind, result)) return std::nullopt;
    result.op =
      w.bit(kUpper) ? SassArithmetic::Op::kShiftAndAddUpper : SassArithmetic::Op::kShiftAndAdd;
    result.shift = w.field(75, 5);
    break;
  default:
    result.op = SassArithmetic::Op::kMultiplyAndAdd;
    result.is_wide = kind == IntegerOpcode::kImadWide;
    result.is_signed = w.bit(73);
    break;
  }
  return result;
}

std::optional<std::int64_t> branch_distance(std::uint64_t low, std::uint64_t high,
                                            unsigned architecture) {
  const SassWords w{low, high};
  if (architecture != kLastKnown || w.kind() != IntegerOpcode::kBra) return std::nullopt;
  const std::int64_t upper = static_cast<std::int64_t>(low) >> 34;
  return upper * 1024 + std::int64_t{w.field(16, 8)} * 4 +
         static_cast<std::int64_t>(kInstructionBytes);
}

} // namespace gmt
