// SPDX-License-Identifier: Apache-2.0
#include "rewriter/shared_alignment.h"

#include "ptx/syntax/types.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gmt::rewriter {
namespace {

constexpr std::string_view kShared = ".shared", kAlign = ".align", kBlanks = " \t\r\n";
constexpr std::uint64_t kWidest = 16; // bytes of an access

// Takes words from the front of a declaration.
class Words {
public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view next() {
    skip_blanks();
    const std::size_t end = rest_.find_first_of(" \t\r\n[];={},");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(word.size());
    return word;
  }
  // The product of all "[n]"; nothing if there is none, or one without a number.
  std::optional<std::uint64_t> elements() {
    std::optional<std::uint64_t> all;
    for (skip_blanks(); rest_.starts_with('['); skip_blanks()) {
      rest_.remove_prefix(1);
      const auto count = number(next());
      skip_blanks();
      if (!count || !rest_.starts_with(']')) return std::nullopt;
      rest_.remove_prefix(1);
      all = all.value_or(1) * *count;
    }
    return all;
  }
  std::size_t left() const { return rest_.size(); }

  static std::optional<std::uint64_t> number(std::string_view word) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value;
  }

private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(kBlanks)));
  }

  std::string_view rest_;
};

// What stands behind ".shared": how much of it is the alignment, and what it should be.
struct Declaration {
  std::size_t alignment_end = 0; // 0: none is written
  bool needs_more = false;
};

Declaration declaration_at(std::string_view text) {
  Declaration found;
  Words words(text);
  std::uint64_t alignment = 0, bytes = 1;
  std::string_view word = words.next();
  if (word == kAlign) {
    alignment = Words::number(words.next()).value_or(kWidest);
    found.alignment_end = text.size() - words.left();
    word = words.next();
  }
  if (word.starts_with(".v")) {
    bytes = Words::number(word.substr(2)).value_or(1);
    word = words.next();
  }
  const ptx::Type type = word.starts_with('.') ? ptx::type_named(word.substr(1)) : ptx::Type::kNone;
  if (type == ptx::Type::kNone) return found;
  bytes *= ptx::size_of(type);
  words.next(); // the name
  const auto elements = words.elements();
  found.needs_more =
    elements && std::max(alignment, bytes) < kWidest && bytes * *elements >= kWidest;
  return found;
}

} // namespace

std::string with_aligned_arrays(std::string text) {
  for (std::size_t at = text.find(kShared); at != std::string::npos; at = text.find(kShared, at)) {
    const bool is_word = at > 0 && kBlanks.find(text[at - 1]) != std::string_view::npos;
    at += kShared.size();
    if (!is_word || at >= text.size() || kBlanks.find(text[at]) == std::string_view::npos) continue;
    const Declaration found = declaration_at(std::string_view(text).substr(at));
    if (found.needs_more) text.replace(at, found.alignment_end, " .align 16");
  }
  return text;
}

} // namespace gmt::rewriter
