// SPDX-License-Identifier: Apache-2.0
// Shapes by the table of opcodes, and those of the forms that have one of their own.
#include "simulated_cuda/executor/program/shape.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace gmt::executor {
namespace {

using ptx::Type;
using Rule = Shape::Rule;
using ShapeMemory = Shape::Memory;

struct Row {
  std::string_view name, results, sources;
};
constexpr std::string_view text(const char* letters) {
  return letters == nullptr ? std::string_view() : std::string_view(letters);
}
constexpr Row kRows[] = {
#define GMT_OPCODE(name, results, sources, noise) {#name, text(results), text(sources)},
#include "simulated_cuda/executor/program/opcodes.def"
#undef GMT_OPCODE
};

// A form taken apart.
struct Words {
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  std::vector<Type> types;

  explicit Words(std::string_view form) {
    while (!form.empty()) {
      const std::size_t end = std::min(form.find('.'), form.size());
      const std::string_view word = form.substr(0, end);
      form.remove_prefix(std::min(end + 1, form.size()));
      if (opcode.empty()) {
        opcode = word;
        continue;
      }
      modifiers.push_back(word);
      if (const Type type = ptx::type_named(word); type != Type::kNone) types.push_back(type);
    }
  }
  bool has(std::string_view word) const {
    return std::find(modifiers.begin(), modifiers.end(), word) != modifiers.end();
  }
};

bool is_integer(Type type) {
  const std::string_view name = ptx::name_of(type);
  const bool is_wide = name.find('x') != std::string_view::npos;
  return !is_wide && (name[0] == 'u' || name[0] == 's' || name[0] == 'b') && name[1] != 'f';
}

std::uint32_t bits_for(char letter, const Words& words) {
  const auto of_type = [&](std::size_t which) {
    return which < words.types.size() ? ptx::bits_of(words.types[which]) : 128;
  };
  switch (letter) {
  case '1': return 16;
  case '4': return 32;
  case '8': return 64;
  case 'p': return 1;
  case 'U': return of_type(1);
  case 'W': return words.has("wide") ? 2 * of_type(0) : of_type(0);
  default: return of_type(0);
  }
}

Rule rule_of(const Words& words) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), words.opcode) != names.end();
  };
  if (is({"not"})) return Rule::kMove;
  if (is({"and"})) return Rule::kAnd;
  if (is({"or"})) return Rule::kOr;
  if (is({"xor"})) return Rule::kUnion;
  if (is({"shl", "shr", "brev", "bfe", "szext"})) return Rule::kSame1;
  if (is({"prmt", "shf", "bfi", "selp", "slct"})) return Rule::kSame12;
  const bool integers =
    !words.types.empty() && std::all_of(words.types.begin(), words.types.end(), is_integer);
  if (!integers || words.has("sat")) return Rule::kAny;
  if (is({"cvt"}) && words.types.size() == 2) return Rule::kSame1;
  const bool is_unsigned = integers && ptx::name_of(words.types[0])[0] != 's';
  if (is({"clz", "bfind"}) && is_unsigned) return Rule::kTop;
  const bool whole = words.has("hi") || words.has("wide") || words.has("cc");
  if (is({"add", "sub", "mul", "mad", "neg", "abs"}) && !whole) return Rule::kSum;
  return Rule::kAny;
}

// Operands by the letters of opcodes.def.
void add_letters(Shape* shape, const Words& words, std::string_view results,
                 std::string_view sources) {
  std::uint32_t at = 0;
  for (const char letter : results)
    shape->results.push_back({at++, width_of_bits(bits_for(letter, words))});
  for (const char letter : sources) {
    if (letter != 'i') shape->sources.push_back({at++, width_of_bits(bits_for(letter, words))});
  }
  if (!results.empty()) shape->bits = bits_for(results[0], words);
}

void take_memory(Shape* shape, const Words& words, const Instruction& in, bool load) {
  shape->element = words.types.empty() ? 4 : ptx::bits_of(words.types.back()) / 8;
  shape->count = words.has("v4") ? 4 : words.has("v2") ? 2 : 1;
  shape->is_narrow = words.has("a32");
  if (in.r[4] != kNoOperand)
    shape->decides.push_back({4, shape->is_narrow ? TrackedWidth::k4 : TrackedWidth::k8});
  if (words.has("frame")) {
    shape->memory = load ? ShapeMemory::kFrameLoad : ShapeMemory::kFrameStore;
    return;
  }
  shape->memory = load ? ShapeMemory::kLoad : ShapeMemory::kStore;
  for (const std::string_view word : words.modifiers) {
    const ptx::Space space = ptx::space_named(word);
    if (space != ptx::Space::kNone) shape->space = space;
  }
}

void take_comparison(Shape* shape, const Words& words) {
  const TrackedWidth width =
    words.types.empty() ? TrackedWidth::k16 : width_of_bits(ptx::bits_of(words.types.back()));
  shape->sources = {{2, width}, {3, width}, {4, TrackedWidth::kPredicate}};
  if (words.opcode == "setp") {
    shape->rule = Rule::kCompare;
    shape->results = {{0, TrackedWidth::kPredicate}, {1, TrackedWidth::kPredicate}};
    return;
  }
  const std::uint32_t bits = words.types.size() < 2 ? 32 : ptx::bits_of(words.types.front());
  shape->results = {{0, width_of_bits(bits)}};
}

void take_parts(Shape* shape, const Words& words) {
  const bool whole = words.opcode == "pack";
  shape->rule = whole ? Rule::kWhole : Rule::kParts;
  shape->count = words.has("v4") ? 4 : 2;
  if (whole) shape->results = {{4, TrackedWidth::k16}};
  for (std::uint32_t i = 0; i < shape->count && !whole; ++i)
    shape->results.push_back({i, TrackedWidth::k16});
}

// Forms whose operands stand otherwise than the table says; false: there is nothing special.
bool take_special(Shape* shape, const Words& words, const Instruction& in) {
  const std::string_view opcode = words.opcode;
  constexpr TrackedWidth k4 = TrackedWidth::k4, k8 = TrackedWidth::k8,
                         kPredicate = TrackedWidth::kPredicate;
  if (opcode == "mov") {
    add_letters(shape, words, "T", "T");
    shape->rule = Rule::kMove;
  } else if (opcode == "ld" || opcode == "st") {
    take_memory(shape, words, in, opcode == "ld");
  } else if (opcode == "setp" || opcode == "set") {
    take_comparison(shape, words);
  } else if (opcode == "pack" || opcode == "unpack") {
    take_parts(shape, words);
  } else if (opcode == "atom" || opcode == "red") {
    // What an exchange stores is only moved; of a comparison, what it compares decides
    shape->decides = {{1, k8}};
    if (!words.has("exch") && !words.types.empty())
      shape->decides.push_back({2, width_of_bits(ptx::bits_of(words.types[0]))});
    if (opcode == "atom") add_letters(shape, words, "T", "");
  } else if (opcode == "special" || opcode == "local") {
    add_letters(shape, words, "T", "");
  } else if (opcode == "isspacep") {
    shape->results = {{0, kPredicate}};
    shape->sources = {{1, k8}};
  } else if (opcode == "shfl" || opcode == "vote" || opcode == "redux") {
    shape->of_lanes = true;
    if (in.r[5] != kNoOperand) shape->decides = {{5, k4}};
  } else if (opcode == "match" || opcode == "elect") {
    shape->results = {{0, k4}, {1, kPredicate}};
    if (in.r[5] != kNoOperand) shape->decides = {{5, k4}};
  } else if (opcode == "bar") {
    if (words.has("warp")) {
      shape->decides = {{0, k4}};
      return true;
    }
    if (words.has("red")) shape->results = {{0, words.has("popc") ? k4 : kPredicate}};
    shape->decides = {{1, k4}, {2, k4}, {3, kPredicate}};
  } else if (opcode == "mbarrier") {
    const bool waits = words.has("test_wait") || words.has("try_wait");
    if (in.r[0] != kNoOperand) shape->results = {{0, waits ? kPredicate : k8}};
    shape->decides = {{1, k8}, {2, waits && !words.has("parity") ? k8 : k4}};
  } else if (opcode == "brx") {
    shape->decides = {{0, k4}};
  } else if (opcode == "call") {
    shape->is_call = true;
    shape->decides = {{0, k8}};
  } else {
    return false;
  }
  return true;
}

} // namespace

TrackedWidth width_of_bits(std::uint32_t bits) {
  switch (bits) {
  case 1: return TrackedWidth::kPredicate;
  case 8: return TrackedWidth::k1;
  case 16: return TrackedWidth::k2;
  case 32: return TrackedWidth::k4;
  case 64: return TrackedWidth::k8;
  default: return TrackedWidth::k16;
  }
}

Shape shape_of(const std::string& form, const Instruction& in) {
  Shape shape;
  const Words words(form);
  if (take_special(&shape, words, in)) return shape;
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.name == words.opcode; });
  if (row == std::end(kRows)) return shape;
  const bool is_pair = words.opcode == "cvt" && in.r[2] != kNoOperand;
  add_letters(&shape, words, row->results, is_pair ? "UU" : row->sources);
  shape.rule = is_pair ? Rule::kAny : rule_of(words);
  return shape;
}

std::string exact_comparison(const std::string& form) {
  struct Known {
    std::string_view name, relation;
    bool is_swapped;
  };
  static constexpr Known kKnown[] = {{"eq", "eq", false}, {"ne", "eq", false}, {"lt", "lt", false},
                                     {"lo", "lt", false}, {"le", "le", false}, {"ls", "le", false},
                                     {"gt", "lt", true},  {"hi", "lt", true},  {"ge", "le", true},
                                     {"hs", "le", true}};
  constexpr std::string_view kBegin = "setp.";
  if (!form.starts_with(kBegin)) return {};
  const std::size_t dot = form.find('.', kBegin.size());
  if (dot == form.npos) return {};
  const std::string_view words = form;
  const std::string_view name = words.substr(kBegin.size(), dot - kBegin.size());
  std::string type(words.substr(dot + 1));
  if (type.front() == 'b') type.front() = 'u';
  const bool is_integer = type == "u16" || type == "u32" || type == "u64" || type == "s16" ||
                          type == "s32" || type == "s64";
  const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& each) { return each.name == name; });
  if (!is_integer || known == std::end(kKnown)) return {};
  return std::string(known->is_swapped ? "~" : "") + "track.compare." +
         std::string(known->relation) + "." + type;
}

} // namespace gmt::executor
