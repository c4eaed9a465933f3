// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/printable.h"

#include <cstddef>

namespace gmt {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0; // 0: no UTF-8 begins here
};

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// Overlong forms, surrogates and what is above U+10FFFF are none.
Character character_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  std::size_t bytes = 0;
  char32_t code = 0, least = 0;
  if (first >= 0xc2 && first < 0xe0) bytes = 2, code = first & 0x1fu, least = 0x80;
  else if (first >= 0xe0 && first < 0xf0) bytes = 3, code = first & 0x0fu, least = 0x800;
  else if (first >= 0xf0 && first < 0xf5) bytes = 4, code = first & 0x07u, least = 0x10000;
  else return {};
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text, at + i)) return {};
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < least || is_surrogate || code > 0x10ffff ? Character{} : Character{code, bytes};
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Marks, embeddings, overrides and isolates of direction; separators of lines and paragraphs.
bool changes_order(char32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x206f);
}

std::string cleaned(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const bool is_kept = kept.find(text[at]) != std::string_view::npos;
    if (is_kept ||
        (character.bytes != 0 && !is_control(character.code) && !changes_order(character.code)))
      out.append(text.substr(at, bytes));
    else out += '?';
    at += bytes;
  }
  return out;
}

} // namespace

std::string printable(std::string_view text) { return cleaned(text, {}); }

std::string printable_lines(std::string_view text) { return cleaned(text, "\n\t"); }

} // namespace gmt
