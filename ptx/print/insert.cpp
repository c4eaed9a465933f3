// SPDX-License-Identifier: Apache-2.0
// One pass over the body, however many there are.
#include "ptx/print/insert.h"

#include <algorithm>
#include <utility>

namespace gmt::ptx {

void insert(Body& body, const std::vector<Insertion>& insertions) {
  std::vector<const Insertion*> sorted;
  sorted.reserve(insertions.size());
  for (const Insertion& insertion : insertions) sorted.push_back(&insertion);
  std::ranges::stable_sort(sorted, {}, [](const Insertion* insertion) {
    return std::pair(insertion->at, insertion->behind);
  });
  const auto old_size = static_cast<std::uint32_t>(body.instructions.size());
  std::vector<std::uint32_t> moved_to(old_size + 1); // what stands before an instruction
  std::vector<Instruction> all;
  all.reserve(old_size + insertions.size());
  auto next = sorted.begin();
  const auto add = [&](std::uint32_t at, bool behind) {
    for (; next != sorted.end() && (*next)->at == at && (*next)->behind == behind; ++next)
      all.push_back((*next)->instruction);
  };
  for (std::uint32_t i = 0; i < old_size; ++i) {
    moved_to[i] = static_cast<std::uint32_t>(all.size());
    add(i, false);
    all.push_back(body.instructions[i]);
    add(i, true);
  }
  moved_to[old_size] = static_cast<std::uint32_t>(all.size());
  add(old_size, false);
  body.instructions = std::move(all);
  for (Statement& statement : body.statements)
    statement.instruction = moved_to[statement.instruction];
  for (Label& label : body.labels) label.instruction = moved_to[label.instruction];
}

std::uint32_t add_registers(Body& body, Type type, const std::vector<std::string_view>& names) {
  const auto first = static_cast<std::uint32_t>(body.registers.size());
  std::vector<Statement> statements;
  for (const std::string_view name : names) {
    body.registers.push_back({type, name});
    statements.push_back(
      {StatementKind::kRegisters, static_cast<std::uint32_t>(body.declarations.size()), 0});
    body.declarations.push_back({name, type});
  }
  body.statements.insert(body.statements.begin(), statements.begin(), statements.end());
  return first;
}

} // namespace gmt::ptx
