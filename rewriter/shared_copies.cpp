// SPDX-License-Identifier: Apache-2.0
#include "rewriter/shared_copies.h"

#include <algorithm>
#include <string_view>

#include "rewriter/rewriter.h"

namespace gmt::rewriter {
namespace {

using ptx::OperandKind;

// Arrays without a size all lie at one place, and those of other files have one of their own.
bool can_be_copied(const ptx::Variable& variable) {
  return variable.space == ptx::Space::kShared && !variable.unsized && variable.size != 0 &&
         variable.linkage != ptx::Linkage::kExtern;
}

std::string name_of_copy(std::string_view name) {
  return std::string(kChecked) + std::string(name);
}

} // namespace

SharedCopies::SharedCopies(const ptx::Module& module, const std::vector<Form>& forms) {
  const std::vector<ptx::Variable>& variables = module.variables();
  if (std::ranges::none_of(variables, can_be_copied)) return;
  std::vector<bool> is_used(variables.size()), is_of_one_form(variables.size());
  for (std::uint32_t i = 0; i < forms.size(); ++i) {
    const ptx::Function& function = module.functions()[i];
    const bool has_both = forms[i] == Form::kBoth;
    if (!function.has_body || (function.is_entry && !has_both)) continue;
    try {
      const ptx::Body body = ptx::parse_body(module, function);
      for (const ptx::Operand& operand : body.operands) {
        if (operand.kind != OperandKind::kVariable) continue;
        (has_both ? is_used : is_of_one_form)[operand.id] = true;
      }
    } catch (const ptx::ParseError&) { // it may use any, and be called by any form
      return;
    }
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const ptx::Variable& variable = variables[i];
    if (is_used[i] && !is_of_one_form[i] && can_be_copied(variable))
      copies_.push_back({std::string(variable.name), variable.size, variable.alignment});
  }
}

std::string SharedCopies::declarations() const {
  std::string text;
  for (const Copy& copy : copies_) {
    text += ".shared .align " + std::to_string(std::max(1u, copy.alignment)) + " .b8 " +
            name_of_copy(copy.of) + "[" + std::to_string(copy.bytes) + "];\n";
  }
  return text;
}

void SharedCopies::find_in(const ptx::Module& module) {
  for (const Copy& copy : copies_) {
    const auto variable = module.find(copy.of), its_copy = module.find(name_of_copy(copy.of));
    if (variable && its_copy) copy_of_.emplace(variable->index, its_copy->index);
  }
}

void SharedCopies::use_in(ptx::Body& body) const {
  if (copy_of_.empty()) return;
  for (ptx::Operand& operand : body.operands) {
    if (operand.kind != OperandKind::kVariable) continue;
    if (const auto found = copy_of_.find(operand.id); found != copy_of_.end())
      operand.id = found->second;
  }
}

} // namespace gmt::rewriter
