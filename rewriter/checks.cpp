// SPDX-License-Identifier: Apache-2.0
// Exact checks, by the table.
#include "rewriter/checks.h"

#include <cstddef>

#include "rewriter/table.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

// ---------------------------------------------------------------- addresses and entries

Operand Checks::table(Into& into) {
  if (options_.table != 0) return Code::number(static_cast<std::int64_t>(options_.table));
  const std::uint32_t base = reg(Type::kB64);
  code_.add(into, "ld.const.u64",
            {Code::reg(base), code_.address(Code::of(OperandKind::kVariable, control_.table,
                                                     offsetof(Placed, table)))});
  return Code::reg(base);
}

// The upper half of Placed::shift; the lower one is 0.
Operand Checks::shift(Into& into) {
  constexpr std::int64_t kUpper = offsetof(Placed, shift) + sizeof(std::uint32_t);
  if (options_.window != 0)
    return Code::number(static_cast<std::int32_t>(placed_of(options_).shift >> 32));
  const std::uint32_t upper = reg(Type::kB32);
  code_.add(
    into, "ld.const.u32",
    {Code::reg(upper), code_.address(Code::of(OperandKind::kVariable, control_.table, kUpper))});
  return Code::reg(upper);
}

Checks::Address Checks::split(Into& into, std::uint32_t base, std::int64_t offset) {
  Address address;
  address.whole = base;
  if (offset != 0) {
    address.whole = reg(Type::kB64);
    code_.add(into, "add.s64", {Code::reg(address.whole), Code::reg(base), Code::number(offset)});
  }
  address.low = reg(Type::kB32);
  address.high = reg(Type::kB32);
  const Operand parts = code_.vector({Code::reg(address.low), Code::reg(address.high)});
  code_.add(into, "mov.b64", {parts, Code::reg(address.whole)});
  return address;
}

// `upper`: the upper half of the address, the windows put together. One that is in none has the
// entry of another address: the load itself is always good.
std::uint32_t Checks::entry_at(Into& into, const Address& address, std::uint32_t upper) {
  std::uint32_t index = reg(Type::kB32);
  code_.add(
    into, "shf.r.wrap.b32",
    {Code::reg(index), Code::reg(address.low), Code::reg(upper), Code::number(kGranuleBits)});
  if (options_.window_bits < 32 + kGranuleBits) {
    const std::uint32_t masked = reg(Type::kB32);
    const auto mask = (std::int64_t{1} << (options_.window_bits - kGranuleBits)) - 1;
    code_.add(into, "and.b32", {Code::reg(masked), Code::reg(index), Code::number(mask)});
    index = masked;
  }
  const std::uint32_t at = reg(Type::kB64);
  code_.add(into, "mad.wide.u32", {Code::reg(at), Code::reg(index), Code::number(2), table(into)});
  const std::uint32_t value = reg(Type::kB32);
  // Not coherent: the table may change while the kernel runs, and each of its states is right then.
  code_.add(into, "ld.global.nc.s16", {Code::reg(value), code_.address(at, 0)});
  return value;
}

// For the check of a group. Addresses in front of the upper window and behind the lower one count
// as being in a window: unknown memory, of which an exact check says that it is right.
std::uint32_t Checks::likely_entry(Into& into, const Address& address, std::uint32_t& in_window) {
  const std::uint32_t shifted = reg(Type::kB32), upper = reg(Type::kB32);
  code_.add(into, "sub.s32", {Code::reg(shifted), Code::reg(address.high), shift(into)});
  code_.add(into, "min.u32", {Code::reg(upper), Code::reg(shifted), Code::reg(address.high)});
  in_window = reg(Type::kPred);
  code_.add(
    into, "setp.lt.u32",
    {Code::reg(in_window), Code::reg(upper), Code::number(1 << (options_.window_bits - 32))});
  return entry_at(into, address, upper);
}

std::uint32_t Checks::entry(Into& into, const Address& address, std::uint32_t& in_window) {
  const Operand half = Code::number(1 << (options_.window_bits - 33));
  const std::uint32_t shifted = reg(Type::kB32), in_upper = reg(Type::kB32);
  const std::uint32_t is_low = reg(Type::kPred);
  code_.add(into, "sub.s32", {Code::reg(shifted), Code::reg(address.high), shift(into)});
  code_.add(into, "sub.s32", {Code::reg(in_upper), Code::reg(shifted), half});
  code_.add(into, "setp.lt.u32", {Code::reg(is_low), Code::reg(address.high), half});
  in_window = reg(Type::kPred);
  code_.add(into, "setp.lt.or.u32",
            {Code::reg(in_window), Code::reg(in_upper), half, Code::reg(is_low)});
  return entry_at(into, address,
                  select(into, Type::kB32, Code::reg(address.high), Code::reg(shifted), is_low));
}

// Whether no memory can be there: the first page, or more bits than addresses have.
std::uint32_t Checks::no_memory(Into& into, const Address& address) {
  const auto lowest = static_cast<std::int64_t>(options_.lowest_address);
  const auto end = static_cast<std::int64_t>(options_.address_end);
  const std::uint32_t low = reg(Type::kPred), none = reg(Type::kPred);
  code_.add(into, "setp.lt.u64", {Code::reg(low), Code::reg(address.whole), Code::number(lowest)});
  code_.add(into, "setp.ge.or.u64",
            {Code::reg(none), Code::reg(address.whole), Code::number(end), Code::reg(low)});
  return none;
}

// ---------------------------------------------------------------- parameters

PointerParameter Checks::new_pointer() {
  PointerParameter pointer;
  pointer.begin = reg(Type::kB64);
  pointer.size = reg(Type::kB64);
  if (options_.checks_written) pointer.unwritten = reg(Type::kB32);
  return pointer;
}

std::uint32_t Checks::select(Into& into, Type type, const Operand& yes, const Operand& no,
                             std::uint32_t which) {
  const std::uint32_t result = reg(type);
  code_.add(into, type == Type::kB64 ? "selp.b64" : "selp.b32",
            {Code::reg(result), yes, no, Code::reg(which)});
  return result;
}

std::uint32_t Checks::combine(Into& into, std::string_view mnemonic, std::uint32_t a,
                              std::uint32_t b) {
  const std::uint32_t result = reg(Type::kPred);
  code_.add(into, mnemonic, {Code::reg(result), Code::reg(a), Code::reg(b)});
  return result;
}

std::uint32_t Checks::negate(Into& into, std::uint32_t a) {
  const std::uint32_t result = reg(Type::kPred);
  code_.add(into, "not.pred", {Code::reg(result), Code::reg(a)});
  return result;
}

std::uint32_t Checks::misaligned_by(Into& into, std::uint32_t low, std::uint32_t bytes) {
  const std::uint32_t rest = reg(Type::kB32), misaligned = reg(Type::kPred);
  code_.add(into, "and.b32", {Code::reg(rest), Code::reg(low), Code::number(bytes - 1)});
  code_.add(into, "setp.ne.u32", {Code::reg(misaligned), Code::reg(rest), Code::number(0)});
  return misaligned;
}

Checks::Decision Checks::decide_by_table(Into& into, const GroupedAccess& grouped) {
  const MemoryAccess& access = grouped.access;
  Decision decision;
  const Address address = split(into, access.base, access.offset);
  decision.address = address;
  std::uint32_t in_window = 0;
  const std::uint32_t raw = entry(into, address, in_window);
  const std::uint32_t end = reg(Type::kB32);
  decision.entry = select(into, Type::kB32, Code::reg(raw), Code::number(kNoBlock), in_window);
  code_.add(into, "and.b32", {Code::reg(end), Code::reg(address.low), Code::number(511)});
  code_.add(into, "add.u32", {Code::reg(end), Code::reg(end), Code::number(access.bytes)});
  decision.none = no_memory(into, address);
  decision.misaligned = misaligned_by(into, address.low, access.bytes);
  decision.bad = reg(Type::kPred);
  code_.add(
    into, "setp.gt.or.s32",
    {Code::reg(decision.bad), Code::reg(end), Code::reg(decision.entry), Code::reg(decision.none)});
  if (grouped.pointer == nullptr) return decision;
  const Outside outside =
    outside_block(into, address, access.bytes, *grouped.pointer, decision.bad);
  decision.bad = outside.any;
  decision.outside = outside.block;
  return decision;
}

Checks::Details Checks::details_by_table(Into& into, const GroupedAccess& grouped,
                                         const Decision& decision) {
  Operand meant = Code::number(0);
  if (decision.outside != ptx::kNone) {
    meant = Code::reg(select(into, Type::kB64, Code::reg(grouped.pointer->begin), Code::number(0),
                             decision.outside));
  }
  // It would fault, or nothing can be there
  const std::uint32_t unmapped = reg(Type::kPred);
  code_.add(into, "setp.eq.and.s32",
            {Code::reg(unmapped), Code::reg(decision.entry), Code::number(kUnmappedEntry),
             Code::reg(decision.bad)});
  return {decision.address, Code::reg(decision.entry), meant,
          Code::number(std::int64_t{grouped.access.bytes} << 24),
          combine(into, "or.pred", unmapped, decision.none)};
}

void Checks::check_one(Into& into, const ptx::Instruction& instruction,
                       const GroupedAccess& grouped, std::uint32_t site, std::vector<Mark>& marks) {
  const bool in_array = grouped.array.array != nullptr;
  const bool in_block = !in_array && grouped.access.space == ptx::Space::kShared;
  Decision decision;
  if (in_array) decision = decide_in_array(into, grouped);
  else if (in_block) decision = decide_in_block(into, grouped);
  else decision = decide_by_table(into, grouped);
  if (!in_block && grouped.array.by_block) decide_by_block(into, grouped, decision);

  const std::uint32_t made = code_.new_label(), behind = code_.new_label();
  std::uint32_t mistake = either(into, decision.bad, decision.misaligned);
  const Guard guard = grouped.guard;
  if (guard.id != ptx::kNone)
    mistake = combine(into, "and.pred", mistake, guard.negated ? negate(into, guard.id) : guard.id);
  code_.add(into, "bra", {Code::of(OperandKind::kLabel, made)}, {mistake, true});
  Details details;
  if (in_array) details = details_in_array(into, grouped, decision);
  else if (in_block) details = details_in_block(into, decision);
  else details = details_by_table(into, grouped, decision);
  if (decision.in_shared != ptx::kNone) details_by_block(into, decision, details);
  report(into, details, decision.misaligned, site);
  const std::uint32_t left_out = either(into, details.left_out, decision.misaligned);
  code_.add(into, "bra", {Code::of(OperandKind::kLabel, made)}, {left_out, true});
  clear_results(into, instruction);
  code_.add(into, "bra", {Code::of(OperandKind::kLabel, behind)});
  marks.push_back({made, into.size()});
  check_one_written(into, grouped, mistake, site, marks);
  mark_written(into, grouped);
  into.push_back(instruction);
  marks.push_back({behind, into.size()});
}

Guard Checks::whole_access(Into& into, const GroupedAccess& grouped) {
  const std::uint32_t is_whole = reg(Type::kPred);
  const Operand size = Code::reg(grouped.access.size), bytes = Code::number(grouped.access.bytes);
  if (grouped.guard.id == ptx::kNone) {
    code_.add(into, "setp.ge.u32", {Code::reg(is_whole), size, bytes});
  } else {
    code_.add(
      into, "setp.ge.and.u32",
      {Code::reg(is_whole), size, bytes, Code::reg(grouped.guard.id, grouped.guard.negated)});
  }
  return {is_whole, false};
}

// A load that is left out gives 0; behind a copy shared memory stays as it was.
void Checks::clear_results(Into& into, const ptx::Instruction& instruction, Guard guard) {
  const ptx::Mnemonic& mnemonic = body_.mnemonic(instruction);
  if (mnemonic.opcode == "st" || mnemonic.opcode == "red" || mnemonic.opcode == "cp") return;
  const Operand result = body_.operand(instruction, 0);
  const std::size_t count = result.kind == OperandKind::kVector ? result.count : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Operand part = result.kind == OperandKind::kVector ? body_.parts(result)[i] : result;
    if (part.kind != OperandKind::kRegister) continue;
    const Type type = body_.registers[part.id].type;
    if (ptx::bits_of(type) == 128) { // of two halves
      const std::uint32_t half = reg(Type::kB64);
      code_.add(into, "mov.b64", {Code::reg(half), Code::number(0)}, guard);
      code_.add(into, "mov.b128", {part, code_.vector({Code::reg(half), Code::reg(half)})}, guard);
      continue;
    }
    Operand zero = Code::number(0);
    std::string_view move = "mov.b32";
    if (type == Type::kF32) {
      move = "mov.f32";
      zero.number = ptx::Number::kFloat32;
    } else if (type == Type::kF64) {
      move = "mov.f64";
      zero.number = ptx::Number::kFloat64;
    } else if (ptx::bits_of(type) == 16) {
      move = "mov.b16";
    } else if (ptx::bits_of(type) == 64) {
      move = "mov.b64";
    }
    code_.add(into, move, {part, zero}, guard);
  }
}

} // namespace gmt::rewriter
