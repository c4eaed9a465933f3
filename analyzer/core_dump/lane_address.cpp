// SPDX-License-Identifier: Apache-2.0
// See lane_address.h.
#include "analyzer/core_dump/lane_address.h"

#include <algorithm>

namespace gmt {
namespace {

constexpr std::int64_t kFarthest = 4096; // bytes of code between the access and the thread

bool overlap(std::uint32_t a, std::uint32_t a_count, std::uint32_t b, std::uint32_t b_count) {
  return a < b + b_count && b < a + a_count;
}

enum class Left : std::uint8_t { kNothing, kLowHalf, kAll };

// What is left of the address in the registers that it is made of.
Left left_of(const DumpCode& code, std::int64_t ahead) {
  const AddressOperand& operand = *code.operand;
  const bool has_base = operand.base != AddressOperand::kZero;
  Left left = Left::kAll;
  const auto write = [&](std::uint32_t first, std::uint32_t count) {
    if (!has_base || first == AddressOperand::kZero) return;
    if (overlap(operand.base, 1, first, count)) left = Left::kNothing;
    if (operand.is_wide && overlap(operand.base + 1, 1, first, count))
      left = std::min(left, Left::kLowHalf);
  };
  write(operand.result, operand.results);
  constexpr auto kStep = static_cast<std::int64_t>(kInstructionBytes);
  for (std::int64_t at = kStep; at < ahead; at += kStep) {
    const DumpCode::Words w = code.words(at);
    const RegisterEffect effect = register_effect(w.low, w.high, code.architecture);
    if (effect.is_jump || (effect.writes_uniform && operand.uniform)) return Left::kNothing;
    write(effect.result, effect.results);
  }
  return left;
}

// As it is where the thread stands: a thread that did not execute the access has no address.
bool is_predicated_off(const AddressOperand& operand, const LaneRegisters& r) {
  constexpr std::uint32_t kAlways = 7;
  if (operand.predicate == kAlways) return operand.is_negated;
  if (operand.predicate >= r.tables.word_count(r.predicates)) return false;
  const bool value = r.tables.word(r.predicates, operand.predicate) != 0;
  return value == operand.is_negated;
}

} // namespace

std::optional<LaneAddress> lane_address(const DumpCode& access, std::int64_t ahead,
                                        const LaneRegisters& r) {
  if (!access.operand || ahead < 0 || ahead > kFarthest) return std::nullopt;
  const AddressOperand& operand = *access.operand;
  const Left left = left_of(access, ahead);
  if (left == Left::kNothing || is_predicated_off(operand, r)) return std::nullopt;
  std::uint64_t address = 0;
  if (operand.base != AddressOperand::kZero) {
    const std::uint32_t words = operand.is_wide ? 2 : 1;
    if (std::uint64_t{operand.base} + words > r.tables.word_count(r.general)) return std::nullopt;
    address = r.tables.word(r.general, operand.base);
    if (operand.is_wide) address |= std::uint64_t{r.tables.word(r.general, operand.base + 1)} << 32;
  }
  const bool is_global =
    access.access->space == MemorySpace::kGlobal || access.access->space == MemorySpace::kGeneric;
  if (operand.uniform) {
    const std::uint32_t words = is_global ? 2 : 1;
    if (std::uint64_t{*operand.uniform} + words > r.tables.word_count(r.uniform))
      return std::nullopt;
    address += r.tables.word(r.uniform, *operand.uniform);
    if (is_global) address += std::uint64_t{r.tables.word(r.uniform, *operand.uniform + 1)} << 32;
  }
  address += static_cast<std::uint64_t>(operand.offset);
  const bool is_low_half = left == Left::kLowHalf;
  return LaneAddress{is_global && !is_low_half ? address : address & UINT32_MAX, is_low_half};
}

} // namespace gmt
