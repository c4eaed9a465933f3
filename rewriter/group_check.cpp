// SPDX-License-Identifier: Apache-2.0
// Checks of groups: accesses from one register under one guard are one range.
#include <algorithm>
#include <compare>
#include <set>
#include <tuple>
#include <utility>

#include "rewriter/checks.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::Type;

namespace {

// An entry of the table covers a range of so many bytes, wherever that begins.
constexpr std::int64_t kMostOfTable = 512;
constexpr std::int64_t kMostOfBlock = std::int64_t{1} << 30;

std::int64_t longest_range(const GroupedAccess& access) {
  if (access.pointer != nullptr) return kMostOfBlock;
  const DeclaredArray* array = access.array.array;
  if (array == nullptr) return kMostOfTable;
  // Of a longer one a part lies outside
  return array->is_dynamic ? kMostOfTable : static_cast<std::int64_t>(array->bytes);
}

} // namespace

// a `op` b, or what the chain says so far.
void Checks::compare(Into& into, std::string_view alone, std::string_view with, std::uint32_t a,
                     const Operand& b, std::uint32_t& chain) {
  const std::uint32_t result = reg(Type::kPred);
  if (chain == ptx::kNone) {
    code_.add(into, alone, {Code::reg(result), Code::reg(a), b});
  } else {
    code_.add(into, with, {Code::reg(result), Code::reg(a), b, Code::reg(chain)});
  }
  chain = result;
}

// Each access asks for a remainder of the address. One for more bytes implies those for fewer.
void Checks::check_alignment(Into& into, const Range& range, std::uint32_t low,
                             std::uint32_t& chain) {
  struct Wanted {
    std::uint32_t bytes, added; // to the address
    auto operator<=>(const Wanted&) const = default;
  };
  std::set<Wanted> all;
  for (const auto& [access, guard, pointer, array, written, number] : range.accesses) {
    if (array.is_aligned) continue;
    const auto distance = static_cast<std::uint32_t>(access.offset - range.begin);
    all.insert({access.bytes, distance & (access.bytes - 1)});
  }
  for (const Wanted& wanted : all) {
    const bool is_implied = std::ranges::any_of(all, [&wanted](const Wanted& other) {
      return other.bytes > wanted.bytes && (other.added & (wanted.bytes - 1)) == wanted.added;
    });
    if (is_implied || wanted.bytes == 1) continue;
    std::uint32_t value = low;
    if (wanted.added != 0) {
      value = reg(Type::kB32);
      code_.add(into, "add.u32", {Code::reg(value), Code::reg(low), Code::number(wanted.added)});
    }
    const std::uint32_t rest = reg(Type::kB32);
    code_.add(into, "and.b32", {Code::reg(rest), Code::reg(value), Code::number(wanted.bytes - 1)});
    compare(into, "setp.ne.u32", "setp.ne.or.u32", rest, Code::number(0), chain);
  }
}

// One of two predicates; `b` may be none.
std::uint32_t Checks::either(Into& into, std::uint32_t a, std::uint32_t b) {
  if (b == ptx::kNone) return a;
  const std::uint32_t result = reg(Type::kPred);
  code_.add(into, "or.pred", {Code::reg(result), Code::reg(a), Code::reg(b)});
  return result;
}

void Checks::check_table(Into& into, const Range& range, const Address& address,
                         std::uint32_t& chain) {
  std::uint32_t in_window = 0;
  const std::uint32_t value = likely_entry(into, address, in_window);
  const std::uint32_t rest = reg(Type::kB32), end = reg(Type::kB32), bad = reg(Type::kPred);
  code_.add(into, "and.b32", {Code::reg(rest), Code::reg(address.low), Code::number(511)});
  code_.add(into, "add.u32", {Code::reg(end), Code::reg(rest), Code::number(range.bytes())});
  if (range.first.access.is_generic()) {
    // Shared, local and unknown memory lie outside the windows.
    code_.add(into, "setp.gt.and.s32",
              {Code::reg(bad), Code::reg(end), Code::reg(value), Code::reg(in_window)});
    chain = either(into, either(into, bad, no_memory(into, address)), chain);
    return;
  }
  code_.add(into, "setp.gt.s32", {Code::reg(bad), Code::reg(end), Code::reg(value)});
  const std::uint32_t outside = reg(Type::kPred);
  code_.add(into, "not.pred", {Code::reg(outside), Code::reg(in_window)});
  chain = either(into, either(into, bad, outside), chain);
}

void Checks::check_table_or_pointer(Into& into, const Range& range, std::uint32_t& chain) {
  PointerParameter* const pointer = range.first.pointer;
  const Address address = split(into, range.first.access.base, range.begin);
  if (pointer != nullptr) {
    const auto bytes = static_cast<std::uint64_t>(range.bytes());
    const auto [found, is_new] = pointer->limits.try_emplace(bytes, ptx::kNone);
    if (is_new) found->second = reg(Type::kB64);
    const std::uint32_t offset = reg(Type::kB64);
    code_.add(into, "sub.s64",
              {Code::reg(offset), Code::reg(address.whole), Code::reg(pointer->begin)});
    compare(into, "setp.ge.u64", "setp.ge.or.u64", offset, Code::reg(found->second), chain);
  } else {
    check_table(into, range, address, chain);
  }
  check_alignment(into, range, address.low, chain);
}

// Of global memory: all 64 bits of the address count.
void Checks::check_variable(Into& into, const Range& range, std::uint32_t& chain) {
  const DeclaredArray& array = *range.first.array.array;
  const Address address = split(into, range.first.access.base, range.begin);
  const std::uint32_t begin = reg(Type::kB64), offset = reg(Type::kB64);
  code_.add(into, "mov.u64", {Code::reg(begin), array.address});
  code_.add(into, "sub.s64", {Code::reg(offset), Code::reg(address.whole), Code::reg(begin)});
  const auto size = static_cast<std::int64_t>(array.bytes);
  compare(into, "setp.ge.u64", "setp.ge.or.u64", offset,
          Code::number(std::max<std::int64_t>(0, size - range.bytes() + 1)), chain);
  check_alignment(into, range, address.low, chain);
}

void Checks::check_array(Into& into, const Range& range, std::uint32_t& chain) {
  const DeclaredArray& array = *range.first.array.array;
  if (array.space == ptx::Space::kGlobal) return check_variable(into, range, chain);
  const std::uint32_t low = small_address(into, range.first.access, range.begin);
  const std::uint32_t begin = array_begin(into, array, range.first.access.is_generic());
  const std::uint32_t offset = reg(Type::kB32);
  code_.add(into, "sub.u32", {Code::reg(offset), Code::reg(low), Code::reg(begin)});
  const auto size = static_cast<std::int64_t>(array.bytes);
  Operand limit = Code::number(std::max<std::int64_t>(0, size - range.bytes() + 1));
  if (array.is_dynamic) limit = limit_for(dynamic_limits_, range.bytes());
  compare(into, "setp.ge.u32", "setp.ge.or.u32", offset, limit, chain);
  check_alignment(into, range, low, chain);
}

// Of shared memory without an array that is known.
void Checks::check_block(Into& into, const Range& range, std::uint32_t& chain) {
  const Operand limit = limit_for(block_limits_, range.bytes());
  if (range.first.access.space == ptx::Space::kShared) {
    const std::uint32_t low = small_address(into, range.first.access, range.begin);
    compare(into, "setp.ge.u32", "setp.ge.or.u32", low, limit, chain);
    check_alignment(into, range, low, chain);
    return;
  }
  const Address address = split(into, range.first.access.base, range.begin);
  const std::uint32_t is_shared = reg(Type::kPred), bad = reg(Type::kPred);
  code_.add(into, "isspacep.shared", {Code::reg(is_shared), Code::reg(address.whole)});
  const std::uint32_t low = shared_address(into, address.whole);
  code_.add(into, "setp.ge.and.u32", {Code::reg(bad), Code::reg(low), limit, Code::reg(is_shared)});
  chain = either(into, bad, chain);
}

void Checks::check_range(Into& into, const Range& range, std::uint32_t& any) {
  const Guard& on = range.first.guard;
  const ArrayCheck& array = range.first.array;
  const bool has_guard = on.id != ptx::kNone;
  std::uint32_t chain = has_guard ? ptx::kNone : any;
  if (array.array != nullptr) check_array(into, range, chain);
  else if (range.first.access.space != ptx::Space::kShared)
    check_table_or_pointer(into, range, chain);
  if (array.by_block) check_block(into, range, chain);
  if (!has_guard) {
    any = chain;
    return;
  }
  const std::uint32_t guard = on.negated ? negate(into, on.id) : on.id;
  any = either(into, combine(into, "and.pred", chain, guard), any);
}

std::vector<Checks::Range> Checks::ranges_of(std::vector<GroupedAccess> accesses) {
  const auto key = [](const GroupedAccess& x) {
    return std::tuple(x.access.base, x.access.variable.id, x.access.variable.kind, x.guard.id,
                      x.guard.negated, x.access.space);
  };
  std::ranges::stable_sort(accesses, [&key](const GroupedAccess& a, const GroupedAccess& b) {
    return std::pair(key(a), a.access.offset) < std::pair(key(b), b.access.offset);
  });
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < accesses.size();) {
    const GroupedAccess& first = accesses[i];
    Range range{first, first.access.offset, first.access.offset, {}};
    const std::int64_t most = longest_range(first);
    for (; i < accesses.size() && key(accesses[i]) == key(first); ++i) {
      const MemoryAccess& access = accesses[i].access;
      const std::int64_t end = std::max(range.end, access.offset + access.bytes);
      if (end - range.begin > most && !range.accesses.empty()) break;
      range.end = end;
      range.accesses.push_back(accesses[i]);
    }
    ranges.push_back(std::move(range));
  }
  return ranges;
}

std::uint32_t Checks::check_group(Into& into, std::vector<GroupedAccess> accesses,
                                  std::vector<Mark>& marks) {
  std::uint32_t any = ptx::kNone;
  const std::vector<Range> ranges = ranges_of(std::move(accesses));
  for (const Range& range : ranges) check_range(into, range, any);
  return add_written(into, ranges, any, marks);
}

} // namespace gmt::rewriter
