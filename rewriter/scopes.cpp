// SPDX-License-Identifier: Apache-2.0
// A name of an inner scope may hide another one: all registers that have such a name get a new one.
#include "rewriter/scopes.h"

#include <algorithm>
#include <vector>

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Statement;
using ptx::StatementKind;

bool has_name(const ptx::Register& candidate, const ptx::RegisterDeclaration& declaration) {
  if (declaration.count == ptx::kNone) return candidate.name == declaration.name;
  if (!candidate.name.starts_with(declaration.name)) return false;
  const std::string_view rest = candidate.name.substr(declaration.name.size());
  return !rest.empty() && std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
}

// Marks statements that shall go: declarations of registers in inner scopes, and scopes around
// nothing else than code. False: memory is declared in an inner scope, but for parameters of calls.
bool find_superfluous(const Body& body, std::vector<bool>& goes) {
  struct Scope {
    std::size_t opened = 0;
    bool declares = false;
  };
  std::vector<Scope> scopes;
  for (std::size_t i = 0; i < body.statements.size(); ++i) {
    const Statement& statement = body.statements[i];
    if (statement.kind == StatementKind::kOpen) {
      scopes.push_back({i});
    } else if (statement.kind == StatementKind::kClose) {
      if (scopes.empty()) return false;
      if (!scopes.back().declares) goes[i] = goes[scopes.back().opened] = true;
      scopes.pop_back();
    } else if (!scopes.empty()) {
      if (statement.kind == StatementKind::kRegisters) goes[i] = true;
      const bool is_name =
        statement.kind == StatementKind::kVariable || statement.kind == StatementKind::kLabel ||
        statement.kind == StatementKind::kPrototype || statement.kind == StatementKind::kTable;
      if (is_name) scopes.back().declares = true;
      if (statement.kind == StatementKind::kVariable &&
          body.variables[statement.id].space != ptx::Space::kParam)
        return false;
    }
  }
  return true;
}

} // namespace

std::string flatten_scopes(Body& body, Names& names) {
  std::vector<bool> goes(body.statements.size());
  if (!find_superfluous(body, goes)) return "memory is declared in an inner scope";
  std::vector<bool> is_renamed(body.registers.size());
  for (std::size_t i = 0; i < goes.size(); ++i) {
    if (!goes[i] || body.statements[i].kind != StatementKind::kRegisters) continue;
    const ptx::RegisterDeclaration& declaration = body.declarations[body.statements[i].id];
    for (std::size_t k = 0; k < body.registers.size(); ++k) {
      if (!has_name(body.registers[k], declaration)) continue;
      if (body.registers[k].vector > 1) return "vector registers in an inner scope";
      is_renamed[k] = true;
    }
  }
  std::vector<Statement> statements;
  for (std::size_t k = 0; k < body.registers.size(); ++k) {
    if (!is_renamed[k]) continue;
    names.push_back("%gmt_s" + std::to_string(k));
    body.registers[k].name = names.back();
    statements.push_back(
      {StatementKind::kRegisters, static_cast<std::uint32_t>(body.declarations.size()), 0});
    body.declarations.push_back({names.back(), body.registers[k].type});
  }
  for (std::size_t i = 0; i < goes.size(); ++i) {
    if (!goes[i]) statements.push_back(body.statements[i]);
  }
  body.statements = std::move(statements);
  return {};
}

} // namespace gmt::rewriter
