// SPDX-License-Identifier: Apache-2.0
#include "rewriter/launch_number.h"

#include <algorithm>

#include "ptx/print/insert.h"

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Function;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

std::uint64_t end_of_parameters(const Function& function) {
  std::uint64_t end = 0;
  for (const ptx::Variable& parameter : function.parameters) {
    const std::uint64_t alignment = std::max<std::uint64_t>(1, parameter.alignment);
    end = (end + alignment - 1) / alignment * alignment + parameter.size;
  }
  return end;
}

// Others take no more: registers, and as much as a caller gives.
bool has_simple_parameters(const Function& function) {
  return std::ranges::all_of(function.parameters, [](const ptx::Variable& parameter) {
    return parameter.space == ptx::Space::kParam && !parameter.unsized;
  });
}

std::uint32_t add_parameter_name(Body& body, std::string_view name) {
  ptx::Variable variable;
  variable.name = name;
  variable.space = ptx::Space::kParam;
  variable.type = ptx::Type::kB64;
  variable.size = variable.alignment = sizeof(std::uint64_t);
  body.variables.push_back(variable);
  return static_cast<std::uint32_t>(body.variables.size() - 1);
}

// Behind the arguments that are there.
void add_argument(Body& body, Instruction& call, const Operand& argument) {
  const ptx::Call parts = ptx::call_of(body, call);
  std::vector<Operand> operands(body.begin(call), body.begin(call) + call.operand_count);
  const auto behind_target = parts.target - body.begin(call) + 1;
  if (parts.arguments == nullptr)
    operands.insert(operands.begin() + behind_target, Code::of(OperandKind::kList, 0));
  Operand& list = operands[static_cast<std::size_t>(behind_target)];
  std::vector<Operand> arguments(body.parts(list), body.parts(list) + list.count);
  arguments.push_back(argument);
  list.id = static_cast<std::uint32_t>(body.operands.size());
  list.count = static_cast<std::uint16_t>(arguments.size());
  body.operands.insert(body.operands.end(), arguments.begin(), arguments.end());
  call.first_operand = static_cast<std::uint32_t>(body.operands.size());
  call.operand_count = static_cast<std::uint16_t>(operands.size());
  body.operands.insert(body.operands.end(), operands.begin(), operands.end());
}

} // namespace

// A kernel may have 4,096 bytes of parameters, with newer compilers more: those who have more
// than that have room.
LaunchParameter launch_parameter(const Function& function) {
  constexpr std::uint64_t kBytes = sizeof(std::uint64_t), kMost = 4096, kMostOfNewer = 32764;
  const std::uint64_t end = end_of_parameters(function);
  const std::uint64_t offset = (end + kBytes - 1) / kBytes * kBytes;
  const std::uint64_t most = end > kMost ? kMostOfNewer : kMost;
  const bool fits = function.is_entry ? offset + kBytes <= most : has_simple_parameters(function);
  return {fits, static_cast<std::uint32_t>(function.parameters.size()),
          static_cast<std::uint32_t>(offset)};
}

void add_launch_parameter(std::string& head, std::size_t name_end, const Function& function) {
  const std::string parameter = ".param .b64 " + std::string(kLaunch);
  const std::size_t open = head.find_first_not_of(" \t\r\n", name_end);
  if (open == std::string::npos || head[open] != '(') {
    head.insert(name_end, "(" + parameter + ")");
    return;
  }
  const std::size_t close = head.find(')', open);
  if (close == std::string::npos) return;
  head.insert(close, (function.parameters.empty() ? "" : ", ") + parameter);
}

std::uint32_t add_launch_name(Body& body) { return add_parameter_name(body, kLaunch); }

void pass_launch(Body& body, LaunchName launch, const std::vector<std::uint32_t>& calls,
                 Names& names) {
  if (calls.empty()) return;
  Code code(body, names);
  const std::uint32_t number = ptx::add_registers(body, ptx::Type::kB64, {"%__gmt_launch"});
  const std::uint32_t passed = add_parameter_name(body, "__gmt_passed");
  body.statements.insert(body.statements.begin(), {ptx::StatementKind::kVariable, passed, 0});
  std::vector<Instruction> before;
  if (launch)
    code.add(before, "ld.param.b64",
             {Code::reg(number), code.address(Code::of(OperandKind::kLocal, *launch))});
  else code.add(before, "mov.b64", {Code::reg(number), Code::number(0)});
  code.add(before, "st.param.b64",
           {code.address(Code::of(OperandKind::kLocal, passed)), Code::reg(number)});
  std::vector<ptx::Insertion> insertions;
  for (const std::uint32_t call : calls) {
    add_argument(body, body.instructions[call], Code::of(OperandKind::kLocal, passed));
    for (const Instruction& one : before) insertions.push_back({call, false, one});
  }
  ptx::insert(body, insertions);
}

} // namespace gmt::rewriter
