// SPDX-License-Identifier: Apache-2.0
// Tokens of PTX. Every step is bounded by the end of the part that is read.
#include "ptx/syntax/tokens/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace gmt::ptx {
namespace {

enum : std::uint8_t { kBlank = 1, kFirst = 2, kFollow = 4, kDigit = 8, kHex = 16, kBrace = 32 };

constexpr std::array<std::uint8_t, 256> classes() {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&table](std::string_view characters, int what) {
    for (const char c : characters) {
      auto& entry = table[static_cast<unsigned char>(c)];
      entry = static_cast<std::uint8_t>(entry | what);
    }
  };
  add(" \t\r\n\v\f", kBlank);
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$", kFirst | kFollow);
  add("%", kFirst);
  add("0123456789", kFollow | kDigit | kHex);
  add("abcdefABCDEF", kHex);
  add("{}\"/", kBrace);
  return table;
}

constexpr std::array<std::uint8_t, 256> kClasses = classes();

bool is(char c, int what) { return (kClasses[static_cast<unsigned char>(c)] & what) != 0; }

} // namespace

std::uint32_t line_at(std::string_view text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<std::uint32_t>(std::count(text.begin(), end, '\n'));
}

void Lexer::fail_at(std::size_t offset, const std::string& what) const {
  throw ParseError(line_at(text_, offset), what);
}

void Lexer::fail_expected(std::string_view wanted) {
  std::string found = "the end";
  if (!at_end()) {
    const char* last = at_;
    while (last < end_ && last - at_ < 40 && is(*last, kFirst | kFollow)) ++last;
    if (last == at_) ++last;
    found = "'";
    for (const char* c = at_; c < last; ++c) {
      found += static_cast<unsigned char>(*c) < 0x20 || *c == 0x7f || *c < 0 ? '?' : *c;
    }
    found += "'";
  }
  fail("expected " + std::string(wanted) + ", found " + found);
}

void Lexer::skip_blank() {
  for (;;) {
    while (at_ < end_ && is(*at_, kBlank)) ++at_;
    if (at_ >= end_) return;
    if (*at_ == '/' && end_ - at_ > 1 && (at_[1] == '/' || at_[1] == '*')) {
      skip_comment();
    } else if (*at_ == '#') {
      skip_line();
    } else {
      return;
    }
  }
}

void Lexer::skip_comment() {
  if (at_[1] == '/') {
    skip_line();
    return;
  }
  const std::string_view rest(at_ + 2, static_cast<std::size_t>(end_ - at_ - 2));
  const std::size_t close = rest.find("*/");
  if (close == std::string_view::npos) fail("a comment that does not end");
  at_ += close + 4;
}

void Lexer::skip_line() {
  const void* newline = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
  at_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
}

std::size_t Lexer::skip_braces() {
  const std::size_t begin = offset();
  std::size_t depth = 1;
  while (at_ < end_) {
    while (at_ < end_ && !is(*at_, kBrace)) ++at_;
    if (at_ >= end_) break;
    if (*at_ == '/' && end_ - at_ > 1 && (at_[1] == '/' || at_[1] == '*')) {
      skip_comment();
      continue;
    }
    if (*at_ == '"') {
      string("a string");
      continue;
    }
    if (*at_ == '{') ++depth;
    if (*at_ == '}' && --depth == 0) return static_cast<std::size_t>(at_++ - text_.data());
    ++at_;
  }
  fail_at(begin, "a \"{\" that has no \"}\"");
}

bool Lexer::accept(std::string_view wanted) {
  skip_blank();
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  if (!rest.starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

void Lexer::expect(char wanted, std::string_view where) {
  if (accept(wanted)) return;
  fail_expected("'" + std::string(1, wanted) + "' " + std::string(where));
}

bool Lexer::at_identifier() { return is(peek(), kFirst) && at_ < end_; }

std::string_view Lexer::identifier(std::string_view what) {
  if (!at_identifier()) fail_expected(what);
  const char* begin = at_++;
  while (at_ < end_ && is(*at_, kFollow)) ++at_;
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

std::string_view Lexer::component() {
  if (end_ - at_ < 2 || *at_ != '.' || !is(at_[1], kFirst)) return {};
  const char* begin = at_++;
  while (at_ < end_ && is(*at_, kFollow)) ++at_;
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

std::string_view Lexer::accept_directive() {
  if (peek() != '.' || !is(peek_second(), kFollow)) return {};
  const char* begin = ++at_;
  while (at_ < end_ && (is(*at_, kFollow) || (*at_ == ':' && peek_second() == ':'))) {
    at_ += *at_ == ':' ? 2 : 1;
  }
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

bool Lexer::accept_directive(std::string_view wanted) {
  const char* before = at_;
  if (accept_directive() == wanted) return true;
  at_ = before;
  return false;
}

std::string_view Lexer::mnemonic() {
  if (!at_identifier()) fail_expected("an instruction");
  const char* begin = at_;
  const char* last = at_;
  for (;;) {
    while (at_ < end_ && is(*at_, kFollow)) ++at_;
    last = at_;
    if (end_ - at_ > 2 && at_[0] == ':' && at_[1] == ':') {
      at_ += 2;
      continue;
    }
    // "add .s32" is allowed; so is a line end there.
    const char* point = at_;
    while (point < end_ && is(*point, kBlank)) ++point;
    if (end_ - point < 2 || *point != '.' || !is(point[1], kFollow)) break;
    at_ = point + 1;
  }
  at_ = last;
  return {begin, static_cast<std::size_t>(last - begin)};
}

bool Lexer::at_digit() { return is(peek(), kDigit) && at_ < end_; }

Literal Lexer::float_bits(int digits, Number number) {
  Literal value{number, false, 0};
  const char* begin = at_ + 2;
  if (end_ - begin < digits) fail("a floating-point constant with too few digits");
  const auto [last, error] = std::from_chars(begin, begin + digits, value.bits, 16);
  if (error != std::errc() || last != begin + digits || (last < end_ && is(*last, kHex))) {
    fail("a floating-point constant needs " + std::to_string(digits) + " digits");
  }
  at_ = last;
  return value;
}

Literal Lexer::literal() {
  if (!at_digit()) fail_expected("a number");
  const char second = peek_second();
  if (*at_ == '0' && (second == 'f' || second == 'F')) return float_bits(8, Number::kFloat32);
  if (*at_ == '0' && (second == 'd' || second == 'D')) return float_bits(16, Number::kFloat64);
  Literal value;
  int base = 10;
  const char* begin = at_;
  if (*at_ == '0' && (second == 'x' || second == 'X')) base = 16;
  if (*at_ == '0' && (second == 'b' || second == 'B')) base = 2;
  if (base != 10) begin += 2;
  if (base == 10) {
    const char* last = at_;
    while (last < end_ && is(*last, kDigit)) ++last;
    if (last < end_ && (*last == '.' || *last == 'e' || *last == 'E')) {
      double parsed = 0;
      const auto result = std::from_chars(at_, end_, parsed);
      if (result.ec != std::errc()) fail("a floating-point constant that is too large");
      at_ = result.ptr;
      return {Number::kFloat64, false, std::bit_cast<std::uint64_t>(parsed)};
    }
    if (*at_ == '0') base = 8;
  }
  const auto [last, error] = std::from_chars(begin, end_, value.bits, base);
  if (error == std::errc::result_out_of_range) fail("an integer of more than 64 bits");
  if (error != std::errc()) fail("a number without digits");
  at_ = last;
  value.is_unsigned = value.bits >> 63 != 0;
  if (at_ < end_ && *at_ == 'U') {
    value.is_unsigned = true;
    ++at_;
  }
  if (at_ < end_ && is(*at_, kFollow)) fail_expected("the end of a number");
  return value;
}

std::uint64_t Lexer::integer(std::string_view what) {
  if (!at_digit()) fail_expected(what);
  const Literal value = literal();
  if (value.number != Number::kInteger) fail("expected " + std::string(what) + ", found a float");
  return value.bits;
}

std::uint32_t Lexer::integer32(std::string_view what) {
  const std::uint64_t value = integer(what);
  if (value > 0xffffffff) fail(std::string(what) + " that is too large");
  return static_cast<std::uint32_t>(value);
}

std::string_view Lexer::string(std::string_view what) {
  if (peek() != '"') fail_expected(what);
  const char* begin = ++at_;
  while (at_ < end_ && *at_ != '"' && *at_ != '\n') at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
  if (at_ >= end_ || *at_ != '"')
    fail_at(static_cast<std::size_t>(begin - text_.data()), "a string that does not end");
  return {begin, static_cast<std::size_t>(at_++ - begin)};
}

} // namespace gmt::ptx
