// SPDX-License-Identifier: Apache-2.0
#include "analyzer/core_dump/lane_address.h"

namespace gmt {
namespace {

constexpr std::int64_t kFarthest = 4096; // bytes of code between the access and the thread

bool is_straight(const DumpCode& code, std::int64_t ahead) {
  constexpr std::int64_t kBytes = kInstructionBytes;
  for (std::int64_t at = kBytes; at < ahead; at += kBytes) {
    const DumpCode::Words w = code.words(at);
    if (register_effect(w.low, w.high, code.architecture).is_jump) return false;
  }
  return true;
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
  if (is_predicated_off(operand, r) || !is_straight(access, ahead)) return std::nullopt;
  const bool is_global =
    access.access->space == MemorySpace::kGlobal || access.access->space == MemorySpace::kGeneric;
  RegisterHistory history(access, ahead, r);
  const auto low = history.general(operand.base);
  if (!low) return std::nullopt;
  const bool has_upper = operand.is_wide && operand.base != AddressOperand::kZero;
  const auto high = has_upper ? history.general(operand.base + 1) : 0;
  std::uint64_t address = std::uint64_t{high.value_or(0)} << 32 | *low;
  if (operand.uniform) {
    const auto lower = history.uniform(*operand.uniform);
    const auto upper = is_global ? history.uniform(*operand.uniform + 1) : 0;
    if (!lower || !upper) return std::nullopt;
    address += std::uint64_t{*upper} << 32 | *lower;
  }
  address += static_cast<std::uint64_t>(operand.offset);
  return LaneAddress{is_global && high ? address : address & UINT32_MAX, !high};
}

} // namespace gmt
