// SPDX-License-Identifier: Apache-2.0
// Begin and size of a parameter's block, looked up when a thread starts, and the check by them.
#include "rewriter/checks.h"

#include "rewriter/table.h"

namespace gmt::rewriter {

namespace {
constexpr auto kAddressOfEnd = static_cast<std::int64_t>(~kTableDecides);
}

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

// The entry of the pointer, or else the one before it, names the block.
Checks::NamedBlock Checks::named_block(Into& into, std::uint32_t pointer, std::uint32_t entry_here,
                                       std::uint32_t entry_before) {
  const std::uint32_t named = reg(Type::kPred), known = reg(Type::kPred);
  const std::uint32_t has_name = reg(Type::kPred), from_begin = reg(Type::kPred);
  code_.add(into, "setp.ge.s32",
            {Code::reg(named), Code::reg(entry_here), Code::number(kFirstBlock)});
  const auto name = select(into, Type::kB32, Code::reg(entry_here), Code::reg(entry_before), named);
  // Of the entry before, unknown memory is no name.
  code_.add(into, "setp.ne.or.s32",
            {Code::reg(known), Code::reg(name), Code::number(kNoBlock), Code::reg(named)});
  code_.add(into, "setp.ge.and.s32",
            {Code::reg(has_name), Code::reg(name), Code::number(kFirstBlock), Code::reg(known)});
  const auto slot = select(into, Type::kB32, Code::reg(name), Code::number(kFirstBlock), has_name);
  NamedBlock block{reg(Type::kB64), reg(Type::kB64), reg(Type::kPred)};
  const std::uint32_t at = reg(Type::kB64);
  code_.add(into, "mad.wide.s32",
            {Code::reg(at), Code::reg(slot), Code::number(sizeof(Block)), table(into)});
  const auto blocks = (std::int64_t{2} << (options_.window_bits - kGranuleBits)) -
                      static_cast<std::int64_t>(kFirstBlock * sizeof(Block));
  code_.add(into, "add.s64", {Code::reg(at), Code::reg(at), Code::number(blocks)});
  code_.add(into, "ld.global.nc.v2.u64",
            {code_.vector({Code::reg(block.begin), Code::reg(block.end)}), code_.address(at, 0)});
  if (options_.checks_written) {
    block.written = reg(Type::kB32);
    code_.add(into, "cvt.u32.u64", {Code::reg(block.written), Code::reg(block.begin)});
    code_.add(into, "and.b32",
              {Code::reg(block.written), Code::reg(block.written), Code::number(kIsWhollyWritten)});
    code_.add(into, "and.b64",
              {Code::reg(block.begin), Code::reg(block.begin), Code::number(-512)});
  }
  const std::uint32_t end = reg(Type::kB64);
  code_.add(into, "and.b64", {Code::reg(end), Code::reg(block.end), Code::number(kAddressOfEnd)});
  code_.add(
    into, "setp.ge.and.u64",
    {Code::reg(from_begin), Code::reg(pointer), Code::reg(block.begin), Code::reg(has_name)});
  code_.add(
    into, "setp.lt.and.u64",
    {Code::reg(block.holds_pointer), Code::reg(pointer), Code::reg(end), Code::reg(from_begin)});
  return block;
}

// Without a named block it is the valid part of the 512 bytes. Unknown memory has no bounds, and no
// memory has no byte.
void Checks::look_up(Into& into, const ptx::Origin& parameter, const PointerParameter& pointer) {
  const std::uint32_t value = reg(Type::kB64);
  const Operand from = Code::of(OperandKind::kParameter, parameter.parameter, parameter.offset);
  code_.add(into, "ld.param.u64", {Code::reg(value), code_.address(from)});
  const Address here = split(into, value, 0);
  const Address before = split(into, value, -512);
  std::uint32_t in_window = 0, before_in_window = 0;
  const std::uint32_t raw = entry(into, here, in_window);
  const std::uint32_t raw_before = entry(into, before, before_in_window);
  const auto found = select(into, Type::kB32, Code::reg(raw), Code::number(0), in_window);
  const auto found_before =
    select(into, Type::kB32, Code::reg(raw_before), Code::number(0), before_in_window);
  const NamedBlock block = named_block(into, value, found, found_before);

  const std::uint32_t bytes = reg(Type::kB64), part = reg(Type::kB32), part_size = reg(Type::kB64);
  const std::uint32_t granule = reg(Type::kB64), limited = reg(Type::kPred);
  code_.add(into, "sub.s64", {Code::reg(bytes), Code::reg(block.end), Code::reg(block.begin)});
  code_.add(into, "max.s32", {Code::reg(part), Code::reg(found), Code::number(0)});
  code_.add(into, "min.s32", {Code::reg(part), Code::reg(part), Code::number(512)});
  code_.add(into, "cvt.u64.u32", {Code::reg(part_size), Code::reg(part)});
  code_.add(into, "and.b64", {Code::reg(granule), Code::reg(value), Code::number(-512)});
  const auto first =
    select(into, Type::kB64, Code::reg(block.begin), Code::reg(granule), block.holds_pointer);
  const auto size =
    select(into, Type::kB64, Code::reg(bytes), Code::reg(part_size), block.holds_pointer);
  const std::uint32_t none = no_memory(into, here);
  code_.add(into, "or.pred", {Code::reg(limited), Code::reg(in_window), Code::reg(none)});
  code_.add(into, "selp.b64",
            {Code::reg(pointer.begin), Code::reg(first), Code::number(0), Code::reg(limited)});
  code_.add(into, "selp.b64",
            {Code::reg(pointer.size), Code::reg(size), Code::number(-1), Code::reg(limited)});
  if (options_.checks_written) { // of what has no bounds all is
    const std::uint32_t not_whole = reg(Type::kB32);
    code_.add(into, "xor.b32", {Code::reg(not_whole), Code::reg(block.written), Code::number(1)});
    const auto found_part =
      select(into, Type::kB32, Code::reg(not_whole), Code::number(1), block.holds_pointer);
    code_.add(
      into, "selp.b32",
      {Code::reg(pointer.unwritten), Code::reg(found_part), Code::number(0), Code::reg(limited)});
  }
  std::uint32_t inside = pointer.size; // of which nothing is to be asked
  if (!pointer.limits.empty()) {
    inside = reg(Type::kB64);
    code_.add(into, "and.b64",
              {Code::reg(inside), Code::reg(pointer.size), Code::number(kAddressOfEnd)});
  }
  for (const auto& [span, limit] : pointer.limits) {
    const auto needed = static_cast<std::int64_t>(span);
    const std::uint32_t fits = reg(Type::kPred), rest = reg(Type::kB64);
    code_.add(into, "setp.ge.u64", {Code::reg(fits), Code::reg(inside), Code::number(needed)});
    code_.add(into, "sub.s64", {Code::reg(rest), Code::reg(inside), Code::number(needed - 1)});
    code_.add(into, "selp.b64",
              {Code::reg(limit), Code::reg(rest), Code::number(0), Code::reg(fits)});
  }
}

// ---------------------------------------------------------------- one access

// A block has a name only if it has more than 512 bytes; then its bounds decide. Where
// kTableDecides is set, and of unknown memory, the size is negative.
Checks::Outside Checks::outside_block(Into& into, const Address& address, std::uint32_t bytes,
                                      const PointerParameter& pointer, std::uint32_t by_table) {
  const std::uint32_t large = reg(Type::kPred), known = reg(Type::kPred), out = reg(Type::kPred);
  const std::uint32_t offset = reg(Type::kB64), rest = reg(Type::kB64), past = reg(Type::kPred);
  code_.add(into, "setp.gt.u64", {Code::reg(large), Code::reg(pointer.size), Code::number(512)});
  code_.add(into, "setp.gt.and.s64",
            {Code::reg(known), Code::reg(pointer.size), Code::number(0), Code::reg(large)});
  code_.add(into, "sub.s64",
            {Code::reg(offset), Code::reg(address.whole), Code::reg(pointer.begin)});
  code_.add(into, "sub.s64", {Code::reg(rest), Code::reg(pointer.size), Code::reg(offset)});
  code_.add(into, "setp.ge.u64", {Code::reg(past), Code::reg(offset), Code::reg(pointer.size)});
  code_.add(into, "setp.lt.or.u64",
            {Code::reg(out), Code::reg(rest), Code::number(bytes), Code::reg(past)});
  const std::uint32_t outside = reg(Type::kPred), unknown = reg(Type::kPred);
  code_.add(into, "and.pred", {Code::reg(outside), Code::reg(out), Code::reg(known)});
  code_.add(into, "not.pred", {Code::reg(unknown), Code::reg(known)});
  const std::uint32_t table_says = reg(Type::kPred), result = reg(Type::kPred);
  code_.add(into, "and.pred", {Code::reg(table_says), Code::reg(by_table), Code::reg(unknown)});
  code_.add(into, "or.pred", {Code::reg(result), Code::reg(outside), Code::reg(table_says)});
  return {outside, result};
}

} // namespace gmt::rewriter
