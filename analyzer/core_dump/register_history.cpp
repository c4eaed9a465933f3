// SPDX-License-Identifier: Apache-2.0
#include "analyzer/core_dump/register_history.h"

#include <algorithm>

#include "analyzer/base/byte_reader.h"

namespace gmt {
namespace {

constexpr unsigned kDeepest = 8;           // instructions that a value is made by, one of another
constexpr std::int64_t kMostBefore = 4096; // bytes of code before an instruction
constexpr std::uint64_t kMostLookedAt = 10'000;
constexpr auto kStep = static_cast<std::int64_t>(kInstructionBytes);

bool covers(std::uint32_t first, std::uint32_t count, std::uint32_t number) {
  return number >= first && number - first < count;
}

} // namespace

std::optional<std::uint32_t> RegisterHistory::general(std::uint32_t number, std::int64_t at,
                                                      unsigned depth) {
  if (number == AddressOperand::kZero) return 0;
  const auto writes = [&](std::int64_t i, RegisterEffect& effect) {
    const DumpCode::Words w = look_at(i);
    effect = register_effect(w.low, w.high, code_.architecture);
    return covers(effect.result, effect.results, number);
  };
  RegisterEffect effect;
  bool is_kept = true;
  for (std::int64_t i = at; i < ahead_ && is_kept; i += kStep) is_kept = !writes(i, effect);
  if (is_kept) {
    if (number >= registers_.tables.word_count(registers_.general)) return std::nullopt;
    return registers_.tables.word(registers_.general, number);
  }
  if (depth == kDeepest || looked_at_ > kMostLookedAt) return std::nullopt;
  for (std::int64_t i = at - kStep; i >= -kMostBefore && !may_come_from_elsewhere(i + kStep);
       i -= kStep) {
    const bool is_written = writes(i, effect);
    if (effect.is_jump || effect.is_trap) return std::nullopt;
    if (!is_written) continue;
    const DumpCode::Words w = look_at(i);
    const auto made = decode_arithmetic(w.low, w.high, code_.architecture);
    if (!made || made->is_uniform || !covers(made->result, made->is_wide ? 2 : 1, number))
      return std::nullopt;
    return result_of(*made, number != made->result, i, depth + 1);
  }
  return std::nullopt;
}

// Which uniform registers an instruction writes is known of integer code alone.
std::optional<std::uint32_t> RegisterHistory::uniform(std::uint32_t number, std::int64_t at,
                                                      unsigned depth) {
  if (number == SassArithmetic::kZeroUniform) return 0;
  enum class Writes : std::uint8_t { kNo, kYes, kMaybe, kElsewhere };
  std::optional<SassArithmetic> made;
  const auto writes = [&](std::int64_t i) {
    const DumpCode::Words w = look_at(i);
    const RegisterEffect effect = register_effect(w.low, w.high, code_.architecture);
    if (effect.is_jump || effect.is_trap) return Writes::kElsewhere;
    if (!effect.writes_uniform) return Writes::kNo;
    made = decode_arithmetic(w.low, w.high, code_.architecture);
    if (!made || !made->is_uniform) return Writes::kMaybe;
    return covers(made->result, made->is_wide ? 2 : 1, number) ? Writes::kYes : Writes::kNo;
  };
  bool is_kept = true;
  for (std::int64_t i = at; i < ahead_ && is_kept; i += kStep) is_kept = writes(i) == Writes::kNo;
  if (is_kept) {
    if (number >= registers_.tables.word_count(registers_.uniform)) return std::nullopt;
    return registers_.tables.word(registers_.uniform, number);
  }
  if (depth == kDeepest || looked_at_ > kMostLookedAt) return std::nullopt;
  for (std::int64_t i = at - kStep; i >= -kMostBefore && !may_come_from_elsewhere(i + kStep);
       i -= kStep) {
    const Writes found = writes(i);
    if (found == Writes::kNo) continue;
    if (found != Writes::kYes) return std::nullopt;
    return result_of(*made, number != made->result, i, depth + 1);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> RegisterHistory::value_of(const SassArithmetic::Operand& operand,
                                                       std::int64_t at, unsigned depth) {
  using Kind = SassArithmetic::Operand::Kind;
  switch (operand.kind) {
  case Kind::kImmediate: return operand.value;
  case Kind::kGeneral: return general(operand.value, at, depth);
  case Kind::kUniform: return uniform(operand.value, at, depth);
  case Kind::kConstant: return operand.bank == 0 ? constant(operand.value) : std::nullopt;
  case Kind::kSpecial: return special(operand.value);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> RegisterHistory::result_of(const SassArithmetic& made, bool is_upper,
                                                        std::int64_t at, unsigned depth) {
  if (made.op == SassArithmetic::Op::kMove) {
    SassArithmetic::Operand source = made.third;
    if (is_upper) source.value += 4; // in constant memory
    return value_of(source, at, depth);
  }
  if (is_upper) return upper_product(made, at, depth);
  const auto sum = long_sum(made, at, depth);
  if (!sum) return std::nullopt;
  if (made.carry_in == SassArithmetic::kNone) return static_cast<std::uint32_t>(*sum);
  const Value added = carry(made, at, depth);
  return added ? Value(static_cast<std::uint32_t>(*sum + *added)) : std::nullopt;
}

// Without the carry that goes in. Of a product the lower half alone means something.
std::optional<std::uint64_t> RegisterHistory::long_sum(const SassArithmetic& made, std::int64_t at,
                                                       unsigned depth) {
  using Op = SassArithmetic::Op;
  const Value first = value_of(made.first, at, depth), second = value_of(made.second, at, depth);
  if (!first || !second) return std::nullopt;
  if (made.op == Op::kShiftAndAdd) return std::uint64_t{*first << made.shift} + *second;
  const Value third = value_of(made.third, at, depth);
  if (!third) return std::nullopt;
  if (made.op == Op::kAdd) return std::uint64_t{*first} + *second + *third;
  if (made.op == Op::kShiftAndAddUpper) {
    const std::uint64_t shifted = (std::uint64_t{*third} << 32 | *first) << made.shift;
    return (shifted >> 32) + *second;
  }
  return std::uint64_t{*first} * *second + *third;
}

// Of the sum that set the predicate which this one adds.
std::optional<std::uint32_t> RegisterHistory::carry(const SassArithmetic& upper, std::int64_t at,
                                                    unsigned depth) {
  for (std::int64_t i = at - kStep; i >= -kMostBefore && !may_come_from_elsewhere(i + kStep);
       i -= kStep) {
    const DumpCode::Words w = look_at(i);
    const auto made = decode_arithmetic(w.low, w.high, code_.architecture);
    // Other instructions may write any predicate.
    if (!made && !address_operand(w.low, w.high, code_.architecture)) return std::nullopt;
    if (!made || made->carry_out != upper.carry_in || made->is_uniform != upper.is_uniform)
      continue;
    if (made->carry_in != SassArithmetic::kNone) return std::nullopt;
    const auto sum = long_sum(*made, i, depth);
    if (!sum || *sum >> 32 > 1) return std::nullopt;
    return static_cast<std::uint32_t>(*sum >> 32);
  }
  return std::nullopt;
}

// Of a product of 64 bits, to which one is added.
std::optional<std::uint32_t> RegisterHistory::upper_product(const SassArithmetic& made,
                                                            std::int64_t at, unsigned depth) {
  using Kind = SassArithmetic::Operand::Kind;
  SassArithmetic::Operand upper = made.third;
  if (upper.kind == Kind::kImmediate) return std::nullopt;
  const bool is_zero =
    (upper.kind == Kind::kGeneral && upper.value == AddressOperand::kZero) ||
    (upper.kind == Kind::kUniform && upper.value == SassArithmetic::kZeroUniform);
  if (!is_zero) upper.value += upper.kind == Kind::kConstant ? 4 : 1;
  const Value first = value_of(made.first, at, depth), second = value_of(made.second, at, depth);
  const Value low = value_of(made.third, at, depth), high = value_of(upper, at, depth);
  if (!first || !second || !low || !high) return std::nullopt;
  const std::uint64_t added = std::uint64_t{*high} << 32 | *low;
  const auto extend = [&](std::uint32_t value) {
    return made.is_signed
             ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)})
             : std::uint64_t{value};
  };
  return static_cast<std::uint32_t>((extend(*first) * extend(*second) + added) >> 32);
}

// Constant bank 0 begins with the extents of a block and of the grid.
std::optional<std::uint32_t> RegisterHistory::constant(std::uint64_t offset) const {
  std::uint32_t value = 0;
  if (offset >= registers_.parameters_at) {
    const bool is_there = read_at(registers_.parameters, offset - registers_.parameters_at, value);
    return is_there ? Value(value) : std::nullopt;
  }
  const std::uint64_t word = offset / 4;
  if (offset % 4 == 0 && word < 6)
    value = word < 3 ? registers_.block[word] : registers_.grid[word - 3];
  return value != 0 ? Value(value) : std::nullopt;
}

std::optional<std::uint32_t> RegisterHistory::special(std::uint32_t number) const {
  if (covers(SassArithmetic::kThreadIndex, 3, number))
    return registers_.thread_index[number - SassArithmetic::kThreadIndex];
  if (covers(SassArithmetic::kBlockIndex, 3, number))
    return registers_.block_index[number - SassArithmetic::kBlockIndex];
  return std::nullopt;
}

DumpCode::Words RegisterHistory::look_at(std::int64_t at) {
  ++looked_at_;
  return code_.words(at);
}

// Whether the instruction before this one need not have been executed before it.
bool RegisterHistory::may_come_from_elsewhere(std::int64_t at) const {
  return !code_.branch_targets || std::ranges::binary_search(*code_.branch_targets, at);
}

} // namespace gmt
