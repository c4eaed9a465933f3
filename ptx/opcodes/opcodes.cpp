// SPDX-License-Identifier: Apache-2.0
// The table, read by the compiler: a row that is wrong does not compile.
#include "ptx/opcodes/opcodes.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace gmt::ptx {
namespace {

constexpr std::string_view kTypeLetters = "TULW148pixl";

// Takes the part of `rest` that ends at `separator`.
constexpr std::string_view take_until(std::string_view* rest, char separator) {
  const std::size_t end = std::min(rest->find(separator), rest->size());
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return part;
}

constexpr bool take(std::string_view* rest, char letter) {
  if (rest->empty() || rest->front() != letter) return false;
  rest->remove_prefix(1);
  return true;
}

constexpr std::uint8_t number(std::string_view* rest) {
  std::uint8_t value = 0;
  for (; !rest->empty() && rest->front() >= '0' && rest->front() <= '9'; rest->remove_prefix(1))
    value = static_cast<std::uint8_t>(10 * value + (rest->front() - '0'));
  return value;
}

constexpr MemoryUse memory_use(char letter) {
  switch (letter) {
  case 'r': return MemoryUse::kRead;
  case 'w': return MemoryUse::kWritten;
  case 'u': return MemoryUse::kUpdated;
  case '-': return MemoryUse::kNotAccessed;
  default: throw std::logic_error("a use of memory that is none");
  }
}

// Behind the "[".
constexpr OperandPattern address_pattern(std::string_view rest) {
  OperandPattern pattern;
  pattern.type = '[';
  std::string_view inside = take_until(&rest, ']');
  pattern.memory = memory_use(inside.front());
  inside.remove_prefix(1);
  if (take(&inside, ':') && !inside.empty() && inside.front() != '@') {
    const char from = inside.front();
    if (from == 'T' || from == 'L' || from == '#') inside.remove_prefix(1);
    pattern.bytes_from = from == 'T' || from == 'L' || from == '#' ? from : 'n';
    pattern.bytes = number(&inside);
  }
  pattern.is_row = take(&inside, '*');
  if (take(&inside, '@')) {
    pattern.space = inside.front();
    inside.remove_prefix(1);
    if (std::string_view("12stm").find(pattern.space) == std::string_view::npos)
      throw std::logic_error("a space that is none");
  }
  pattern.is_optional = take(&rest, '?');
  if (!inside.empty() || !rest.empty()) throw std::logic_error("more in an address");
  return pattern;
}

constexpr OperandPattern operand_pattern(std::string_view word) {
  OperandPattern pattern;
  if (take(&word, '[')) return address_pattern(word);
  if (word == "..") {
    pattern.type = '.';
    pattern.is_optional = true;
    return pattern;
  }
  pattern.writes = word.front() == '=' || word.front() == '+';
  pattern.reads = word.front() != '=';
  if (pattern.writes) word.remove_prefix(1);
  pattern.type = word.front();
  if (kTypeLetters.find(pattern.type) == std::string_view::npos)
    throw std::logic_error("a type that is none");
  word.remove_prefix(1);
  pattern.is_vector = take(&word, 'v');
  pattern.may_be_pair = take(&word, '|');
  pattern.is_optional = take(&word, '?');
  if (!word.empty()) throw std::logic_error("more in an operand");
  return pattern;
}

struct Row {
  std::string_view name, forms, operands, implied;
  BitFlow flow = BitFlow::kAny;
  Accuracy accuracy = Accuracy::kExact;
  std::string_view since, programs;
};

constexpr Opcode opcode_of(const Row& row) {
  Opcode opcode{row.name, row.forms, row.implied, row.since, row.programs, row.flow, row.accuracy,
                {},       {},        0,           0};
  std::string_view rest = row.name;
  take_until(&rest, '.');
  while (!rest.empty()) opcode.words.at(opcode.word_count++) = take_until(&rest, '.');
  rest = row.operands;
  while (!rest.empty())
    opcode.operands.at(opcode.operand_count++) = operand_pattern(take_until(&rest, ' '));
  return opcode;
}

constexpr Accuracy exact = Accuracy::kExact, approximate = Accuracy::kApproximate,
                   by_words = Accuracy::kByWords, by_order = Accuracy::kByOrder;
constexpr Opcode kOpcodes[] = {
#define GMT_PTX_OPCODE(name, forms, operands, implied, flow, accuracy, way, since)                 \
  opcode_of({name, forms, operands, implied, BitFlow::flow, accuracy, #since, ""}),
#define GMT_PTX_NOT_EXECUTED(name, forms, operands, programs)                                      \
  opcode_of({name, forms, operands, "", BitFlow::kAny, Accuracy::kExact, "", programs}),
#include "ptx/opcodes/opcodes.def"
#undef GMT_PTX_OPCODE
#undef GMT_PTX_NOT_EXECUTED
};

using Rows = std::vector<const Opcode*>; // of one opcode, those with more words first

const std::unordered_map<std::string_view, Rows>& rows_by_opcode() {
  static const auto* const made = [] {
    auto* table = new std::unordered_map<std::string_view, Rows>;
    for (const Opcode& opcode : kOpcodes) (*table)[opcode.opcode()].push_back(&opcode);
    for (auto& [opcode, rows] : *table) {
      std::ranges::stable_sort(rows, std::ranges::greater{}, &Opcode::word_count);
    }
    return table;
  }();
  return *made;
}

} // namespace

std::span<const Opcode> opcodes() { return kOpcodes; }

bool is_opcode(std::string_view word) { return rows_by_opcode().contains(word); }

const Opcode* find_opcode(const Mnemonic& mnemonic) {
  const auto found = rows_by_opcode().find(mnemonic.opcode);
  if (found == rows_by_opcode().end()) return nullptr;
  for (const Opcode* opcode : found->second) {
    const auto* const end = opcode->words.begin() + opcode->word_count;
    if (std::all_of(opcode->words.begin(), end, [&](auto word) { return mnemonic.has(word); }))
      return opcode;
  }
  return nullptr;
}

bool is_inexact(const Opcode& opcode, const Mnemonic& mnemonic) {
  switch (opcode.accuracy) {
  case Accuracy::kExact: return false;
  case Accuracy::kApproximate: return true;
  case Accuracy::kByWords: return mnemonic.has("approx") || mnemonic.has("full");
  case Accuracy::kByOrder: {
    const std::vector<Type> types = types_of(mnemonic);
    if (types.empty() || !mnemonic.has("add")) return false;
    const std::string_view type = name_of(types.front());
    return type.starts_with("f") || type.starts_with("bf");
  }
  }
  return false;
}

std::vector<Type> types_of(const Mnemonic& mnemonic) {
  std::vector<Type> types;
  for (const std::string_view word : mnemonic.modifiers) {
    if (const Type type = type_named(word); type != Type::kNone) types.push_back(type);
  }
  return types;
}

Space space_of(const Mnemonic& mnemonic, std::size_t which) {
  for (const std::string_view word : mnemonic.modifiers) {
    const Space space = space_named(word);
    if (space != Space::kNone && which-- == 0) return space;
  }
  return Space::kNone;
}

} // namespace gmt::ptx
