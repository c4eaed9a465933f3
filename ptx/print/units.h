// SPDX-License-Identifier: Apache-2.0
// A text that is joined with others, cut into its declarations as they stand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax/link.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {

// What stands between blanks and comments: names, directives with their point, and so on.
enum class WordKind : std::uint8_t { kName, kDirective, kNumber, kMark, kString };
struct Word {
  WordKind kind = WordKind::kMark;
  std::size_t begin = 0, end = 0;
};

class Words {
public:
  Words(std::string_view text, std::size_t begin, std::size_t end)
      : text_(text), lexer_(text, begin, end) {}

  bool next(Word& word); // false: at the end
  std::string_view of(const Word& word) const {
    return text_.substr(word.begin, word.end - word.begin);
  }
  void skip_line() { lexer_.skip_line(); }

private:
  std::string_view text_;
  Lexer lexer_;
};

enum class PieceKind : std::uint8_t { kVariable, kDeclaration, kFunction, kEntry, kAlias, kOther };

struct Piece {
  PieceKind kind = PieceKind::kOther;
  Linkage linkage = Linkage::kStatic;
  std::string name;
  std::size_t begin = 0, end = 0; // in the unit's text
  std::size_t body = 0;           // the "{" of a function
  bool has_address = false;       // a variable whose value names others
  std::uint32_t alignment = 0;
};

struct Unit {
  std::string text;
  std::string target;
  std::array<unsigned, 2> version{};
  std::vector<Piece> pieces;
  std::vector<std::string> files; // lines of .file
  std::string strings;            // what stands in .section .debug_str
  unsigned first_file = 0;        // is added to the numbers of files
  std::map<std::string, std::string, std::less<>> new_names;
};

// Fills all but `text`, `first_file` and what is in `new_names` already. Throws LinkError for what
// cannot be joined.
void split(Unit& unit);

} // namespace gmt::ptx
