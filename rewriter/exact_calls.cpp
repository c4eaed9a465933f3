// SPDX-License-Identifier: Apache-2.0
// Exact checks by calls: one for all accesses of a group from one register.
#include "rewriter/exact_calls.h"

#include <algorithm>

#include "rewriter/checks.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

namespace {

// Shared and local memory, by 32 bits.
bool is_small(const GroupedAccess& grouped) {
  const DeclaredArray* array = grouped.array.array;
  return array != nullptr ? array->space != Space::kGlobal : grouped.access.space == Space::kShared;
}

std::uint32_t word_of(const GroupedAccess& grouped) {
  const DeclaredArray* array = grouped.array.array;
  std::uint32_t word = grouped.access.bytes;
  if (grouped.array.is_aligned) word |= kIsAligned;
  if (is_small(grouped)) {
    if (array == nullptr) word |= kIsWholeBlock;
    else if (array->space == Space::kLocal) word |= kIsLocal;
    if (array != nullptr && array->is_dynamic) word |= kIsDynamic;
    if (grouped.access.is_generic()) word |= kIsGeneric;
    return word;
  }
  if (array != nullptr) return word | kIsVariable | kHasBlock;
  if (grouped.array.by_block) word |= kMayBeShared;
  return grouped.pointer != nullptr ? word | kHasBlock : word;
}

} // namespace

// A part of the argument.
void Checks::pass(Into& into, std::int64_t part, bool is_wide, const Operand& value) {
  if (check_argument_ == ptx::kNone) {
    check_argument_ = code_.new_argument("__gmt_what", kCheckBytes);
    check_result_ = code_.new_argument("__gmt_left_out", 8);
  }
  code_.add(into, is_wide ? "st.param.b64" : "st.param.b32",
            {code_.address(Code::of(OperandKind::kLocal, check_argument_, part)), value});
}

void Checks::pass_global(Into& into, const GroupedAccess& first) {
  pass(into, kBaseAt, true, Code::reg(first.access.base));
  if (first.array.array != nullptr) {
    const Operand begin = Code::reg(reg(Type::kB64));
    code_.add(into, "mov.u64", {begin, first.array.array->address});
    pass(into, kBeginAt, true, begin);
    pass(into, kBytesAt, true, Code::number(static_cast<std::int64_t>(first.array.array->bytes)));
  } else if (first.pointer != nullptr) {
    pass(into, kBeginAt, true, Code::reg(first.pointer->begin));
    pass(into, kBytesAt, true, Code::reg(first.pointer->size));
  }
}

// Of an array the checks are by its begin in the space of the address; a record has it in its own.
void Checks::pass_small(Into& into, const GroupedAccess& first) {
  const DeclaredArray* array = first.array.array;
  pass(into, kSmallAt, false, Code::reg(small_address(into, first.access, 0)));
  if (array == nullptr) return;
  const bool is_generic = first.access.is_generic();
  const Operand begin = Code::reg(array_begin(into, *array, is_generic));
  pass(into, kFirstAt, false, begin);
  if (is_generic) pass(into, kOwnFirstAt, false, Code::reg(array_begin(into, *array, false)));
}

// Not asked for by the functions: a linker gives kernels that call one which names shared memory as
// much of it as the one of them that has most.
void Checks::pass_block_end(Into& into, const Range& range) {
  const auto is_asked = [](const GroupedAccess& each) {
    if (!is_small(each)) return each.array.by_block;
    return each.array.array == nullptr || each.array.array->space == Space::kShared;
  };
  if (std::ranges::any_of(range.accesses, is_asked))
    pass(into, kBlockEndAt, false, Code::reg(block_end(into)));
  else if (is_small(range.first)) pass(into, kBlockEndAt, false, Code::number(0));
}

void Checks::call_check(Into& into, const Range& range, std::uint32_t first_word,
                        std::uint32_t mask, std::vector<Mark>& marks) {
  const Guard guard = range.first.guard;
  const bool is_asked = mask != ptx::kNone;
  const std::uint32_t behind = guard.id != ptx::kNone ? code_.new_label() : 0;
  if (guard.id != ptx::kNone) {
    if (is_asked) code_.add(into, "mov.b32", {Code::reg(mask), Code::number(0)});
    code_.add(into, "bra", {Code::of(OperandKind::kLabel, behind)}, {guard.id, !guard.negated});
  }
  const bool small = is_small(range.first);
  if (small) pass_small(into, range.first);
  else pass_global(into, range.first);
  pass_block_end(into, range);
  Operand launch = Code::number(0);
  if (launch_) {
    launch = Code::reg(reg(Type::kB64));
    code_.add(into, "ld.param.b64",
              {launch, code_.address(Code::of(OperandKind::kLocal, *launch_))});
  }
  pass(into, kLaunchAt, true, launch);
  pass(into, kWordsAt, false, Code::number(first_word));
  code_.add(into, "call",
            {code_.list({Code::of(OperandKind::kLocal, check_result_)}),
             Code::of(OperandKind::kFunction, small ? control_.check_array : control_.check_global),
             code_.list({Code::of(OperandKind::kLocal, check_argument_)})});
  if (is_asked)
    code_.add(into, "ld.param.b32",
              {Code::reg(mask), code_.address(Code::of(OperandKind::kLocal, check_result_))});
  if (guard.id != ptx::kNone) marks.push_back({behind, into.size()});
}

void Checks::call_checks(Into& into, std::vector<GroupedAccess> accesses,
                         const std::map<std::uint32_t, std::uint32_t>& site_of,
                         std::vector<AccessWords>& words,
                         std::map<std::uint32_t, LeftOut>* left_out, std::vector<Mark>& marks) {
  for (const Range& range : ranges_of(std::move(accesses))) {
    const auto first_word = static_cast<std::uint32_t>(words.size());
    const std::uint32_t mask = left_out != nullptr ? reg(Type::kB32) : ptx::kNone;
    std::uint32_t bit = 1;
    for (const GroupedAccess& each : range.accesses) {
      const DeclaredArray* array = each.array.array;
      words.push_back({static_cast<std::int32_t>(each.access.offset), word_of(each),
                       site_of.at(each.instruction),
                       array != nullptr ? static_cast<std::uint32_t>(array->bytes) : 0});
      if (left_out != nullptr) (*left_out)[each.instruction] = {mask, bit};
      bit <<= 1;
    }
    words.back().word |= kIsLast;
    call_check(into, range, first_word, mask, marks);
  }
}

void Checks::make_one(Into& into, const ptx::Instruction& instruction, const GroupedAccess& grouped,
                      std::uint32_t site, const LeftOut& left_out, std::vector<Mark>& marks) {
  const std::uint32_t bit = reg(Type::kB32), is_left_out = reg(Type::kPred);
  code_.add(into, "and.b32",
            {Code::reg(bit), Code::reg(left_out.mask), Code::number(left_out.bit)});
  code_.add(into, "setp.ne.u32", {Code::reg(is_left_out), Code::reg(bit), Code::number(0)});
  check_one_written(into, grouped, is_left_out, site, marks);
  mark_written(into, grouped);
  clear_results(into, instruction, {is_left_out, false});
  Guard guard{is_left_out, true};
  if (instruction.guard != ptx::kNone) {
    guard = {reg(Type::kPred), false};
    code_.add(into, "setp.eq.and.u32",
              {Code::reg(guard.id), Code::reg(bit), Code::number(0),
               Code::reg(instruction.guard, instruction.guard_negated)});
  }
  into.push_back(instruction);
  into.back().guard = guard.id;
  into.back().guard_negated = guard.negated;
}

} // namespace gmt::rewriter
