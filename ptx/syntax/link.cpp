// SPDX-License-Identifier: Apache-2.0
// Linking in three steps: choose the definition of each name that modules share, give numbers to
// all variables and functions, and say what is missing.
#include "ptx/syntax/link.h"

#include <utility>

#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {
namespace {

constexpr int kLongestAlias = 16; // an alias of an alias of ...

std::string module_name(std::uint32_t index) { return "module " + std::to_string(index + 1); }

// A definition that other modules may mean.
struct Definition {
  SymbolKind kind = SymbolKind::kVariable;
  std::uint32_t module = 0;
  std::uint32_t index = 0;
  int rank = 0;           // the highest one is kept
  std::uint64_t size = 0; // of those that merge, the largest one
};
constexpr int kMerges = 0; // .common, and shared memory of which the launch says how large it is
constexpr int kWeak = 1;
constexpr int kStrong = 2;

bool is_dynamic_shared(const Variable& variable) {
  return variable.space == Space::kShared && variable.unsized;
}

bool is_definition(const Variable& variable) {
  return variable.linkage != Linkage::kExtern || is_dynamic_shared(variable);
}

bool is_definition(const Function& function) {
  return function.has_body || !function.alias_of.empty();
}

int rank_of(Linkage linkage) {
  if (linkage == Linkage::kCommon) return kMerges;
  return linkage == Linkage::kWeak ? kWeak : kStrong;
}

bool continues_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

// Whether code or an initializer names a symbol: what is only declared need not exist.
bool is_used(const Module& module, std::string_view name) {
  for (const Variable& variable : module.variables()) {
    for (const SymbolAddress& address : variable.addresses) {
      if (address.symbol == name) return true;
    }
  }
  const std::string_view text = module.text();
  for (const Function& function : module.functions()) {
    if (!function.has_body) continue;
    const std::string_view body =
      text.substr(function.body_begin, function.body_end - function.body_begin);
    for (std::size_t at = body.find(name); at != std::string_view::npos;
         at = body.find(name, at + 1)) {
      const std::size_t behind = at + name.size();
      const bool is_begin = at == 0 || !continues_name(body[at - 1]);
      if (is_begin && (behind == body.size() || !continues_name(body[behind]))) return true;
    }
  }
  return false;
}

} // namespace

class Linked::Linker {
public:
  Linker(Linked& linked, IsBuiltIn is_built_in) : linked_(linked), is_built_in_(is_built_in) {}

  void link() {
    for (std::uint32_t m = 0; m < linked_.modules_.size(); ++m) offer_all(m);
    check();
    linked_.variable_of_.resize(linked_.modules_.size());
    linked_.function_of_.resize(linked_.modules_.size());
    for (std::uint32_t m = 0; m < linked_.modules_.size(); ++m) {
      number_variables(m);
      number_functions(m);
    }
    add_static_names();
    check();
  }

private:
  void check() const {
    if (!errors_.empty()) throw LinkError(errors_);
  }

  void add_error(const std::string& error) { errors_ += (errors_.empty() ? "" : "; ") + error; }

  void offer_all(std::uint32_t m) {
    const Module& module = *linked_.modules_[m];
    for (std::uint32_t i = 0; i < module.variables().size(); ++i) {
      const Variable& variable = module.variables()[i];
      if (!is_definition(variable) || variable.linkage == Linkage::kStatic) continue;
      if (is_dynamic_shared(variable)) {
        offer(variable.name, {SymbolKind::kVariable, m, i, kMerges, variable.alignment});
      } else {
        offer(variable.name,
              {SymbolKind::kVariable, m, i, rank_of(variable.linkage), variable.size});
      }
    }
    for (std::uint32_t i = 0; i < module.functions().size(); ++i) {
      const Function& function = module.functions()[i];
      if (!is_definition(function) || function.linkage == Linkage::kStatic) continue;
      offer(function.name, {SymbolKind::kFunction, m, i, rank_of(function.linkage), 0});
    }
  }

  void offer(std::string_view name, const Definition& offered) {
    const auto [found, is_new] = chosen_.try_emplace(name, offered);
    if (is_new) return;
    Definition& other = found->second;
    const std::string both = module_name(other.module) + " and in " + module_name(offered.module);
    if (other.kind != offered.kind) {
      add_error(quoted(name) + " is a variable and a function, in " + both);
    } else if (other.rank == kStrong && offered.rank == kStrong) {
      add_error(quoted(name) + " is defined in " + both);
    } else if (offered.rank > other.rank ||
               (offered.rank == kMerges && other.rank == kMerges && offered.size > other.size)) {
      other = offered;
    }
  }

  const Definition* chosen(std::string_view name, SymbolKind kind) const {
    const auto found = chosen_.find(name);
    return found == chosen_.end() || found->second.kind != kind ? nullptr : &found->second;
  }

  // The linked number of a shared name; a new one if this is its first module.
  std::pair<std::uint32_t, bool> shared(std::string_view name, SymbolKind kind, std::size_t next) {
    const Symbol symbol{kind, static_cast<std::uint32_t>(next)};
    const auto [found, is_new] = linked_.names_.try_emplace(name, symbol);
    if (!is_new && found->second.kind != kind) {
      add_error(quoted(name) + " is a variable and a function");
    }
    return {found->second.kind == kind ? found->second.index : 0, is_new};
  }

  void number_variables(std::uint32_t m) {
    const Module& module = *linked_.modules_[m];
    for (const Variable& variable : module.variables()) {
      std::pair<std::uint32_t, bool> number{static_cast<std::uint32_t>(linked_.variables_.size()),
                                            true};
      LinkedVariable found{m, &variable, false};
      if (variable.linkage != Linkage::kStatic) {
        number = shared(variable.name, SymbolKind::kVariable, linked_.variables_.size());
        if (const Definition* definition = chosen(variable.name, SymbolKind::kVariable)) {
          found.module = definition->module;
          found.variable = &linked_.modules_[definition->module]->variables()[definition->index];
        } else {
          found.missing = true;
          require(module, m, variable.name, "variable");
        }
      }
      linked_.variable_of_[m].push_back(number.first);
      if (number.second) linked_.variables_.push_back(found);
    }
  }

  void number_functions(std::uint32_t m) {
    const Module& module = *linked_.modules_[m];
    for (std::uint32_t i = 0; i < module.functions().size(); ++i) {
      const Function& function = module.functions()[i];
      const bool is_own = function.linkage == Linkage::kStatic && is_definition(function);
      std::pair<std::uint32_t, bool> number{static_cast<std::uint32_t>(linked_.functions_.size()),
                                            true};
      LinkedFunction found{m, &function, false, false};
      if (!is_own) number = shared(function.name, SymbolKind::kFunction, linked_.functions_.size());
      const Definition own{SymbolKind::kFunction, m, i, kStrong, 0};
      const Definition* definition = is_own ? &own : chosen(function.name, SymbolKind::kFunction);
      if (definition != nullptr) {
        found.module = definition->module;
        found.function =
          behind_aliases(*linked_.modules_[definition->module], definition->index, function);
      } else if (function.is_entry) { // ptxas: an unresolved function, used or not
        add_error("no module defines the kernel " + quoted(function.name) + ", which " +
                  module_name(m) + " declares");
      } else if (is_built_in_ != nullptr && is_built_in_(function.name)) {
        found.built_in = true;
      } else {
        found.missing = true;
        require(module, m, function.name, "function");
      }
      linked_.function_of_[m].push_back(number.first);
      if (number.second) linked_.functions_.push_back(found);
    }
  }

  void require(const Module& module, std::uint32_t m, std::string_view name, const char* what) {
    if (!is_used(module, name)) return;
    add_error("no module defines the " + std::string(what) + " " + quoted(name) + ", which " +
              module_name(m) + " uses");
  }

  // The function of the same module that has the body.
  const Function* behind_aliases(const Module& module, std::uint32_t index, const Function& asked) {
    for (int i = 0; i < kLongestAlias; ++i) {
      const Function& function = module.functions()[index];
      if (function.has_body) return &function;
      const std::optional<Symbol> target = module.find(function.alias_of);
      if (!target || target->kind != SymbolKind::kFunction) break;
      index = target->index;
    }
    add_error(quoted(asked.name) + " is an alias of no function with a body");
    return &asked;
  }

  // Names that one module alone has and does not share, for the host: unique ones only.
  void add_static_names() {
    std::unordered_map<std::string_view, std::uint32_t> count;
    for (const auto& module : linked_.modules_) {
      for (const Variable& variable : module->variables()) ++count[variable.name];
      for (const Function& function : module->functions()) ++count[function.name];
    }
    for (std::uint32_t i = 0; i < linked_.variables_.size(); ++i) {
      const std::string_view name = linked_.variables_[i].variable->name;
      if (count[name] == 1) linked_.names_.try_emplace(name, Symbol{SymbolKind::kVariable, i});
    }
    for (std::uint32_t m = 0; m < linked_.modules_.size(); ++m) {
      const auto& functions = linked_.modules_[m]->functions();
      for (std::uint32_t i = 0; i < functions.size(); ++i) {
        if (count[functions[i].name] != 1) continue;
        linked_.names_.try_emplace(functions[i].name,
                                   Symbol{SymbolKind::kFunction, linked_.function_of_[m][i]});
      }
    }
  }

  Linked& linked_;
  IsBuiltIn is_built_in_;
  std::unordered_map<std::string_view, Definition> chosen_;
  std::string errors_;
};

Linked Linked::link(std::vector<std::shared_ptr<const Module>> modules, IsBuiltIn is_built_in) {
  Linked linked;
  linked.modules_ = std::move(modules);
  Linker(linked, is_built_in).link();
  return linked;
}

std::uint32_t Linked::variable_of(std::uint32_t module, std::uint32_t variable) const {
  return variable_of_[module][variable];
}

std::uint32_t Linked::function_of(std::uint32_t module, std::uint32_t function) const {
  return function_of_[module][function];
}

std::optional<Symbol> Linked::find(std::uint32_t module, std::string_view name) const {
  std::optional<Symbol> symbol = modules_[module]->find(name);
  if (!symbol) return find(name);
  const auto& numbers = symbol->kind == SymbolKind::kVariable ? variable_of_ : function_of_;
  symbol->index = numbers[module][symbol->index];
  return symbol;
}

std::optional<Symbol> Linked::find(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

} // namespace gmt::ptx
