// SPDX-License-Identifier: Apache-2.0
// Everything that the executor does with text before it runs it. What is read is also printed and
// read again: it must be the same.
#include "tests/fuzz/fuzz_ptx.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "ptx/flow/pointer_uses.h"
#include "ptx/syntax/link.h"
#include "simulated_cuda/executor/program/slots.h"
#include "tests/unit/ptx/support/syntax_difference.h"

namespace gmt::test {
namespace {

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

void check_operand(const ptx::Module& module, const ptx::Function& function, const ptx::Body& body,
                   const ptx::Operand& operand) {
  using ptx::OperandKind;
  const auto below = [&operand](std::size_t size) {
    require(operand.id < size, "an id of an operand");
  };
  switch (operand.kind) {
  case OperandKind::kRegister: below(body.registers.size()); break;
  case OperandKind::kVariable: below(module.variables().size()); break;
  case OperandKind::kFunction: below(module.functions().size()); break;
  case OperandKind::kLocal: below(body.variables.size()); break;
  case OperandKind::kParameter: below(function.parameters.size()); break;
  case OperandKind::kReturn: below(function.returns.size()); break;
  case OperandKind::kLabel: below(body.labels.size()); break;
  case OperandKind::kPrototype: below(body.prototypes.size()); break;
  case OperandKind::kTable: below(body.tables.size()); break;
  case OperandKind::kAddress:
  case OperandKind::kVector:
  case OperandKind::kPair:
  case OperandKind::kList:
    require(operand.id + std::size_t{operand.count} <= body.operands.size(), "parts of an operand");
    break;
  default: break;
  }
}

void check_printing(const ptx::Module& module) {
  try {
    const std::string difference = ptx::test::difference_when_printed(module);
    require(difference.empty(), ("printed and read again: " + difference).c_str());
  } catch (const ptx::ParseError& error) {
    require(false, (std::string("what was printed: ") + error.what()).c_str());
  }
}

void check_body(const ptx::Module& module, const ptx::Function& function) {
  const ptx::Body body = ptx::parse_body(module, function);
  for (const ptx::Operand& operand : body.operands) check_operand(module, function, body, operand);
  for (const ptx::Label& label : body.labels) {
    require(label.instruction <= body.instructions.size(), "the instruction of a label");
  }
  for (const ptx::Instruction& instruction : body.instructions) {
    require(instruction.mnemonic < body.mnemonics.size(), "a mnemonic");
    require(instruction.guard == ptx::kNone || instruction.guard < body.registers.size(),
            "a guard");
    require(instruction.line < body.lines.size(), "a line");
    require(instruction.text_offset + std::size_t{instruction.text_size} <= module.text().size(),
            "a text");
    ptx::call_of(body, instruction);
  }
  for (std::uint32_t id = 0; id < body.lines.size(); ++id) body.lines.stack(module, id);
  const ptx::Flow flow = ptx::flow_of(module, body);
  for (std::uint32_t b = 0; b < flow.blocks.size(); ++b) {
    require(flow.reconvergence(b) <= body.instructions.size(), "where a block meets others");
  }
  const auto uses = ptx::pointer_uses_of(module, function, body);
  require(uses.size() == function.parameters.size(), "uses of parameters");
  const executor::Slots slots = executor::allocate_slots(body, flow);
  for (const executor::Slot& slot : slots.of) {
    const bool in_file = slot.index < slots.count[static_cast<int>(slot.file)];
    require(slot.index == ptx::kNone || in_file, "a slot");
  }
}

} // namespace

void parse_ptx_input(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const ptx::Module> module;
  try {
    module = std::make_shared<const ptx::Module>(ptx::parse_module(text));
  } catch (const ptx::ParseError&) {
    return;
  }
  for (const ptx::Function& function : module->functions()) {
    if (!function.has_body) continue;
    try {
      check_body(*module, function);
    } catch (const ptx::ParseError&) { // the next function may be good
    }
  }
  check_printing(*module);
  try {
    ptx::Linked::link({module, module}, nullptr);
  } catch (const ptx::LinkError&) { // names of both
  }
}

} // namespace gmt::test
