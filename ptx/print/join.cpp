// SPDX-License-Identifier: Apache-2.0
// Works on the declarations of the texts as they stand. Functions are declared first, then come
// variables, then code: so each name stands before its uses, whichever text it is from.
#include "ptx/print/join.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "ptx/print/units.h"

namespace gmt::ptx {
namespace {

class Joiner {
public:
  explicit Joiner(const std::vector<ModuleText>& texts) {
    units_.reserve(texts.size()); // pieces have addresses
    for (const ModuleText& text : texts) {
      Unit& unit = units_.emplace_back();
      unit.text = text.text;
      unit.new_names = text.new_names;
      split(unit);
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
