// SPDX-License-Identifier: Apache-2.0
// A walk over calls from the chosen kernels.
#include "rewriter/functions.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Module;
using ptx::Operand;
using ptx::OperandKind;

class Walk {
public:
  Walk(const Module& module, const Options& options)
      : module_(module), checks_by_pointer_(options.checks_by_pointer) {
    functions_.forms.resize(module.functions().size(), Form::kPlain);
    functions_.why_plain.resize(module.functions().size());
  }

  Functions run(const Options& options) {
    bool has_kernel = false;
    for (std::uint32_t i = 0; i < module_.functions().size(); ++i) {
      const ptx::Function& function = module_.functions()[i];
      if (!function.is_entry || !function.has_body) continue;
      if (options.is_chosen != nullptr && !options.is_chosen(function.name)) continue;
      add(i, Form::kBoth);
      has_kernel = true;
    }
    if (!has_kernel) return std::move(functions_);
    for (const ptx::Variable& variable : module_.variables()) {
      for (const ptx::SymbolAddress& address : variable.addresses) take(address.symbol);
    }
    while (!open_.empty()) {
      const std::uint32_t next = open_.back();
      open_.pop_back();
      visit(next);
    }
    return std::move(functions_);
  }

private:
  void take(std::string_view name) {
    const auto found = module_.find(name);
    if (found && found->kind == ptx::SymbolKind::kFunction)
      add(resolve_alias(module_, found->index), Form::kCheckedOnly);
  }

  // What logs malloc and free: device_hooks, and what stands in their place.
  static bool is_of_log(std::string_view name) {
    return name.starts_with("_ZN3gmt6device") || name.starts_with("gpumemtrace_logged_");
  }

  void add(std::uint32_t function, Form form) {
    const ptx::Function& what = module_.functions()[function];
    if (!what.has_body || is_of_log(what.name) || (what.is_entry && form == Form::kCheckedOnly))
      return;
    Form& known = functions_.forms[function];
    std::string& why_plain = functions_.why_plain[function];
    if (form == Form::kCheckedOnly && !checks_by_pointer_) {
      if (known == Form::kPlain)
        why_plain = "it is called by a pointer, and other devices do not have the table";
      return;
    }
    why_plain.clear();
    if (known == Form::kPlain) open_.push_back(function);
    if (known < form) known = form;
  }

  void visit(std::uint32_t index) {
    std::optional<Body> body;
    try {
      body = ptx::parse_body(module_, module_.functions()[index]);
    } catch (const ptx::ParseError& error) {
      functions_.forms[index] = Form::kPlain;
      functions_.why_plain[index] = error.what();
      return;
    }
    for (const ptx::Instruction& instruction : body->instructions) {
      const bool is_call = body->mnemonic(instruction).opcode == "call";
      const Operand* target = is_call ? ptx::call_of(*body, instruction).target : nullptr;
      for (std::uint16_t i = 0; i < instruction.operand_count; ++i)
        visit(*body, body->operand(instruction, i), target);
    }
    for (const ptx::Table& table : body->tables) {
      if (table.of_labels) continue;
      for (const std::uint32_t target : table.targets)
        add(resolve_alias(module_, target), Form::kCheckedOnly);
    }
  }

  void visit(const Body& body, const Operand& operand, const Operand* target) {
    if (operand.kind == OperandKind::kFunction) {
      add(resolve_alias(module_, operand.id),
          &operand == target ? Form::kBoth : Form::kCheckedOnly);
    }
    for (std::uint16_t i = 0; i < operand.count; ++i) visit(body, body.parts(operand)[i], target);
  }

  const Module& module_;
  const bool checks_by_pointer_;
  Functions functions_;
  std::vector<std::uint32_t> open_;
};

} // namespace

std::uint32_t resolve_alias(const Module& module, std::uint32_t function) {
  const std::string_view of = module.functions()[function].alias_of;
  if (of.empty()) return function;
  const auto found = module.find(of);
  return found && found->kind == ptx::SymbolKind::kFunction ? found->index : function;
}

Functions choose_functions(const Module& module, const Options& options) {
  return Walk(module, options).run(options);
}

bool writes_elsewhere(const ptx::Module& module, std::uint32_t function) {
  static constexpr std::string_view kHarmless[] = {"vprintf", "malloc", "free", "__assertfail",
                                                   "__nv_aligned_device_malloc"};
  const ptx::Function& called = module.functions()[resolve_alias(module, function)];
  return !called.has_body && std::ranges::find(kHarmless, called.name) == std::end(kHarmless);
}

} // namespace gmt::rewriter
