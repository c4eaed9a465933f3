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

// Whether a register that the address is made of may have been written since.
bool is_overwritten(const DumpCode& code, std::int64_t ahead) {
  const AddressOperand& operand = *code.operand;
  const std::uint32_t words = operand.is_wide ? 2 : 1;
  const bool has_base = operand.base != AddressOperand::kZero;
  const auto writes_base = [&](std::uint32_t first, std::uint32_t count) {
    return has_base && first != AddressOperand::kZero && overlap(operand.base, words, first, count);
  };
  if (writes_base(operand.result, operand.results)) return true;
  constexpr auto kStep = static_cast<std::int64_t>(kInstructionBytes);
  for (std::int64_t at = kStep; at < ahead; at += kStep) {
    const DumpCode::Words w = code.words(at);
    const RegisterEffect effect = register_effect(w.low, w.high, code.architecture);
    if (effect.is_jump || writes_base(effect.result, effect.results)) return true;
    if (effect.writes_uniform && operand.uniform) return true;
  }
  return false;
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

std::optional<std::uint64_t> lane_address(const DumpCode& access, std::int64_t ahead,
                                          const LaneRegisters& r) {
  if (!access.operand || ahead < 0 || ahead > kFarthest) return std::nullopt;
  const AddressOperand& operand = *access.operand;
  if (is_predicated_off(operand, r) || is_overwritten(access, ahead)) return std::nullopt;
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
  return is_global ? address : address & UINT32_MAX;
}

} // namespace gmt
