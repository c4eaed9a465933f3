// SPDX-License-Identifier: Apache-2.0
// Lists are compared one after the other. The message names the first element that differs.
#include "tests/unit/ptx/support/syntax_difference.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "ptx/print/print.h"

namespace gmt::ptx::test {
namespace {

// All members but the offsets in the text.
auto members(const SymbolAddress& x) {
  return std::tie(x.at, x.size, x.mask, x.symbol, x.addend, x.generic);
}
auto members(const Instruction& x) {
  return std::tie(x.mnemonic, x.guard, x.guard_negated, x.operand_count, x.first_operand, x.line);
}
auto members(const Operand& x) {
  return std::tie(x.kind, x.negated, x.number, x.has_offset, x.count, x.id, x.bits);
}
auto members(const Mnemonic& x) { return std::tie(x.text, x.opcode, x.modifiers); }
auto members(const Register& x) { return std::tie(x.type, x.name, x.vector, x.component); }
auto members(const RegisterDeclaration& x) { return std::tie(x.name, x.type, x.vector, x.count); }
auto members(const Label& x) { return std::tie(x.name, x.instruction); }
auto members(const Table& x) { return std::tie(x.name, x.of_labels, x.targets); }

template <typename T>
bool same(const T& a, const T& b) {
  return members(a) == members(b);
}

bool same(const Variable& a, const Variable& b) {
  const auto simple = [](const Variable& x) {
    return std::tie(x.name, x.space, x.linkage, x.type, x.vector, x.is_array, x.unsized, x.managed,
                    x.is_pointer, x.pointer_space, x.pointer_alignment, x.alignment, x.size,
                    x.initial);
  };
  return simple(a) == simple(b) &&
         std::ranges::equal(a.addresses, b.addresses, same<SymbolAddress>);
}

bool same(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same(x, y); });
}

bool same(const Function& a, const Function& b) {
  const auto simple = [](const Function& x) {
    return std::tie(x.name, x.linkage, x.is_entry, x.has_body, x.noreturn, x.min_blocks,
                    x.max_registers, x.alias_of);
  };
  return simple(a) == simple(b) && same(a.returns, b.returns) && same(a.parameters, b.parameters) &&
         std::ranges::equal(a.max_threads, b.max_threads) &&
         std::ranges::equal(a.required_threads, b.required_threads) &&
         std::ranges::equal(a.required_cluster, b.required_cluster);
}

bool same(const Prototype& a, const Prototype& b) {
  return std::tie(a.name, a.noreturn, a.others) == std::tie(b.name, b.noreturn, b.others) &&
         same(a.returns, b.returns) && same(a.parameters, b.parameters);
}

bool same(const Statement& a, const Statement& b) { return a == b; }
bool same(const SourceLine& a, const SourceLine& b) { return a == b; }
bool same(std::string_view a, std::string_view b) { return a == b; }
bool same(std::uint32_t a, std::uint32_t b) { return a == b; }

class Comparison {
public:
  template <typename List>
  void compare(const char* what, const List& left, const List& right) {
    if (!found_.empty()) return;
    for (std::uint32_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (same(left[i], right[i])) continue;
      found_ = std::string(what) + " " + std::to_string(i);
      return;
    }
    if (left.size() == right.size()) return;
    found_ = "how many " + std::string(what) + "s: " + std::to_string(left.size()) + " and " +
             std::to_string(right.size());
  }
  void require(const char* what, bool good) {
    if (found_.empty() && !good) found_ = what;
  }
  std::string found() { return std::move(found_); }

private:
  std::string found_;
};

std::optional<Body> readable_body(const Module& module, const Function& function) {
  try {
    return parse_body(module, function);
  } catch (const ParseError&) {
    return std::nullopt;
  }
}

} // namespace

std::string difference(const Module& left, const Module& right) {
  Comparison comparison;
  const auto settings = [](const Module& module) {
    return std::tuple(module.version(), module.target_name(), module.debug(),
                      module.address_size());
  };
  comparison.require("version or target", settings(left) == settings(right));
  comparison.compare("variable", left.variables(), right.variables());
  comparison.compare("function", left.functions(), right.functions());
  return comparison.found();
}

std::string difference(const Body& left, const Body& right) {
  Comparison comparison;
  comparison.compare("mnemonic", left.mnemonics, right.mnemonics);
  comparison.compare("register", left.registers, right.registers);
  comparison.compare("declaration", left.declarations, right.declarations);
  comparison.compare("variable", left.variables, right.variables);
  comparison.compare("label", left.labels, right.labels);
  comparison.compare("prototype", left.prototypes, right.prototypes);
  comparison.compare("table", left.tables, right.tables);
  comparison.compare("pragma", left.pragmas, right.pragmas);
  comparison.compare("line", left.lines, right.lines);
  comparison.compare("statement", left.statements, right.statements);
  comparison.compare("operand", left.operands, right.operands);
  comparison.compare("instruction", left.instructions, right.instructions);
  comparison.compare("parameter", left.parameter_registers, right.parameter_registers);
  comparison.compare("return", left.return_registers, right.return_registers);
  return comparison.found();
}

std::string difference_when_printed(const Module& module) {
  const Module again = parse_module(print_module(
    module, [&module](const Function& function) { return readable_body(module, function); }));
  std::string found = difference(module, again);
  for (std::size_t i = 0; i < module.functions().size() && found.empty(); ++i) {
    const Function& function = module.functions()[i];
    if (!function.has_body) continue;
    const std::optional<Body> body = readable_body(module, function);
    if (!body) continue; // it stands in both texts as it is
    found = difference(*body, parse_body(again, again.functions()[i]));
    if (!found.empty()) found += " of " + std::string(function.name);
  }
  return found;
}

} // namespace gmt::ptx::test
