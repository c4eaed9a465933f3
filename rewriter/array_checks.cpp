// SPDX-License-Identifier: Apache-2.0
// Checks of variables. Addresses of shared and local memory are compared by their lower 32 bits: no
// block and no thread has more of it. An address below an array is then a large offset.
#include "rewriter/checks.h"

#include <algorithm>

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::SpecialRegister;
using ptx::Type;

namespace {

Operand word_of(RecordSpace space) {
  return Code::number(std::int64_t{static_cast<std::uint16_t>(space)} << 16);
}

} // namespace

// ---------------------------------------------------------------- addresses and sizes

std::uint32_t Checks::narrow(Into& into, std::uint32_t address) {
  const std::uint32_t low = reg(Type::kB32);
  code_.add(into, "cvt.u32.u64", {Code::reg(low), Code::reg(address)});
  return low;
}

Checks::Address Checks::widen(Into& into, std::uint32_t address) {
  const Address wide{reg(Type::kB64), address, reg(Type::kB32)};
  code_.add(into, "cvt.u64.u32", {Code::reg(wide.whole), Code::reg(address)});
  code_.add(into, "mov.u32", {Code::reg(wide.high), Code::number(0)});
  return wide;
}

std::uint32_t Checks::small_address(Into& into, const MemoryAccess& access, std::int64_t offset) {
  std::uint32_t low = access.base;
  if (access.base == ptx::kNone) {
    const std::uint32_t whole = reg(Type::kB64);
    code_.add(into, "mov.u64",
              {Code::reg(whole), Code::of(access.variable.kind, access.variable.id)});
    low = narrow(into, whole);
  } else if (ptx::bits_of(body_.registers[access.base].type) == 64) {
    low = narrow(into, access.base);
  }
  if (offset == 0) return low;
  const std::uint32_t sum = reg(Type::kB32);
  code_.add(into, "add.s32",
            {Code::reg(sum), Code::reg(low), Code::number(static_cast<std::int32_t>(offset))});
  return sum;
}

std::uint32_t Checks::array_begin(Into& into, const DeclaredArray& array, bool is_generic) {
  std::uint32_t whole = reg(Type::kB64);
  code_.add(into, "mov.u64", {Code::reg(whole), array.address});
  if (is_generic) {
    const std::uint32_t generic = reg(Type::kB64);
    code_.add(into, array.space == Space::kShared ? "cvta.shared.u64" : "cvta.local.u64",
              {Code::reg(generic), Code::reg(whole)});
    whole = generic;
  }
  return narrow(into, whole);
}

std::uint32_t Checks::array_bytes(Into& into, const DeclaredArray& array) {
  const std::uint32_t bytes = reg(Type::kB32);
  const Operand from = array.is_dynamic ? Code::special(SpecialRegister::kDynamicSmemSize)
                                        : Code::number(static_cast<std::int64_t>(array.bytes));
  code_.add(into, "mov.u32", {Code::reg(bytes), from});
  return bytes;
}

// All dynamic arrays begin at one address.
std::uint32_t Checks::block_end(Into& into) {
  const DeclaredArray dynamic{Code::of(OperandKind::kVariable, control_.dynamic), Space::kShared, 0,
                              true, kDynamic};
  const std::uint32_t begin = array_begin(into, dynamic, false);
  const std::uint32_t bytes = array_bytes(into, dynamic);
  const std::uint32_t end = reg(Type::kB32);
  code_.add(into, "add.u32", {Code::reg(end), Code::reg(begin), Code::reg(bytes)});
  return end;
}

std::uint32_t Checks::shared_address(Into& into, std::uint32_t generic) {
  const std::uint32_t address = reg(Type::kB64);
  code_.add(into, "cvta.to.shared.u64", {Code::reg(address), Code::reg(generic)});
  return narrow(into, address);
}

// ---------------------------------------------------------------- ranges

Operand Checks::limit_for(std::map<std::uint64_t, std::uint32_t>& limits, std::int64_t bytes) {
  const auto [found, is_new] = limits.try_emplace(static_cast<std::uint64_t>(bytes), ptx::kNone);
  if (is_new) found->second = reg(Type::kB32);
  return Code::reg(found->second);
}

// One that is smaller than the range has no good offset.
void Checks::look_up_shared(Into& into) {
  if (!dynamic_limits_.empty()) {
    const std::uint32_t size = reg(Type::kB32);
    code_.add(into, "mov.u32", {Code::reg(size), Code::special(SpecialRegister::kDynamicSmemSize)});
    for (const auto& [bytes, limit] : dynamic_limits_) {
      const auto needed = static_cast<std::int64_t>(bytes);
      const std::uint32_t fits = reg(Type::kPred), rest = reg(Type::kB32);
      code_.add(into, "setp.ge.u32", {Code::reg(fits), Code::reg(size), Code::number(needed)});
      code_.add(into, "sub.u32", {Code::reg(rest), Code::reg(size), Code::number(needed - 1)});
      code_.add(into, "selp.b32",
                {Code::reg(limit), Code::reg(rest), Code::number(0), Code::reg(fits)});
    }
  }
  if (block_limits_.empty()) return;
  const std::uint32_t end = block_end(into);
  for (const auto& [bytes, limit] : block_limits_) {
    code_.add(
      into, "sub.u32",
      {Code::reg(limit), Code::reg(end), Code::number(static_cast<std::int64_t>(bytes) - 1)});
  }
}

// ---------------------------------------------------------------- one access

Checks::Decision Checks::decide_in_variable(Into& into, const GroupedAccess& grouped) {
  const MemoryAccess& access = grouped.access;
  Decision decision;
  decision.address = split(into, access.base, access.offset);
  decision.begin = reg(Type::kB64);
  decision.bad = reg(Type::kPred);
  const std::uint32_t offset = reg(Type::kB64);
  code_.add(into, "mov.u64", {Code::reg(decision.begin), grouped.array.array->address});
  code_.add(into, "sub.s64",
            {Code::reg(offset), Code::reg(decision.address.whole), Code::reg(decision.begin)});
  const auto limit = static_cast<std::int64_t>(grouped.array.array->bytes) - access.bytes + 1;
  code_.add(
    into, "setp.ge.u64",
    {Code::reg(decision.bad), Code::reg(offset), Code::number(std::max<std::int64_t>(0, limit))});
  if (!grouped.array.is_aligned)
    decision.misaligned = misaligned_by(into, decision.address.low, access.bytes);
  return decision;
}

Checks::Details Checks::details_in_variable(Into& into, const GroupedAccess& grouped,
                                            const Decision& decision) {
  std::uint32_t in_window = 0;
  const std::uint32_t value = entry(into, decision.address, in_window);
  const std::uint32_t none = no_memory(into, decision.address), unmapped = reg(Type::kPred);
  const std::uint32_t left_out = reg(Type::kPred);
  code_.add(
    into, "setp.eq.and.s32",
    {Code::reg(unmapped), Code::reg(value), Code::number(kUnmappedEntry), Code::reg(in_window)});
  code_.add(into, "or.pred", {Code::reg(left_out), Code::reg(unmapped), Code::reg(none)});
  return {decision.address, Code::reg(array_bytes(into, *grouped.array.array)),
          Code::reg(decision.begin), word_of(RecordSpace::kVariable),
          combine(into, "and.pred", left_out, decision.bad)};
}

Checks::Decision Checks::decide_in_array(Into& into, const GroupedAccess& grouped) {
  const MemoryAccess& access = grouped.access;
  const DeclaredArray& array = *grouped.array.array;
  if (array.space == Space::kGlobal) return decide_in_variable(into, grouped);
  Decision decision;
  decision.at = small_address(into, access, access.offset);
  decision.begin = array_begin(into, array, access.is_generic());
  decision.bad = reg(Type::kPred);
  const std::uint32_t offset = reg(Type::kB32);
  code_.add(into, "sub.u32",
            {Code::reg(offset), Code::reg(decision.at), Code::reg(decision.begin)});
  if (array.is_dynamic) {
    const std::uint32_t size = array_bytes(into, array);
    const std::uint32_t last = reg(Type::kB32), too_small = reg(Type::kPred);
    code_.add(into, "sub.u32", {Code::reg(last), Code::reg(size), Code::number(access.bytes)});
    code_.add(into, "setp.lt.u32",
              {Code::reg(too_small), Code::reg(size), Code::number(access.bytes)});
    code_.add(into, "setp.gt.or.u32",
              {Code::reg(decision.bad), Code::reg(offset), Code::reg(last), Code::reg(too_small)});
  } else {
    const auto limit = static_cast<std::int64_t>(array.bytes) - access.bytes + 1;
    code_.add(
      into, "setp.ge.u32",
      {Code::reg(decision.bad), Code::reg(offset), Code::number(std::max<std::int64_t>(0, limit))});
  }
  if (!grouped.array.is_aligned)
    decision.misaligned = misaligned_by(into, decision.at, access.bytes);
  return decision;
}

Checks::Details Checks::details_in_array(Into& into, const GroupedAccess& grouped,
                                         const Decision& decision) {
  const DeclaredArray& array = *grouped.array.array;
  if (array.space == Space::kGlobal) return details_in_variable(into, grouped, decision);
  const bool is_shared = array.space == Space::kShared;
  // In its own space
  const std::uint32_t first = array_begin(into, array, false);
  const std::uint32_t offset = reg(Type::kB32), at = reg(Type::kB32);
  code_.add(into, "sub.u32",
            {Code::reg(offset), Code::reg(decision.at), Code::reg(decision.begin)});
  code_.add(into, "add.u32", {Code::reg(at), Code::reg(first), Code::reg(offset)});
  std::uint32_t left_out = decision.bad; // nothing says where local memory ends
  if (is_shared) {
    const std::uint32_t end = block_end(into), most = reg(Type::kB32);
    left_out = reg(Type::kPred);
    code_.add(into, "sub.u32",
              {Code::reg(most), Code::reg(end), Code::number(grouped.access.bytes)});
    code_.add(into, "setp.gt.and.u32",
              {Code::reg(left_out), Code::reg(at), Code::reg(most), Code::reg(decision.bad)});
  }
  return {widen(into, at), Code::reg(array_bytes(into, array)), Code::reg(widen(into, first).whole),
          word_of(is_shared ? RecordSpace::kShared : RecordSpace::kLocal), left_out};
}

Checks::Decision Checks::decide_in_block(Into& into, const GroupedAccess& grouped) {
  const MemoryAccess& access = grouped.access;
  Decision decision;
  decision.at = small_address(into, access, access.offset);
  decision.bad = reg(Type::kPred);
  const std::uint32_t end = block_end(into), most = reg(Type::kB32);
  code_.add(into, "sub.u32", {Code::reg(most), Code::reg(end), Code::number(access.bytes)});
  code_.add(into, "setp.gt.u32",
            {Code::reg(decision.bad), Code::reg(decision.at), Code::reg(most)});
  if (!grouped.array.is_aligned)
    decision.misaligned = misaligned_by(into, decision.at, access.bytes);
  return decision;
}

Checks::Details Checks::details_in_block(Into& into, const Decision& decision) {
  return {widen(into, decision.at), Code::reg(block_end(into)), Code::number(0),
          word_of(RecordSpace::kShared), decision.bad};
}

// A generic address that lies in shared memory.
void Checks::decide_by_block(Into& into, const GroupedAccess& grouped, Decision& decision) {
  decision.in_shared = reg(Type::kPred);
  code_.add(into, "isspacep.shared",
            {Code::reg(decision.in_shared), Code::reg(decision.address.whole)});
  decision.at = shared_address(into, decision.address.whole);
  const std::uint32_t end = block_end(into), most = reg(Type::kB32), bad = reg(Type::kPred);
  code_.add(into, "sub.u32", {Code::reg(most), Code::reg(end), Code::number(grouped.access.bytes)});
  code_.add(
    into, "setp.gt.and.u32",
    {Code::reg(bad), Code::reg(decision.at), Code::reg(most), Code::reg(decision.in_shared)});
  decision.bad = combine(into, "or.pred", decision.bad, bad);
}

void Checks::details_by_block(Into& into, const Decision& decision, Details& details) {
  const std::uint32_t which = decision.in_shared;
  const std::uint32_t bad = combine(into, "and.pred", decision.bad, which);
  details.left_out = combine(into, "or.pred", details.left_out, bad);
  details.entry =
    Code::reg(select(into, Type::kB32, Code::reg(block_end(into)), details.entry, which));
  details.space =
    Code::reg(select(into, Type::kB32, word_of(RecordSpace::kShared), details.space, which));
  Address& address = details.address;
  address.low = select(into, Type::kB32, Code::reg(decision.at), Code::reg(address.low), which);
  address.high = select(into, Type::kB32, Code::number(0), Code::reg(address.high), which);
}

} // namespace gmt::rewriter
