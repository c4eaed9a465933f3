// SPDX-License-Identifier: Apache-2.0
// Reads DWARF's call sites, see tail_calls.h: those of DWARF 5 and the GNU extension of DWARF 4.
#include "analyzer/symbols/tail_calls.h"

#include <dwarf.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/dwarf_lookup.h"
#include "analyzer/symbols/elf_file.h"

namespace gmt {
namespace {

// Calls `visit` for each scope and call site of a function, until it returns true. Functions within
// are others.
template <typename Visit> bool any_within(Dwarf_Die scope, Visit&& visit, unsigned depth = 0) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&scope, &child) != 0) return false;
  do {
    switch (dwarf_tag(&child)) {
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
      if (visit(child) || any_within(child, visit, depth + 1)) return true;
      break;
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
      if (visit(child)) return true;
      break;
    default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

bool is_call_site(Dwarf_Die& die) {
  return dwarf_tag(&die) == DW_TAG_call_site || dwarf_tag(&die) == DW_TAG_GNU_call_site;
}

bool returns_to(Dwarf_Die& site, std::uint64_t address) {
  const unsigned name = dwarf_tag(&site) == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
  Dwarf_Attribute value;
  Dwarf_Addr at = 0;
  return dwarf_attr(&site, name, &value) != nullptr && dwarf_formaddr(&value, &at) == 0 &&
         at == address;
}

bool has_flag(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute value;
  bool set = false;
  return dwarf_attr(&die, name, &value) != nullptr && dwarf_formflag(&value, &set) == 0 && set;
}

bool is_tail_call(Dwarf_Die& die) {
  return is_call_site(die) &&
         (has_flag(die, DW_AT_call_tail_call) || has_flag(die, DW_AT_GNU_tail_call));
}

bool follow(Dwarf_Die& die, unsigned name, Dwarf_Die& result) {
  Dwarf_Attribute value;
  return dwarf_attr(&die, name, &value) != nullptr && dwarf_formref_die(&value, &result) != nullptr;
}

// What a call through a pointer does not have.
bool origin_of(Dwarf_Die& site, Dwarf_Die& result) {
  return follow(site, DW_AT_call_origin, result) || follow(site, DW_AT_abstract_origin, result);
}

// Definitions, clones and copies of a function lead to one declaration.
Dwarf_Die declaration_of(Dwarf_Die die) {
  Dwarf_Die next;
  for (unsigned steps = 0; steps < 8; ++steps) {
    if (!follow(die, DW_AT_abstract_origin, next) && !follow(die, DW_AT_specification, next)) break;
    die = next;
  }
  return die;
}

// As the linker knows it, if other units can call it.
std::string linked_name(Dwarf_Die& die) {
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    Dwarf_Attribute value;
    if (attribute == DW_AT_name) {
      if (dwarf_attr_integrate(&die, DW_AT_external, &value) == nullptr) return {};
    }
    if (dwarf_attr_integrate(&die, attribute, &value) == nullptr) continue;
    if (const char* name = dwarf_formstring(&value); name != nullptr) return name;
  }
  return {};
}

bool is_stub(Dwarf_Die die) {
  const std::string name = linked_name(die);
  const char* plain = dwarf_diename(&die);
  return name.find("__device_stub_") != std::string::npos ||
         (plain != nullptr &&
          std::string_view(plain).find("__device_stub_") != std::string_view::npos);
}

// What nvcc puts instead of a kernel is no function of the program's: it calls, or has inlined, the
// launch's stub.
bool stands_for_kernel(const Dwarf_Die& function) {
  return any_within(function, [](Dwarf_Die& die) {
    Dwarf_Die other;
    if (is_call_site(die)) return origin_of(die, other) && is_stub(other);
    return follow(die, DW_AT_abstract_origin, other) && is_stub(other);
  });
}

// CUDA's own functions end a stack as it is shown; what the headers make of them is theirs too.
bool is_cuda_name(std::string_view function) {
  const std::string_view name = unscoped_function(function);
  return name.starts_with("cuda") || name.starts_with("__cuda") ||
         (name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z');
}

std::vector<CodeRange> code_of(const std::vector<Dwarf_Die>& definitions) {
  std::vector<CodeRange> code;
  for (Dwarf_Die die : definitions) {
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;) {
      if (low > 1 && low < high) code.push_back({low, high});
    }
  }
  return code;
}

} // namespace

std::vector<Dwarf_Die> TailCalls::definitions_beside(std::uint64_t address,
                                                     const void* declaration) {
  const DwarfLookup::Ranges* functions = dwarf_.functions_beside(address);
  if (functions == nullptr) return {};
  const auto [unit, is_new] = units_.try_emplace(functions);
  if (is_new) {
    for (const DwarfLookup::Range& range : *functions) {
      std::vector<Dwarf_Die>& definitions = unit->second[declaration_of(range.die).addr];
      const bool known = std::ranges::any_of(
        definitions, [&](const Dwarf_Die& die) { return die.addr == range.die.addr; });
      if (!known) definitions.push_back(range.die);
    }
  }
  const auto at = unit->second.find(declaration);
  return at != unit->second.end() ? at->second : std::vector<Dwarf_Die>();
}

void TailCalls::want(std::uint64_t return_address) {
  Dwarf_Die function, callee;
  if (return_address == 0 || !dwarf_.function_at(return_address - 1, function)) return;
  const bool known = any_within(function, [&](Dwarf_Die& die) {
    return is_call_site(die) && returns_to(die, return_address) && origin_of(die, callee);
  });
  if (!known) return;
  const Dwarf_Die declaration = declaration_of(callee);
  const auto [at, is_new] = called_.try_emplace(declaration.addr);
  if (is_new) {
    at->second.linked_name = linked_name(callee);
    at->second.definitions = definitions_beside(return_address - 1, declaration.addr);
  }
  by_address_[return_address] = &at->second;
}

void TailCalls::resolve(const ElfFile& tables) {
  std::map<std::string, std::uint64_t> elsewhere;
  for (auto& [declaration, called] : called_) {
    if (called.definitions.empty() && !called.linked_name.empty())
      elsewhere[called.linked_name] = 0;
  }
  if (!elsewhere.empty()) tables.find_functions(elsewhere);
  for (auto& [declaration, called] : called_) {
    const auto at = elsewhere.find(called.linked_name);
    Dwarf_Die function;
    if (called.definitions.empty() && at != elsewhere.end() && at->second != 0 &&
        dwarf_.function_at(at->second, function) && linked_name(function) == called.linked_name) {
      called.definitions = definitions_beside(at->second, declaration_of(function).addr);
    }
    if (called.definitions.empty()) continue;
    const std::string name = function_name(called.definitions.front());
    const bool is_defined = std::ranges::any_of(called.definitions, [](const Dwarf_Die& die) {
      return any_within(die, [](Dwarf_Die& site) { return is_tail_call(site); });
    });
    if (!is_defined || is_cuda_name(name) ||
        std::ranges::any_of(called.definitions, stands_for_kernel))
      continue;
    called.callee = std::make_shared<const Callee>(Callee{name, code_of(called.definitions)});
  }
}

std::shared_ptr<const Callee> TailCalls::at(std::uint64_t return_address) const {
  const auto found = by_address_.find(return_address);
  return found != by_address_.end() ? found->second->callee : nullptr;
}

} // namespace gmt
