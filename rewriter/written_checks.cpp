// SPDX-License-Identifier: Apache-2.0
// Whether the bytes of an access are written, by the pages of written_table.h, and that they are
// from now on. A store marks its words before it is made: what is ordered behind the store is then
// behind the marks, too. It marks whole words: a store of one byte makes its neighbours count as
// written.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "rewriter/checks.h"
#include "rewriter/written_table.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

namespace {

constexpr std::int64_t kMostOfRange = 512;

// A byte of a word's state for each word that an element which is asked for has a part of.
std::uint64_t mask_of(const WrittenCheck& check) {
  std::uint64_t mask = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    if ((check.elements >> i & 1) == 0) continue;
    const std::uint32_t begin = i * check.element_bytes, end = begin + check.element_bytes;
    for (std::uint32_t word = begin / kWordBytes; word * kWordBytes < end; ++word)
      mask |= std::uint64_t{kIsWritten} << (8 * word);
  }
  return mask;
}

std::string_view load_of(std::uint32_t words, bool in_shared) {
  if (in_shared && words == 1) return "ld.shared.u8";
  if (in_shared) return words == 2 ? "ld.shared.u16" : "ld.shared.u32";
  if (words == 1) return "ld.global.u8";
  return words == 2 ? "ld.global.u16" : "ld.global.u32";
}
std::string_view store_of(std::uint32_t words) {
  if (words == 1) return "st.global.u8";
  return words == 2 ? "st.global.u16" : "st.global.u32";
}

} // namespace

// Where the page of an address lies. In the check of a group addresses that are in no window may
// have any page. The driver's caches may hold the table's word as it was; an exact check asks the
// memory itself.
std::uint32_t Checks::page_of(Into& into, const Address& address, bool is_exact) {
  const Operand half = Code::number(1 << (options_.window_bits - 33));
  const std::uint32_t shifted = reg(Type::kB32), in_window = reg(Type::kPred);
  std::uint32_t upper = reg(Type::kB32);
  code_.add(into, "sub.s32", {Code::reg(shifted), Code::reg(address.high), shift(into)});
  if (is_exact) {
    const std::uint32_t in_upper = reg(Type::kB32), is_low = reg(Type::kPred);
    code_.add(into, "sub.s32", {Code::reg(in_upper), Code::reg(shifted), half});
    code_.add(into, "setp.lt.u32", {Code::reg(is_low), Code::reg(address.high), half});
    code_.add(into, "setp.lt.or.u32",
              {Code::reg(in_window), Code::reg(in_upper), half, Code::reg(is_low)});
    upper = select(into, Type::kB32, Code::reg(address.high), Code::reg(shifted), is_low);
  } else {
    code_.add(into, "min.u32", {Code::reg(upper), Code::reg(shifted), Code::reg(address.high)});
    code_.add(
      into, "setp.lt.u32",
      {Code::reg(in_window), Code::reg(upper), Code::number(1 << (options_.window_bits - 32))});
  }
  const std::uint32_t number = reg(Type::kB32), at = reg(Type::kB64), base = reg(Type::kB64);
  code_.add(into, "shf.r.wrap.b32",
            {Code::reg(number), Code::reg(address.low), Code::reg(upper), Code::number(kPageBits)});
  const auto index = select(into, Type::kB32, Code::reg(number), Code::number(0), in_window);
  code_.add(into, "ld.const.u64",
            {Code::reg(base), code_.address(Code::of(OperandKind::kVariable, control_.table,
                                                     offsetof(Placed, written)))});
  code_.add(into, "mad.wide.u32",
            {Code::reg(at), Code::reg(index), Code::number(8), Code::reg(base)});
  const std::uint32_t page = reg(Type::kB64);
  code_.add(into, is_exact ? "ld.volatile.global.u64" : "ld.global.nc.u64",
            {Code::reg(page), code_.address(at, 0)});
  return page;
}

// Where the state of the word at an address lies: of the first of so many words, which a good
// access has at a multiple of as many. The address may be a bad one.
std::uint32_t Checks::word_state(Into& into, const Address& address, std::uint32_t page,
                                 std::uint32_t words) {
  const std::uint32_t wide = reg(Type::kB64), at = reg(Type::kB64);
  std::uint32_t word = reg(Type::kB32);
  code_.add(
    into, "bfe.u32",
    {Code::reg(word), Code::reg(address.low), Code::number(2), Code::number(kPageBits - 2)});
  if (words > 1) {
    const std::uint32_t first = reg(Type::kB32);
    const std::int64_t aligned = -std::int64_t{std::min<std::uint32_t>(words, 4)};
    code_.add(into, "and.b32", {Code::reg(first), Code::reg(word), Code::number(aligned)});
    word = first;
  }
  code_.add(into, "cvt.u64.u32", {Code::reg(wide), Code::reg(word)});
  code_.add(into, "add.s64", {Code::reg(at), Code::reg(page), Code::reg(wide)});
  return at;
}

// Perhaps a word that is asked for is not written.
void Checks::compare_words(Into& into, const GroupedAccess& access, std::uint32_t at,
                           std::int64_t offset, std::uint32_t& chain) {
  const std::uint64_t mask = mask_of(access.written);
  const std::uint32_t words = words_of(access.access.bytes);
  for (std::uint32_t first = 0; first < words; first += 4) {
    const auto part = static_cast<std::int64_t>(mask >> (8 * first) & 0xffffffff);
    const std::uint32_t count = std::min<std::uint32_t>(4, words);
    const auto full = static_cast<std::int64_t>(0x01010101u >> (8 * (4 - count)));
    if (part == 0) continue;
    std::uint32_t value = reg(Type::kB32);
    code_.add(into, load_of(count, access.written.in_shared),
              {Code::reg(value), code_.address(at, offset + first)});
    if (part != full) {
      const std::uint32_t asked = reg(Type::kB32);
      code_.add(into, "and.b32", {Code::reg(asked), Code::reg(value), Code::number(part)});
      value = asked;
    }
    compare(into, "setp.ne.u32", "setp.ne.or.u32", value, Code::number(part), chain);
  }
}

// What a group asks of written bytes. Where all its pointers are those of parameters whose blocks
// are wholly written, as all lanes know from their start, that is passed by.
std::uint32_t Checks::add_written(Into& into, const std::vector<Range>& ranges, std::uint32_t any,
                                  std::vector<Mark>& marks) {
  std::vector<const Range*> asked;
  for (const Range& range : ranges) {
    const auto is_asked = [](const GroupedAccess& each) { return each.written.is_asked; };
    if (std::ranges::any_of(range.accesses, is_asked)) asked.push_back(&range);
  }
  if (asked.empty()) return any;
  std::vector<std::uint32_t> pointers;
  for (const Range* range : asked) {
    const PointerParameter* pointer = range->first.pointer;
    pointers.push_back(pointer != nullptr ? pointer->unwritten : ptx::kNone);
  }
  std::ranges::sort(pointers);
  pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
  if (pointers.back() == ptx::kNone) {
    for (const Range* range : asked) add_written(into, *range, any);
    return any;
  }
  std::uint32_t unwritten = pointers.front();
  for (std::size_t i = 1; i < pointers.size(); ++i) {
    const std::uint32_t both = reg(Type::kB32);
    code_.add(into, "or.b32", {Code::reg(both), Code::reg(unwritten), Code::reg(pointers[i])});
    unwritten = both;
  }
  const std::uint32_t result = reg(Type::kPred), are_whole = reg(Type::kPred);
  const std::uint32_t behind = code_.new_label();
  code_.add(into, "mov.pred", {Code::reg(result), Code::reg(any)});
  code_.add(into, "setp.eq.u32", {Code::reg(are_whole), Code::reg(unwritten), Code::number(0)});
  code_.add(into, "bra.uni", {Code::of(OperandKind::kLabel, behind)}, {are_whole, false});
  for (const Range* range : asked) add_written(into, *range, any);
  code_.add(into, "mov.pred", {Code::reg(result), Code::reg(any)});
  marks.push_back({behind, into.size()});
  return result;
}

void Checks::add_written(Into& into, const Range& range, std::uint32_t& any) {
  const Guard& on = range.first.guard;
  const bool has_guard = on.id != ptx::kNone;
  std::uint32_t chain = has_guard ? ptx::kNone : any;
  check_written(into, range, chain);
  if (has_guard) {
    const std::uint32_t guard = on.negated ? negate(into, on.id) : on.id;
    chain = either(into, combine(into, "and.pred", chain, guard), any);
  }
  any = chain;
}

// Accesses of as many words from one register have their states beside each other.
void Checks::check_written(Into& into, const Range& range, std::uint32_t& chain) {
  std::vector<const GroupedAccess*> asked;
  for (const GroupedAccess& each : range.accesses) {
    if (each.written.is_asked) asked.push_back(&each);
  }
  if (asked.empty()) return;
  const std::int64_t begin = asked.front()->access.offset; // they are sorted
  const bool are_beside = std::ranges::all_of(asked, [&](const GroupedAccess* each) {
    const MemoryAccess& access = each->access;
    return access.bytes >= kWordBytes && access.bytes == asked.front()->access.bytes &&
           (access.offset - begin) % std::int64_t{access.bytes} == 0 &&
           access.offset + access.bytes - begin <= kMostOfRange;
  });
  std::uint32_t at = 0;
  for (const GroupedAccess* each : asked) {
    const std::int64_t offset = each->access.offset;
    const bool begins = !are_beside || each == asked.front();
    if (begins && each->written.in_shared) { // behind the last word all say that they are written
      at = shared_word(into, *each);
    } else if (begins) {
      const Address address = split(into, each->access.base, offset);
      at = word_state(into, address, page_of(into, address, false), words_of(each->access.bytes));
      if (are_beside && asked.size() > 1) {
        const std::int64_t bytes = asked.back()->access.offset + asked.back()->access.bytes - begin;
        const std::uint32_t in_page = reg(Type::kB32);
        code_.add(into, "and.b32",
                  {Code::reg(in_page), Code::reg(address.low), Code::number((1 << kPageBits) - 1)});
        compare(into, "setp.gt.u32", "setp.gt.or.u32", in_page,
                Code::number((1 << kPageBits) - bytes), chain);
      }
    }
    compare_words(into, *each, at, are_beside ? (offset - begin) / std::int64_t{kWordBytes} : 0,
                  chain);
  }
}

// A predicate: an element that is asked for has no written word.
std::uint32_t Checks::unwritten(Into& into, const GroupedAccess& grouped, const Address& address) {
  const WrittenCheck& check = grouped.written;
  const std::uint32_t words = words_of(grouped.access.bytes);
  const std::uint32_t of_element = words_of(check.element_bytes);
  const std::uint32_t at = check.in_shared
                             ? shared_word(into, grouped)
                             : word_state(into, address, page_of(into, address, true), words);
  const std::uint64_t mask = mask_of(check);
  std::string_view load = of_element == 1 ? "ld.volatile.global.u8" : "ld.volatile.global.u16";
  if (check.in_shared) load = of_element == 1 ? "ld.volatile.shared.u8" : "ld.volatile.shared.u16";
  std::uint32_t any = ptx::kNone;
  for (std::uint32_t first = 0; first < words; first += of_element) {
    if ((mask >> (8 * first) & 1) == 0) continue;
    const std::uint32_t value = reg(Type::kB32);
    code_.add(into, load, {Code::reg(value), code_.address(at, first)});
    compare(into, "setp.eq.u32", "setp.eq.or.u32", value, Code::number(kIsUnwritten), any);
  }
  return any;
}

// Of an access that is right. It is made, whatever it reads.
void Checks::check_one_written(Into& into, const GroupedAccess& grouped, std::uint32_t mistake,
                               std::uint32_t site, std::vector<Mark>& marks) {
  if (!grouped.written.is_asked) return;
  const bool in_shared = grouped.written.in_shared;
  const Address address = in_shared ? widen(into, shared_low(into, grouped.access))
                                    : split(into, grouped.access.base, grouped.access.offset);
  std::uint32_t bad =
    combine(into, "and.pred", unwritten(into, grouped, address), negate(into, mistake));
  const Guard guard = grouped.guard;
  if (guard.id != ptx::kNone)
    bad = combine(into, "and.pred", bad, guard.negated ? negate(into, guard.id) : guard.id);
  const std::uint32_t behind = code_.new_label();
  code_.add(into, "bra", {Code::of(OperandKind::kLabel, behind)}, {bad, true});
  Details details{address, Code::number(0), Code::number(0),
                  Code::number(std::int64_t{grouped.access.bytes} << 24 | kUnwrittenCount), bad};
  if (in_shared) {
    constexpr auto kSpace = std::int64_t{static_cast<std::uint16_t>(RecordSpace::kShared)};
    details.space = Code::number(kSpace << 16 | kUnwrittenCount);
    if (const DeclaredArray* array = grouped.array.array; array != nullptr) {
      details.entry = Code::reg(array_bytes(into, *array));
      details.meant = Code::reg(widen(into, array_begin(into, *array, false)).whole);
    }
  }
  report(into, details, ptx::kNone, site);
  marks.push_back({behind, into.size()});
}

void Checks::mark_written(Into& into, const GroupedAccess& grouped) {
  if (!grouped.written.is_marked) return;
  if (grouped.written.in_shared || grouped.written.may_be_shared) mark_shared(into, grouped);
  if (grouped.written.in_shared) return;
  const Address address = split(into, grouped.access.base, grouped.access.offset);
  const std::uint32_t words = words_of(grouped.access.bytes);
  const std::uint32_t at = word_state(into, address, page_of(into, address, false), words);
  const std::uint32_t value = reg(Type::kB32);
  code_.add(into, "mov.b32", {Code::reg(value), Code::number(0x01010101)});
  for (std::uint32_t first = 0; first < words; first += 4)
    code_.add(into, store_of(words), {code_.address(at, first), Code::reg(value)}, grouped.guard);
}

} // namespace gmt::rewriter
