// SPDX-License-Identifier: Apache-2.0
// Names are bound in one table; closing a scope takes back what it bound.
#include "ptx/syntax/names.h"

#include <utility>

namespace gmt::ptx {
namespace {

constexpr std::size_t kMostDigits = 9; // of a register's number

// The name up to the digits at its end.
std::string_view without_digits(std::string_view name) {
  while (name.size() > 1 && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name;
}

} // namespace

std::uint32_t RegisterNumbers::find_or_add(std::uint64_t key, std::uint32_t next) {
  if (2 * (used_ + 1) > entries_.size()) grow();
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ull) >> 32) & mask;
  for (; entries_[at].key != ~0ull; at = (at + 1) & mask) {
    if (entries_[at].key == key) return entries_[at].number;
  }
  entries_[at] = {key, next};
  ++used_;
  return next;
}

void RegisterNumbers::grow() {
  const std::vector<Entry> old = std::exchange(entries_, {});
  entries_.resize(old.empty() ? 64 : 2 * old.size());
  used_ = 0;
  for (const Entry& entry : old) {
    if (entry.key != ~0ull) find_or_add(entry.key, entry.number);
  }
}

void Names::close_scope() {
  for (; undo_.size() > scopes_.back(); undo_.pop_back()) {
    const Undo& last = undo_.back();
    if (last.was_bound) {
      names_[last.name] = last.before;
    } else {
      names_.erase(last.name);
    }
  }
  scopes_.pop_back();
}

bool Names::declare(std::string_view name, Name what) {
  const std::string_view prefix = without_digits(name);
  if (prefix.size() < name.size() && names_.contains(prefix)) ambiguous_ = true;
  Bound bound{what, scopes_.size(), kNone};
  const auto [found, is_new] = names_.try_emplace(name, bound);
  if (is_new) {
    undo_.push_back({name, false, {}});
    return true;
  }
  if (found->second.depth == scopes_.size()) return false;
  bound.hides = static_cast<std::uint32_t>(undo_.size());
  undo_.push_back({name, true, found->second});
  found->second = bound;
  return true;
}

bool Names::declare(const RegisterDeclaration& registers) {
  const auto index = static_cast<std::uint32_t>(declarations_.size());
  declarations_.push_back(registers);
  return declare(registers.name, {NameKind::kRegister, index});
}

const Name* Names::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second.name;
}

const Names::Bound* Names::find_numbered(std::string_view name, std::size_t prefix,
                                         RegisterUse& use) const {
  const std::string_view digits = name.substr(prefix);
  if (digits.empty() || digits.size() > kMostDigits || (digits[0] == '0' && digits.size() > 1))
    return nullptr;
  const auto found = names_.find(name.substr(0, prefix));
  if (found == names_.end()) return nullptr;
  std::uint32_t number = 0;
  for (const char c : digits) number = number * 10 + static_cast<std::uint32_t>(c - '0');
  // "%r<5>" in an inner scope leaves %r5 and more to the scopes around it.
  const Bound* bound = &found->second;
  for (;;) {
    if (bound->name.kind == NameKind::kRegister) {
      const std::uint32_t count = declarations_[bound->name.index].count;
      if (count != kNone && number < count) break;
    }
    if (bound->hides == kNone) return nullptr;
    bound = &undo_[bound->hides].before;
  }
  use = {bound->name.index, number};
  return bound;
}

bool Names::find_register(std::string_view name, RegisterUse& use) const {
  const std::size_t first_digit = without_digits(name).size();
  // Most registers are numbered, with the name up to the first digit: "%r" of "%r12".
  if (!ambiguous_ && find_numbered(name, first_digit, use) != nullptr) return true;
  // The innermost scope decides between "%r<20>", "%r1<3>" and "%r12".
  const Bound* best = nullptr;
  for (std::size_t prefix = first_digit; prefix < name.size(); ++prefix) {
    RegisterUse other;
    const Bound* found = find_numbered(name, prefix, other);
    if (found == nullptr || (best != nullptr && found->depth < best->depth)) continue;
    best = found;
    use = other;
  }
  const auto exact = names_.find(name);
  if (exact == names_.end() || (best != nullptr && exact->second.depth < best->depth)) {
    return best != nullptr;
  }
  const Name& found = exact->second.name;
  if (found.kind != NameKind::kRegister) return false;
  if (declarations_[found.index].count != kNone) return best != nullptr; // declares "%r0", not "%r"
  use = {found.index, 0};
  return true;
}

std::uint32_t Names::number_of(const RegisterUse& use, std::uint32_t component,
                               std::string_view written, std::vector<Register>& registers) {
  // A declaration takes some characters of text, so 31 bits are enough for its index.
  const std::uint64_t key = static_cast<std::uint64_t>(use.declaration) << 33 |
                            static_cast<std::uint64_t>(use.number) << 3 | component;
  const auto next = static_cast<std::uint32_t>(registers.size());
  const std::uint32_t number = numbers_.find_or_add(key, next);
  if (number == next) {
    const RegisterDeclaration& declared = declarations_[use.declaration];
    registers.push_back(
      {declared.type, written, declared.vector, static_cast<std::uint8_t>(component)});
  }
  return number;
}

} // namespace gmt::ptx
