// SPDX-License-Identifier: Apache-2.0
// Values of options as a person writes them, on the command line and in the environment: one
// reading for the command and for the interposer. Allocates nothing and calls nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::trace {

enum class OptionForm : std::uint8_t {
  kUint,  // decimal digits
  kSize,  // the same with an optional K, M, G or T (binary) and B or iB
  kBool,  // 0 or 1, off or on, false or true, no or yes
  kChoice // one of the words, or its number from 0
};

constexpr bool read_digits(std::string_view& text, std::uint64_t& value) {
  const std::size_t size = text.size();
  value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    const auto digit = static_cast<std::uint64_t>(text[0] - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
    text.remove_prefix(1);
  }
  return text.size() != size;
}

constexpr bool read_uint(std::string_view text, std::uint64_t& value) {
  return read_digits(text, value) && text.empty();
}

constexpr bool read_size(std::string_view text, std::uint64_t& value) {
  if (!read_digits(text, value)) return false;
  if (text.empty() || text == "B") return true;
  unsigned shift = 0;
  switch (text[0]) {
  case 'K':
  case 'k': shift = 10; break;
  case 'M':
  case 'm': shift = 20; break;
  case 'G':
  case 'g': shift = 30; break;
  case 'T':
  case 't': shift = 40; break;
  default: return false;
  }
  text.remove_prefix(1);
  if (!text.empty() && text != "B" && text != "iB") return false;
  if (value > UINT64_MAX >> shift) return false;
  value <<= shift;
  return true;
}

// The words and their numbers from 0, separated by blanks.
constexpr bool read_choice(std::string_view text, std::string_view words, std::uint64_t& value) {
  std::uint64_t number = 0, given = 0;
  const bool is_number = read_uint(text, given);
  for (std::size_t begin = 0; begin < words.size(); ++number) {
    std::size_t end = begin;
    while (end < words.size() && words[end] != ' ') ++end;
    std::string_view word = words;
    word.remove_suffix(words.size() - end);
    word.remove_prefix(begin);
    if (word == text || (is_number && given == number)) {
      value = number;
      return true;
    }
    begin = end + 1;
  }
  return false;
}

constexpr bool read_bool(std::string_view text, std::uint64_t& value) {
  return read_choice(text, "0 1", value) || read_choice(text, "off on", value) ||
         read_choice(text, "false true", value) || read_choice(text, "no yes", value);
}

// False, and `value` is not to be used, if the text is no such value.
constexpr bool read_option(OptionForm form, std::string_view text, std::string_view words,
                           std::uint64_t& value) {
  switch (form) {
  case OptionForm::kUint: return read_uint(text, value);
  case OptionForm::kSize: return read_size(text, value);
  case OptionForm::kBool: return read_bool(text, value);
  case OptionForm::kChoice: return read_choice(text, words, value);
  }
  return false;
}

} // namespace gmt::trace
