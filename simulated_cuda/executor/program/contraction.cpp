// SPDX-License-Identifier: Apache-2.0
// A register counts as a product if any multiplication writes it.
#include "simulated_cuda/executor/program/contraction.h"

#include <string_view>
#include <vector>

namespace gmt::executor {
namespace {

// "f32" of "mul.ftz.f32"; empty if it is no type of floats or the rounding is named.
std::string_view open_type(const ptx::Mnemonic& mnemonic) {
  for (const char* rounding : {"rn", "rz", "rm", "rp"}) {
    if (mnemonic.has(rounding)) return {};
  }
  if (mnemonic.modifiers.empty()) return {};
  const std::string_view type = mnemonic.modifiers.back();
  return type.starts_with("f") || type.starts_with("bf") ? type : std::string_view();
}

} // namespace

std::set<std::string> joinable_operations(const ptx::Body& body) {
  std::vector<bool> is_product(body.registers.size());
  for (const ptx::Instruction& in : body.instructions) {
    const ptx::Mnemonic& mnemonic = body.mnemonic(in);
    if (mnemonic.opcode != "mul" || in.operand_count == 0 || open_type(mnemonic).empty()) continue;
    const ptx::Operand& result = body.operand(in, 0);
    if (result.kind == ptx::OperandKind::kRegister && result.id < is_product.size())
      is_product[result.id] = true;
  }
  std::set<std::string> found;
  for (const ptx::Instruction& in : body.instructions) {
    const ptx::Mnemonic& mnemonic = body.mnemonic(in);
    if (mnemonic.opcode != "add" && mnemonic.opcode != "sub") continue;
    const std::string type(open_type(mnemonic));
    if (type.empty()) continue;
    for (std::size_t i = 1; i < in.operand_count; ++i) {
      const ptx::Operand& source = body.operand(in, i);
      const bool joins = source.kind == ptx::OperandKind::kRegister &&
                         source.id < is_product.size() && is_product[source.id];
      if (joins) found.insert("mul." + type + " and " + std::string(mnemonic.opcode) + "." + type);
    }
  }
  return found;
}

} // namespace gmt::executor
