// SPDX-License-Identifier: Apache-2.0
// A cursor over the text of a module, or over a part of it: words, numbers, punctuation. Blanks,
// comments and preprocessor lines are skipped before each token. Offsets are those of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// A name in a message.
inline std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

struct Literal {
  Number number = Number::kInteger;
  bool is_unsigned = false; // an integer with the suffix U, or too large for a signed one
  std::uint64_t bits = 0;
};

class Lexer {
public:
  Lexer(std::string_view text, std::size_t begin, std::size_t end)
      : text_(text), at_(text.data() + begin), end_(text.data() + end) {}

  std::size_t offset() const { return static_cast<std::size_t>(at_ - text_.data()); }
  std::string_view between(std::size_t begin, std::size_t end) const {
    return text_.substr(begin, end - begin);
  }

  // The next character that is no blank and in no comment; '\0' at the end.
  char peek() {
    skip_blank();
    return at_ < end_ ? *at_ : '\0';
  }
  // The character behind the one that peek() sees.
  char peek_second() const { return end_ - at_ > 1 ? at_[1] : '\0'; }
  bool at_end() {
    skip_blank();
    return at_ >= end_;
  }

  bool accept(char wanted) {
    if (peek() != wanted || at_ >= end_) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view wanted); // punctuation such as "<<"
  void expect(char wanted, std::string_view where);

  // Names of registers, variables, functions and labels. "_" alone is a name too.
  bool at_identifier();
  std::string_view identifier(std::string_view what);
  // The component behind a name, without a blank between: ".x". Empty if there is none.
  std::string_view component();

  // ".word" without its point; empty if there is none.
  std::string_view accept_directive();
  bool accept_directive(std::string_view wanted);

  bool at_digit();
  Literal literal();
  std::uint64_t integer(std::string_view what); // no expression
  std::uint32_t integer32(std::string_view what);
  std::string_view string(std::string_view what); // between quotes, escapes as they stand

  // "ld.global.nc" as it stands.
  std::string_view mnemonic();

  void skip_line();
  // Behind "{": goes to the matching "}" and returns its offset.
  std::size_t skip_braces();

  [[noreturn]] void fail(const std::string& what) const { fail_at(offset(), what); }
  [[noreturn]] void fail_at(std::size_t offset, const std::string& what) const;
  [[noreturn]] void fail_expected(std::string_view wanted); // "expected X, found Y"

private:
  void skip_blank();
  void skip_comment();
  Literal float_bits(int digits, Number number);

  std::string_view text_;
  const char* at_;
  const char* end_;
};

// Line of an offset, from 1.
std::uint32_t line_at(std::string_view text, std::size_t offset);

} // namespace gmt::ptx
