// SPDX-License-Identifier: Apache-2.0
// Where the words of shared memory have their state, and how that is cleared.
#include <algorithm>

#include "rewriter/checks.h"
#include "rewriter/shared_state.h"
#include "rewriter/written_table.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

// The access's address there, of 32 bits.
std::uint32_t Checks::shared_low(Into& into, const MemoryAccess& access) {
  if (!access.is_generic()) return small_address(into, access, access.offset);
  return shared_address(into, split(into, access.base, access.offset).whole);
}

// As word_state. What lies behind the covered addresses has the first word that says "written".
std::uint32_t Checks::shared_word(Into& into, const GroupedAccess& grouped) {
  const std::uint32_t words = words_of(grouped.access.bytes);
  std::uint32_t word = reg(Type::kB32);
  code_.add(into, "shr.u32",
            {Code::reg(word), Code::reg(shared_low(into, grouped.access)), Code::number(2)});
  if (words > 1) {
    const std::uint32_t first = reg(Type::kB32);
    const std::int64_t aligned = -std::int64_t{std::min<std::uint32_t>(words, 4)};
    code_.add(into, "and.b32", {Code::reg(first), Code::reg(word), Code::number(aligned)});
    word = first;
  }
  const std::uint32_t index = reg(Type::kB32), whole = reg(Type::kB64), at = reg(Type::kB32);
  code_.add(into, "min.u32",
            {Code::reg(index), Code::reg(word), Code::number(control_.shared_covered / 4)});
  code_.add(into, "mov.u64",
            {Code::reg(whole), Code::of(OperandKind::kVariable, control_.shared_state)});
  code_.add(into, "add.u32", {Code::reg(at), Code::reg(index), Code::reg(narrow(into, whole))});
  return at;
}

void Checks::mark_shared(Into& into, const GroupedAccess& grouped) {
  const std::uint32_t words = words_of(grouped.access.bytes);
  Guard guard = grouped.guard;
  if (!grouped.written.in_shared) {
    const std::uint32_t is_shared = reg(Type::kPred);
    code_.add(into, "isspacep.shared",
              {Code::reg(is_shared),
               Code::reg(split(into, grouped.access.base, grouped.access.offset).whole)});
    const std::uint32_t on =
      guard.id != ptx::kNone && guard.negated ? negate(into, guard.id) : guard.id;
    guard = {on == ptx::kNone ? is_shared : combine(into, "and.pred", is_shared, on), false};
  }
  const std::uint32_t at = shared_word(into, grouped), value = reg(Type::kB32);
  code_.add(into, "mov.b32", {Code::reg(value), Code::number(0x01010101)});
  std::string_view store = words == 1 ? "st.shared.u8" : "st.shared.u16";
  if (words > 2) store = "st.shared.u32";
  for (std::uint32_t first = 0; first < words; first += 4)
    code_.add(into, store, {code_.address(at, first), Code::reg(value)}, guard);
}

void Checks::clear_shared_state(Into& into, std::vector<Mark>& marks) {
  const auto special = [&](ptx::SpecialRegister which) {
    const std::uint32_t value = reg(Type::kB32);
    code_.add(into, "mov.u32", {Code::reg(value), Code::special(which)});
    return Code::reg(value);
  };
  const auto multiply_add = [&](const Operand& a, const Operand& b, const Operand& c) {
    const std::uint32_t value = reg(Type::kB32);
    code_.add(into, "mad.lo.u32", {Code::reg(value), a, b, c});
    return Code::reg(value);
  };
  using ptx::SpecialRegister;
  const Operand x = special(SpecialRegister::kNtidX), y = special(SpecialRegister::kNtidY);
  const Operand row =
    multiply_add(special(SpecialRegister::kTidZ), y, special(SpecialRegister::kTidY));
  const Operand thread = multiply_add(row, x, special(SpecialRegister::kTidX));
  const Operand rows = multiply_add(special(SpecialRegister::kNtidZ), y, Code::number(0));
  const Operand threads = multiply_add(rows, x, Code::number(0));
  // All threads make the same rounds: none of a warp goes on before the others.
  const Operand own = multiply_add(thread, Code::number(4), Code::number(0));
  const Operand step = multiply_add(threads, Code::number(4), Code::number(0));
  const Operand round = Code::reg(reg(Type::kB32));
  const std::uint32_t whole = reg(Type::kB64);
  code_.add(into, "mov.u64",
            {Code::reg(whole), Code::of(OperandKind::kVariable, control_.shared_state)});
  const Operand base = Code::reg(narrow(into, whole));
  code_.add(into, "mov.u32", {round, Code::number(0)});
  const std::uint32_t again = code_.new_label();
  marks.push_back({again, into.size()});
  const SharedState state{control_.shared_covered, {}};
  const std::uint32_t is_inside = reg(Type::kPred), is_cleared = reg(Type::kPred);
  const std::uint32_t goes_on = reg(Type::kPred), at = reg(Type::kB32), word = reg(Type::kB32);
  code_.add(into, "add.u32", {Code::reg(at), round, own});
  code_.add(into, "setp.lt.u32",
            {Code::reg(is_inside), Code::reg(at), Code::number(state.bytes())});
  code_.add(into, "setp.lt.u32",
            {Code::reg(is_cleared), Code::reg(at), Code::number(state.cleared_bytes())});
  const auto value =
    select(into, Type::kB32, Code::number(0), Code::number(0x01010101), is_cleared);
  code_.add(into, "add.u32", {Code::reg(word), base, Code::reg(at)});
  code_.add(into, "st.shared.u32", {code_.address(word, 0), Code::reg(value)}, {is_inside, false});
  code_.add(into, "add.u32", {round, round, step});
  code_.add(into, "setp.lt.u32", {Code::reg(goes_on), round, Code::number(state.bytes())});
  code_.add(into, "bra.uni", {Code::of(OperandKind::kLabel, again)}, {goes_on, false});
  code_.add(into, "bar.sync", {Code::number(0)});
}

} // namespace gmt::rewriter
