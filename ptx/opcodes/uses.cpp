// SPDX-License-Identifier: Apache-2.0
// The operands of one instruction beside those of its row.
#include <algorithm>

#include "ptx/opcodes/opcodes.h"

namespace gmt::ptx {
namespace {

bool fits(const OperandPattern& pattern, const Operand& operand) {
  if (pattern.type == '[') return operand.kind == OperandKind::kAddress;
  if (pattern.type == 'l') return operand.kind == OperandKind::kList;
  if (operand.kind == OperandKind::kPair) return pattern.may_be_pair;
  if (pattern.type == 'i') return operand.kind == OperandKind::kImmediate;
  return operand.kind != OperandKind::kAddress && operand.kind != OperandKind::kList;
}

std::uint32_t elements_of(const Mnemonic& mnemonic) {
  for (const std::uint32_t count : {2u, 4u, 8u}) {
    const char word[] = {'v', static_cast<char>('0' + count), 0};
    if (mnemonic.has(word)) return count;
  }
  return 1;
}

Type twice(Type type) {
  switch (type) {
  case Type::kU16: return Type::kU32;
  case Type::kS16: return Type::kS32;
  case Type::kU32: return Type::kU64;
  case Type::kS32: return Type::kS64;
  default: return type;
  }
}

class Uses {
public:
  Uses(const Body& body, const Instruction& instruction)
      : body_(body), instruction_(instruction), mnemonic_(body.mnemonic(instruction)) {}

  OperandUse of(const OperandPattern& pattern) const {
    OperandUse use;
    if (pattern.type == '[') return of_address(pattern);
    use.reads = pattern.reads;
    use.writes = pattern.writes;
    use.type = type_of(pattern.type);
    return use;
  }

private:
  OperandUse of_address(const OperandPattern& pattern) const {
    OperandUse use;
    use.reads = true;
    use.memory = pattern.memory;
    use.is_row = pattern.is_row;
    switch (pattern.space) {
    case '1': use.space = space_of(mnemonic_, 0); break;
    case '2': use.space = space_of(mnemonic_, 1); break;
    case 's': use.space = Space::kShared; break;
    case 't': use.space = Space::kTexture; break;
    default: use.space = Space::kTensor; break;
    }
    switch (pattern.bytes_from) {
    case 'T':
    case 'L':
      use.type = type_of(pattern.bytes_from);
      use.bytes = std::uint64_t{size_of(use.type)} * elements_of(mnemonic_);
      break;
    case 'n': use.bytes = pattern.bytes; break;
    case '#': take_bytes(&use, pattern.bytes); break;
    default: break;
    }
    return use;
  }

  void take_bytes(OperandUse* use, std::uint32_t from) const {
    if (from >= instruction_.operand_count) return;
    const Operand& operand = body_.operand(instruction_, from);
    if (operand.kind == OperandKind::kImmediate) use->bytes = operand.bits;
    else use->bytes_operand = from;
  }

  Type named(std::size_t which, bool from_end = false) const {
    Type found = Type::kNone;
    for (const std::string_view word : mnemonic_.modifiers) {
      const Type type = type_named(word);
      if (type == Type::kNone) continue;
      found = type;
      if (!from_end && which-- == 0) return found;
    }
    return from_end ? found : Type::kNone;
  }

  Type type_of(char letter) const {
    switch (letter) {
    case 'T': return named(0);
    case 'U': return named(1);
    case 'L': return named(0, true);
    case 'W': return mnemonic_.has("wide") ? twice(named(0)) : named(0);
    case '1': return Type::kB16;
    case '4': return Type::kB32;
    case '8': return Type::kB64;
    case 'p': return Type::kPred;
    default: return Type::kNone;
    }
  }

  const Body& body_;
  const Instruction& instruction_;
  const Mnemonic& mnemonic_;
};

} // namespace

namespace {

// What no row tells, and what the ".." of a row does.
constexpr OperandPattern kUnknown;
constexpr OperandPattern kUnknownAddress{.type = '[', .memory = MemoryUse::kUpdated};
constexpr OperandPattern kFurtherAddress{.type = '[', .memory = MemoryUse::kRead, .space = 'm'};

const OperandPattern* further(const Operand& operand, bool is_known) {
  if (operand.kind != OperandKind::kAddress) return &kUnknown;
  return is_known ? &kFurtherAddress : &kUnknownAddress;
}

} // namespace

bool match_operands(const Body& body, const Instruction& instruction,
                    std::vector<const OperandPattern*>& matched) {
  matched.clear();
  const Opcode* const opcode = find_opcode(body.mnemonic(instruction));
  const std::span<const OperandPattern> patterns =
    opcode != nullptr ? opcode->patterns() : std::span<const OperandPattern>();
  const auto is_needed = [](const OperandPattern& each) { return !each.is_optional; };
  auto needed = static_cast<std::size_t>(std::ranges::count_if(patterns, is_needed));
  bool all_fit = opcode != nullptr;
  std::size_t next = 0;
  for (std::size_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = body.operand(instruction, i);
    const std::size_t left = instruction.operand_count - i;
    const auto is_passed_over = [&](const OperandPattern& each) {
      return each.is_optional && each.type != '.' && (left <= needed || !fits(each, operand));
    };
    while (next < patterns.size() && is_passed_over(patterns[next])) ++next;
    const bool is_there = next < patterns.size();
    if (!is_there || patterns[next].type == '.') {
      all_fit = all_fit && is_there;
      matched.push_back(further(operand, is_there));
      continue;
    }
    const OperandPattern& pattern = patterns[next++];
    if (!pattern.is_optional) --needed;
    all_fit = all_fit && fits(pattern, operand);
    matched.push_back(&pattern);
  }
  return all_fit && needed == 0;
}

bool uses_of(const Body& body, const Instruction& instruction, std::vector<OperandUse>& uses) {
  std::vector<const OperandPattern*> matched;
  const bool all_fit = match_operands(body, instruction, matched);
  const Uses meaning(body, instruction);
  uses.clear();
  for (const OperandPattern* pattern : matched) uses.push_back(meaning.of(*pattern));
  return all_fit;
}

} // namespace gmt::ptx
