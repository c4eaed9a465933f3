// SPDX-License-Identifier: Apache-2.0
#include "rewriter/assertions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ptx/names/checked_form.h"

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

// Without optimisation code calls the one, which calls the other.
constexpr std::string_view kOuter = "__assert_fail", kInner = "__assertfail";

// message, file, line, function
constexpr std::size_t kArguments = 4;
using Arguments = std::array<const Operand*, kArguments>; // what is stored; null: not found

bool calls_assert(const ptx::Module& module, const Body& body, const Instruction& instruction) {
  if (body.mnemonic(instruction).opcode != "call" || instruction.guard != ptx::kNone) return false;
  const ptx::Call call = ptx::call_of(body, instruction);
  if (call.target == nullptr || call.target->kind != OperandKind::kFunction) return false;
  const std::string_view name = ptx::plain_name(module.functions()[call.target->id].name);
  return (name == kInner || name == kOuter) && call.arguments != nullptr &&
         call.arguments->count >= kArguments;
}

// Which of the arguments the instruction stores, all of it.
std::optional<std::size_t> stored_argument(const Body& body, const Instruction& instruction,
                                           const Operand& arguments) {
  if (body.mnemonic(instruction).opcode != "st" || instruction.operand_count != 2)
    return std::nullopt;
  const Operand& to = body.operand(instruction, 0);
  if (to.kind != OperandKind::kAddress || to.count != 1) return std::nullopt;
  const Operand& base = *body.parts(to);
  if (base.kind != OperandKind::kLocal || base.offset != 0) return std::nullopt;
  const Operand* const all = body.parts(arguments);
  for (std::size_t i = 0; i < arguments.count; ++i) {
    if (all[i].kind == OperandKind::kLocal && all[i].id == base.id) return i;
  }
  return std::nullopt;
}

std::string text_of(const ptx::Module& module, const Operand* stored,
                    const std::vector<ptx::Origin>& origins) {
  if (stored == nullptr || stored->kind != OperandKind::kRegister) return {};
  const ptx::Origin& origin = origins[stored->id];
  if (origin.kind != ptx::OriginKind::kVariable || origin.is_of_body) return {};
  const std::vector<std::uint8_t>& bytes = module.variables()[origin.variable].initial;
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), std::uint8_t{0})};
}

// A number, or a register that gets one and nothing else.
std::optional<std::uint64_t> number_of(const Body& body, const Operand* stored) {
  if (stored == nullptr) return std::nullopt;
  if (stored->kind == OperandKind::kImmediate) return stored->bits;
  if (stored->kind != OperandKind::kRegister) return std::nullopt;
  std::optional<std::uint64_t> number;
  for (const Instruction& instruction : body.instructions) {
    if (instruction.operand_count == 0) continue;
    const Operand& to = body.operand(instruction, 0);
    if (to.kind != OperandKind::kRegister || to.id != stored->id) continue;
    const bool is_number = body.mnemonic(instruction).opcode == "mov" && !number &&
                           body.operand(instruction, 1).kind == OperandKind::kImmediate;
    if (!is_number) return std::nullopt;
    number = body.operand(instruction, 1).bits;
  }
  return number;
}

} // namespace

std::vector<Assertion> assertions_of(const ptx::Module& module, const ptx::Function& function,
                                     const Body& body, const std::vector<ptx::Origin>& origins) {
  std::vector<Assertion> all;
  if (function.name == kOuter) return all;
  for (std::uint32_t i = 0; i < body.instructions.size(); ++i) {
    if (!calls_assert(module, body, body.instructions[i])) continue;
    const Operand& arguments = *ptx::call_of(body, body.instructions[i]).arguments;
    Assertion assertion;
    assertion.call = assertion.before = i;
    Arguments stored{};
    for (std::uint32_t k = i; k-- > 0;) {
      const Instruction& before = body.instructions[k];
      const std::string_view opcode = body.mnemonic(before).opcode;
      if (opcode == "call" || opcode == "bra" || opcode == "ret") break;
      const std::optional<std::size_t> which = stored_argument(body, before, arguments);
      if (!which) continue;
      assertion.before = k;
      if (*which < kArguments) stored[*which] = &body.operand(before, 1);
    }
    assertion.condition = text_of(module, stored[0], origins);
    const std::string file = text_of(module, stored[1], origins);
    const std::optional<std::uint64_t> line = number_of(body, stored[2]);
    if (!file.empty() && line)
      assertion.location = file + ":" + std::to_string(static_cast<std::uint32_t>(*line)) + ": " +
                           text_of(module, stored[3], origins);
    all.push_back(std::move(assertion));
  }
  return all;
}

} // namespace gmt::rewriter
