// SPDX-License-Identifier: Apache-2.0
#include "ptx/print/units.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gmt::ptx {

bool Words::next(Word& word) {
  if (lexer_.at_end()) return false;
  word.begin = lexer_.offset();
  const char c = lexer_.peek();
  word.kind = WordKind::kMark;
  if (c == '"') {
    word.kind = WordKind::kString;
    lexer_.string("a text");
  } else if (lexer_.at_digit()) {
    word.kind = WordKind::kNumber;
    lexer_.literal();
  } else if (lexer_.at_identifier()) {
    word.kind = WordKind::kName;
    lexer_.identifier("a name");
  } else if (!lexer_.accept_directive().empty()) {
    word.kind = WordKind::kDirective;
  } else {
    lexer_.accept(c);
  }
  word.end = lexer_.offset();
  return true;
}

namespace {

class Splitter {
public:
  Splitter(Unit& unit) : unit_(unit), words_(unit.text, 0, unit.text.size()) {}

  void run() {
    Word word;
    while (words_.next(word)) {
      const std::string_view text = words_.of(word);
      if (text == ".version" || text == ".target" || text == ".address_size") head(word);
      else if (text == ".file") file(word);
      else if (text == ".section") section();
      else declaration(word);
    }
  }

private:
  std::size_t end_of_line(const Word& word) const {
    return std::min(unit_.text.size(), unit_.text.find('\n', word.end));
  }
  std::string_view rest_of_line(const Word& word) {
    words_.skip_line();
    const std::size_t end = end_of_line(word);
    return std::string_view(unit_.text).substr(word.end, end - word.end);
  }

  void head(const Word& word) {
    const std::string_view directive = words_.of(word);
    std::string_view rest = rest_of_line(word);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
    if (directive == ".target") {
      unit_.target = rest.substr(0, rest.find_last_not_of(" \t\r") + 1);
    } else if (directive == ".version") {
      const char* const end = rest.data() + rest.size();
      const auto major = std::from_chars(rest.data(), end, unit_.version[0]);
      if (major.ptr != end) std::from_chars(major.ptr + 1, end, unit_.version[1]);
    }
  }

  void file(const Word& word) {
    words_.skip_line();
    unit_.files.emplace_back(unit_.text, word.begin, end_of_line(word) - word.begin);
  }

  void section() {
    Word word;
    if (!words_.next(word)) return;
    const bool is_strings = words_.of(word) == ".debug_str";
    std::size_t begin = 0;
    for (Word before; words_.next(word); before = word) {
      const std::string_view text = words_.of(word);
      if (text == "{") begin = word.end;
      if (text == ":" && is_strings) unit_.new_names.emplace(words_.of(before), std::string());
      if (text == "}") break;
    }
    const std::string_view inside = std::string_view(unit_.text).substr(begin, word.begin - begin);
    const bool is_empty = inside.find_first_not_of(" \t\r\n") == std::string_view::npos;
    if (is_empty) return; // as clang writes
    if (!is_strings) throw LinkError("it has debug information (-G)");
    unit_.strings.append(unit_.text, begin, word.begin - begin);
  }

  void declaration(Word word) {
    Piece piece;
    piece.begin = word.begin;
    int braces = 0, parens = 0;
    bool has_value = false, is_function = false, is_done = false, is_aligned = false;
    do {
      const std::string_view text = words_.of(word);
      piece.end = word.end;
      if (word.kind == WordKind::kDirective && braces == 0) {
        is_function = is_function || text == ".func" || text == ".entry";
        note_directive(text, piece);
      }
      if (is_aligned) std::from_chars(text.data(), text.data() + text.size(), piece.alignment);
      is_aligned = text == ".align" && parens == 0 && braces == 0;
      if (word.kind == WordKind::kName && !is_function && has_value) piece.has_address = true;
      if (word.kind == WordKind::kName && parens == 0 && braces == 0 && piece.name.empty())
        piece.name = text;
      if (text == "=") has_value = true;
      if (text == "," && parens == 0 && braces == 0 && piece.kind == PieceKind::kVariable)
        throw LinkError("a declaration has several names");
      if (text == "(") ++parens;
      if (text == ")") --parens;
      if (text == "{" && braces++ == 0 && is_function) piece.body = word.begin;
      if (text == "}") --braces;
      is_done = braces == 0 && (text == ";" || (text == "}" && is_function));
    } while (!is_done && words_.next(word));
    if (piece.kind == PieceKind::kFunction && piece.body == 0) piece.kind = PieceKind::kDeclaration;
    unit_.pieces.push_back(std::move(piece));
  }

  static void note_directive(std::string_view text, Piece& piece) {
    if (text == ".visible") piece.linkage = Linkage::kVisible;
    else if (text == ".extern") piece.linkage = Linkage::kExtern;
    else if (text == ".weak") piece.linkage = Linkage::kWeak;
    else if (text == ".common") piece.linkage = Linkage::kCommon;
    else if (text == ".func") piece.kind = PieceKind::kFunction;
    else if (text == ".entry") piece.kind = PieceKind::kEntry;
    else if (text == ".alias") piece.kind = PieceKind::kAlias;
    else if (piece.kind == PieceKind::kOther &&
             (text == ".global" || text == ".const" || text == ".shared" || text == ".tex"))
      piece.kind = PieceKind::kVariable;
  }

  Unit& unit_;
  Words words_;
};

} // namespace

void split(Unit& unit) { Splitter(unit).run(); }

} // namespace gmt::ptx
