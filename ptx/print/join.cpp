// SPDX-License-Identifier: Apache-2.0
// Works on the declarations of the texts as they stand. Functions are declared first, then come
// variables, then code: so each name stands before its uses, whichever text it is from.
#include "ptx/print/join.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "ptx/syntax/link.h"
#include "ptx/syntax/ptx.h"

namespace gmt::ptx {
namespace {

// ---------------------------------------------------------------- words of a text

enum class WordKind : std::uint8_t { kName, kDirective, kNumber, kMark, kString };
struct Word {
  WordKind kind = WordKind::kMark;
  std::size_t begin = 0, end = 0;
};

bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class Words {
public:
  Words(std::string_view text, std::size_t begin, std::size_t end)
      : text_(text.substr(0, end)), at_(begin) {}

  bool next(Word& word) {
    skip_blank();
    if (at_ >= text_.size()) return false;
    const char c = text_[at_];
    word.begin = at_++;
    word.kind = WordKind::kMark;
    if (c == '"') {
      word.kind = WordKind::kString;
      at_ = std::min(text_.size(), text_.find('"', at_));
      if (at_ < text_.size()) ++at_;
    } else if (c == '%' || is_in_name(c) ||
               (c == '.' && at_ < text_.size() && is_in_name(text_[at_]))) {
      while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
      word.kind = WordKind::kName;
      if (c == '.') word.kind = WordKind::kDirective;
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) word.kind = WordKind::kNumber;
    }
    word.end = at_;
    return true;
  }
  std::string_view of(const Word& word) const {
    return text_.substr(word.begin, word.end - word.begin);
  }
  std::size_t end_of_line(std::size_t from) const {
    return std::min(text_.size(), text_.find('\n', from));
  }
  void go_to(std::size_t at) { at_ = at; }

private:
  void skip_blank() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      else if (text_.substr(at_, 2) == "//") at_ = end_of_line(at_);
      else if (text_.substr(at_, 2) == "/*")
        at_ = std::min(text_.size(), text_.find("*/", at_ + 2)) + 2;
      else return;
    }
  }

  std::string_view text_;
  std::size_t at_;
};

// ---------------------------------------------------------------- declarations

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

class Splitter {
public:
  Splitter(Unit& unit) : unit_(unit), words_(unit.text, 0, unit.text.size()) {}

  void split() {
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
  std::string_view rest_of_line(const Word& word) {
    const std::size_t end = words_.end_of_line(word.end);
    words_.go_to(end);
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
    rest_of_line(word);
    const std::size_t end = words_.end_of_line(word.end);
    unit_.files.emplace_back(unit_.text, word.begin, end - word.begin);
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

// ---------------------------------------------------------------- the joined text

class Joiner {
public:
  explicit Joiner(const std::vector<ModuleText>& texts) {
    units_.reserve(texts.size()); // pieces have addresses
    for (const ModuleText& text : texts) {
      Unit& unit = units_.emplace_back();
      unit.text = text.text;
      unit.new_names = text.new_names;
      Splitter(unit).split();
    }
  }

  std::string join() {
    name_apart();
    choose();
    std::string out = head();
    for (Unit& unit : units_) {
      for (const std::string& file : unit.files)
        append(unit, file, 0, file.size(), out), out += '\n';
    }
    const auto write = [&](auto is_wanted, bool heads) {
      for (const auto& [unit, piece] : chosen_) {
        if (!is_wanted(*piece)) continue;
        append(*unit, unit->text, piece->begin, heads ? piece->body : piece->end, out);
        out += heads ? ";\n" : "\n";
      }
    };
    write([](const Piece& p) { return p.kind == PieceKind::kOther; }, false);
    write([](const Piece& p) { return p.kind == PieceKind::kDeclaration; }, false);
    write([](const Piece& p) { return p.kind == PieceKind::kFunction; }, true);
    for (const bool has_address : {false, true}) {
      write(
        [has_address](const Piece& p) {
          return p.kind == PieceKind::kVariable && p.has_address == has_address;
        },
        false);
    }
    write(
      [](const Piece& p) { return p.kind == PieceKind::kFunction || p.kind == PieceKind::kEntry; },
      false);
    write([](const Piece& p) { return p.kind == PieceKind::kAlias; }, false);
    add_strings(out);
    return out;
  }

private:
  static bool is_code(const Piece& piece) {
    return piece.kind == PieceKind::kFunction || piece.kind == PieceKind::kEntry;
  }

  // Static names that another unit has, too, and labels of strings, which all units have.
  void name_apart() {
    std::map<std::string, std::size_t> first_unit;
    unsigned files = 0;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Unit& unit = units_[u];
      const std::string behind = "$unit" + std::to_string(u);
      for (auto& [label, name] : unit.new_names) {
        if (name.empty()) name = label + behind;
      }
      for (const Piece& piece : unit.pieces) {
        if (piece.name.empty()) continue;
        const auto [known, is_new] = first_unit.try_emplace(piece.name, u);
        if (is_new || known->second == u) continue;
        is_shared_[piece.name] = true;
      }
      unit.first_file = files;
      files += static_cast<unsigned>(unit.files.size());
    }
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (const Piece& piece : units_[u].pieces) {
        const bool is_own = piece.linkage == Linkage::kStatic && piece.kind != PieceKind::kAlias &&
                            piece.kind != PieceKind::kOther;
        if (!is_own || !is_shared_.contains(piece.name)) continue;
        if (piece.kind == PieceKind::kEntry)
          throw LinkError("two of its files have a kernel " + piece.name);
        units_[u].new_names[piece.name] = piece.name + "$unit" + std::to_string(u);
      }
    }
  }

  static int rank(const Piece& piece) {
    if (piece.kind == PieceKind::kDeclaration) return 0;
    switch (piece.linkage) {
    case Linkage::kExtern: return 1;
    case Linkage::kWeak:
    case Linkage::kCommon: return 2;
    default: return 3;
    }
  }

  // Of each name the definition, or one declaration.
  void choose() {
    std::map<std::string, std::size_t, std::less<>> index;
    for (Unit& unit : units_) {
      for (const Piece& piece : unit.pieces) {
        const auto renamed = unit.new_names.find(piece.name);
        const std::string& name = renamed == unit.new_names.end() ? piece.name : renamed->second;
        const bool is_named = piece.kind != PieceKind::kOther && piece.kind != PieceKind::kAlias;
        const auto [known, is_new] = index.try_emplace(
          is_named ? name : unit.text.substr(piece.begin, piece.end - piece.begin), chosen_.size());
        if (is_new) {
          chosen_.emplace_back(&unit, &piece);
          continue;
        }
        auto& [other_unit, other] = chosen_[known->second];
        if (!is_named) continue;
        const bool is_variable = piece.kind == PieceKind::kVariable;
        if (is_variable != (other->kind == PieceKind::kVariable))
          throw LinkError(name + " is a function and a variable");
        if (rank(piece) == 3 && rank(*other) == 3) throw LinkError(name + " is there twice");
        const bool is_better =
          rank(piece) > rank(*other) ||
          (rank(piece) == rank(*other) && is_variable && piece.alignment > other->alignment);
        if (is_better) other_unit = &unit, other = &piece;
      }
    }
  }

  std::string head() const {
    std::array<unsigned, 2> version{};
    for (const Unit& unit : units_) {
      version = std::max(version, unit.version);
      if (unit.target != units_[0].target) throw LinkError("its files are for different devices");
    }
    if (units_[0].target.find("debug") != std::string::npos)
      throw LinkError("it has debug information (-G)");
    return ".version " + std::to_string(version[0]) + "." + std::to_string(version[1]) +
           "\n.target " + units_[0].target + "\n.address_size 64\n\n";
  }

  // With the unit's new names and numbers of files.
  static void append(const Unit& unit, const std::string& text, std::size_t begin, std::size_t end,
                     std::string& out) {
    Words words(text, begin, end);
    std::size_t written = begin;
    bool is_file = false;
    for (Word word; words.next(word);) {
      const std::string_view now = words.of(word);
      if (word.kind == WordKind::kNumber && is_file) {
        unsigned number = 0;
        std::from_chars(now.data(), now.data() + now.size(), number);
        out.append(text, written, word.begin - written);
        out += std::to_string(number + unit.first_file);
        written = word.end;
      } else if (word.kind == WordKind::kName) {
        const auto found = unit.new_names.find(now);
        if (found != unit.new_names.end()) {
          out.append(text, written, word.begin - written);
          out += found->second;
          written = word.end;
        }
      }
      is_file = now == ".loc" || now == ".file" || now == "inlined_at";
    }
    out.append(text, written, end - written);
  }

  void add_strings(std::string& out) const {
    std::string strings;
    for (const Unit& unit : units_) append(unit, unit.strings, 0, unit.strings.size(), strings);
    if (!strings.empty()) out += "\t.section\t.debug_str\n\t{" + strings + "\n\t}\n";
  }

  std::vector<Unit> units_;
  std::map<std::string, bool> is_shared_;
  std::vector<std::pair<Unit*, const Piece*>> chosen_;
};

} // namespace

std::string join_modules(const std::vector<ModuleText>& texts) {
  if (texts.empty()) throw LinkError("it has no code");
  return Joiner(texts).join();
}

std::string join_modules(const std::vector<std::string>& texts) {
  if (texts.size() == 1) return texts[0];
  std::vector<ModuleText> all;
  for (const std::string& text : texts) all.push_back({text, {}});
  return join_modules(all);
}

} // namespace gmt::ptx
