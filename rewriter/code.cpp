// SPDX-License-Identifier: Apache-2.0
// Registers are declared once a type: ".reg .b64 %gmt_d<12>".
#include "rewriter/code.h"

#include <iterator>
#include <utility>

namespace gmt::rewriter {
namespace {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

constexpr std::pair<Type, std::string_view> kPrefixes[] = {
  {Type::kPred, "%gmt_p"}, {Type::kB32, "%gmt_r"}, {Type::kB64, "%gmt_d"}};

} // namespace

std::uint32_t Code::new_register(Type type) {
  for (std::size_t i = 0; i < std::size(kPrefixes); ++i) {
    if (kPrefixes[i].first != type) continue;
    names_.push_back(std::string(kPrefixes[i].second) + std::to_string(counts_[i]++));
  }
  body_.registers.push_back({type, names_.back()});
  return static_cast<std::uint32_t>(body_.registers.size() - 1);
}

void Code::declare() {
  std::vector<ptx::Statement> statements;
  for (std::size_t i = 0; i < std::size(kPrefixes); ++i) {
    if (counts_[i] == 0) continue;
    statements.push_back(
      {ptx::StatementKind::kRegisters, static_cast<std::uint32_t>(body_.declarations.size()), 0});
    body_.declarations.push_back({kPrefixes[i].second, kPrefixes[i].first, 1, counts_[i]});
  }
  for (const std::uint32_t argument : arguments_)
    statements.push_back({ptx::StatementKind::kVariable, argument, 0});
  body_.statements.insert(body_.statements.begin(), statements.begin(), statements.end());
}

void Code::add(std::vector<ptx::Instruction>& into, std::string_view mnemonic,
               std::initializer_list<Operand> operands, Guard guard, std::uint32_t line) {
  const auto next = static_cast<std::uint32_t>(body_.mnemonics.size());
  const auto [found, is_new] = mnemonics_.try_emplace(mnemonic, next);
  if (is_new) body_.mnemonics.push_back(ptx::mnemonic_of(mnemonic));
  ptx::Instruction instruction;
  instruction.mnemonic = found->second;
  instruction.guard = guard.id;
  instruction.guard_negated = guard.negated;
  instruction.operand_count = static_cast<std::uint16_t>(operands.size());
  instruction.first_operand = static_cast<std::uint32_t>(body_.operands.size());
  instruction.line = line;
  body_.operands.insert(body_.operands.end(), operands);
  into.push_back(instruction);
}

Operand Code::address(std::uint32_t base, std::int64_t offset) {
  Operand part = reg(base);
  part.offset = offset;
  return address(part);
}

Operand Code::address(const Operand& base) {
  Operand address;
  address.kind = OperandKind::kAddress;
  address.count = 1;
  address.id = static_cast<std::uint32_t>(body_.operands.size());
  body_.operands.push_back(base);
  return address;
}

Operand Code::vector(std::initializer_list<Operand> parts) {
  Operand vector;
  vector.kind = OperandKind::kVector;
  vector.count = static_cast<std::uint16_t>(parts.size());
  vector.id = static_cast<std::uint32_t>(body_.operands.size());
  body_.operands.insert(body_.operands.end(), parts);
  return vector;
}

Operand Code::list(std::initializer_list<Operand> parts) {
  Operand list = vector(parts);
  list.kind = OperandKind::kList;
  return list;
}

std::uint32_t Code::new_argument(std::string_view name, std::uint64_t bytes) {
  ptx::Variable variable;
  variable.name = name;
  variable.space = ptx::Space::kParam;
  variable.type = Type::kB8;
  variable.is_array = true;
  variable.size = bytes;
  variable.alignment = 8;
  body_.variables.push_back(variable);
  arguments_.push_back(static_cast<std::uint32_t>(body_.variables.size() - 1));
  return arguments_.back();
}

std::uint32_t Code::new_label() {
  const auto id = static_cast<std::uint32_t>(body_.labels.size());
  names_.push_back("$gmt_" + std::to_string(id));
  body_.labels.push_back({names_.back(), 0});
  return id;
}

Operand Code::reg(std::uint32_t id, bool negated) {
  Operand operand = of(OperandKind::kRegister, id);
  operand.negated = negated;
  return operand;
}

Operand Code::number(std::int64_t value) { return of(OperandKind::kImmediate, ptx::kNone, value); }

Operand Code::special(ptx::SpecialRegister which) {
  return of(OperandKind::kSpecial, static_cast<std::uint32_t>(which));
}

Operand Code::of(OperandKind kind, std::uint32_t id, std::int64_t offset) {
  Operand operand;
  operand.kind = kind;
  operand.id = id;
  operand.offset = offset;
  return operand;
}

} // namespace gmt::rewriter
