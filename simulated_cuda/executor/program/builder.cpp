// SPDX-License-Identifier: Apache-2.0
// The whole of a kernel: which functions it reaches, where its shared variables lie, its constants
// and forms. Shared variables lie apart, so that an access behind one of them is seen.
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/device_functions.h"
#include "simulated_cuda/executor/program/pointers.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kSharedGap = 16;
constexpr std::uint64_t kMostSharedBytes = std::uint64_t{1} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

bool is_built_in(std::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail" ||
         name == "__assert_fail" || device_function(name);
}

std::size_t lay_out_parameters(const std::vector<ptx::Variable>& parameters,
                               std::vector<std::uint32_t>* offsets) {
  std::uint64_t at = 0;
  for (const ptx::Variable& variable : parameters) {
    at = round_up(at, std::max<std::uint64_t>(variable.alignment, 1));
    offsets->push_back(static_cast<std::uint32_t>(at));
    at += variable.size;
  }
  return at;
}

std::uint32_t ProgramBuilder::form(const std::string& text, const Shape& shape) {
  const auto [found, is_new] =
    forms_.emplace(text, static_cast<std::uint32_t>(program_.forms.size()));
  if (is_new) {
    program_.forms.push_back(text);
    program_.shapes.push_back(shape);
  }
  return found->second;
}

std::uint32_t ProgramBuilder::end_of_constants() const {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30; // an operand has 31 bits
  if (program_.constants.size() > kMostBytes) throw NotSupported{"code with so many constants"};
  return static_cast<std::uint32_t>(program_.constants.size());
}

std::uint32_t ProgramBuilder::constant(std::uint64_t bits, std::uint32_t bytes) {
  if (bytes < 8) bits &= (std::uint64_t{1} << (8 * bytes)) - 1;
  const std::string key = std::to_string(bits) + ":" + std::to_string(bytes);
  const std::size_t size = std::max<std::size_t>(bytes, 4) * kLanes;
  const std::uint32_t at = end_of_constants();
  const auto [found, is_new] = constants_.emplace(key, at | kConstantOperand);
  if (!is_new) return found->second;
  program_.constants.resize(at + size);
  std::byte value[16] = {};
  std::memcpy(value, &bits, sizeof bits);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    std::memcpy(program_.constants.data() + at + lane * bytes, value, bytes);
  return found->second;
}

std::uint32_t ProgramBuilder::parameter(std::uint32_t offset, std::uint32_t bytes) {
  const std::string key = "p" + std::to_string(offset) + ":" + std::to_string(bytes);
  const std::uint32_t at = end_of_constants();
  const auto [found, is_new] = constants_.emplace(key, at | kConstantOperand);
  if (!is_new) return found->second;
  program_.constants.resize(at + std::max<std::size_t>(bytes, 4) * kLanes);
  program_.parameters.push_back({{at, bytes}, offset});
  return found->second;
}

std::uint32_t ProgramBuilder::function(std::uint32_t linked) {
  const auto found = program_.function_of_linked.find(linked);
  if (found == program_.function_of_linked.end())
    throw NotSupported{"a call of a missing function"};
  return found->second;
}

void ProgramBuilder::collect(std::uint32_t kernel) {
  pending_.push_back(kernel);
  while (!pending_.empty()) {
    const std::uint32_t next = pending_.back();
    pending_.pop_back();
    collect_function(next);
    // An indirect call may call any function: addresses also come from the host and other kernels.
    const auto found = program_.function_of_linked.find(next);
    if (program_.has_indirect_calls || found == program_.function_of_linked.end()) continue;
    if (!calls_indirectly(*program_.functions[found->second])) continue;
    program_.has_indirect_calls = true;
    const auto& functions = program_.linked->functions();
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
      if (!functions[i].function->is_entry) indirect_.push_back(i);
    }
  }
  program_.directly_reached = program_.functions.size();
  pending_ = indirect_;
  while (!pending_.empty()) {
    const std::uint32_t next = pending_.back();
    pending_.pop_back();
    collect_function(next);
  }
}

bool ProgramBuilder::calls_indirectly(const Code& code) const {
  for (const ptx::Instruction& instruction : code.body->instructions) {
    if (code.body->mnemonic(instruction).opcode != "call") continue;
    const ptx::Call call = ptx::call_of(*code.body, instruction);
    if (call.target != nullptr && call.target->kind != ptx::OperandKind::kFunction) return true;
  }
  return false;
}

void ProgramBuilder::collect_function(std::uint32_t linked) {
  if (program_.function_of_linked.contains(linked)) return;
  const ptx::LinkedFunction& function = program_.linked->functions()[linked];
  if (function.built_in || !function.function->has_body) return;
  // A kernel that this one launches has code of its own
  if (function.function->is_entry && !program_.functions.empty()) return;
  auto code = std::make_unique<Code>();
  code->name = function.function->name;
  code->linked = linked;
  code->module_index = function.module;
  code->module = &program_.linked->module(function.module);
  code->body =
    std::make_shared<const ptx::Body>(ptx::parse_body(*code->module, *function.function));
  program_.function_of_linked[linked] = static_cast<std::uint32_t>(program_.functions.size());
  program_.functions.push_back(std::move(code));
  collect_operands(*program_.functions.back());
}

void ProgramBuilder::collect_operands(const Code& code) {
  for (const ptx::Operand& operand : code.body->operands) {
    if (operand.kind == ptx::OperandKind::kSpecial) {
      const std::string_view name = ptx::name_of(static_cast<ptx::SpecialRegister>(operand.id));
      if (name.starts_with("%reserved_smem")) use_reserved_shared();
    } else if (operand.kind == ptx::OperandKind::kFunction) {
      pending_.push_back(program_.linked->function_of(code.module_index, operand.id));
    } else if (operand.kind == ptx::OperandKind::kVariable) {
      const std::uint32_t linked = program_.linked->variable_of(code.module_index, operand.id);
      const ptx::Variable* variable = program_.linked->variables()[linked].variable;
      if (variable->space == ptx::Space::kShared) use_shared(variable, code.module_index);
      else collect_initializer(linked);
    }
  }
  for (const ptx::Table& table : code.body->tables) {
    if (table.of_labels) continue;
    for (const std::uint32_t target : table.targets)
      pending_.push_back(program_.linked->function_of(code.module_index, target));
  }
  for (const ptx::Variable& variable : code.body->variables) {
    if (variable.space == ptx::Space::kShared) use_shared(&variable, code.module_index);
  }
}

// Tables of functions: what their initialisers name can be called.
void ProgramBuilder::collect_initializer(std::uint32_t linked_variable) {
  if (!seen_variables_.insert(linked_variable).second) return;
  const ptx::LinkedVariable& variable = program_.linked->variables()[linked_variable];
  for (const ptx::SymbolAddress& address : variable.variable->addresses) {
    const auto symbol = program_.linked->find(variable.module, address.symbol);
    if (!symbol) continue;
    if (symbol->kind == ptx::SymbolKind::kFunction) pending_.push_back(symbol->index);
    else collect_initializer(symbol->index);
  }
}

void ProgramBuilder::use_shared(const ptx::Variable* variable, std::uint32_t) {
  if (!shared_.emplace(variable, static_cast<std::uint32_t>(program_.shared.size())).second) return;
  SharedVariable shared;
  shared.name = variable->name;
  shared.bytes = variable->size;
  shared.is_dynamic = variable->unsized || variable->size == 0;
  shared.offset = std::max<std::uint32_t>(variable->alignment, 4); // replaced by the layout
  program_.shared.push_back(shared);
}

// From compute capability 8.0 on the system has shared memory of its own in each block. Cooperative
// groups of several warps meet there.
void ProgramBuilder::use_reserved_shared() {
  const bool is_known = std::any_of(program_.shared.begin(), program_.shared.end(),
                                    [](const SharedVariable& each) { return each.is_reserved; });
  if (is_known) return;
  SharedVariable shared;
  shared.name = "of the system";
  shared.bytes = kReservedSharedBytes;
  shared.is_reserved = true;
  shared.offset = 128; // its alignment
  program_.shared.push_back(shared);
}

void ProgramBuilder::lay_out_shared() {
  std::uint64_t at = 0, dynamic_alignment = 16;
  for (SharedVariable& variable : program_.shared) {
    const std::uint64_t alignment = variable.offset;
    if (variable.is_dynamic) {
      dynamic_alignment = std::max(dynamic_alignment, alignment);
      continue;
    }
    at = round_up(at, std::max<std::uint64_t>(alignment, 16));
    variable.offset = at;
    if (variable.is_reserved) program_.reserved_shared = static_cast<std::uint32_t>(at);
    at += round_up(std::min(variable.bytes, kMostSharedBytes), 4) + kSharedGap;
  }
  if (at > kMostSharedBytes) throw NotSupported{"more shared memory than a block can have"};
  program_.static_shared_bytes = round_up(at, dynamic_alignment);
  if (program_.static_shared_bytes > kMostSharedBytes)
    throw NotSupported{"more shared memory than a block can have"};
  for (SharedVariable& variable : program_.shared) {
    if (variable.is_dynamic) variable.offset = program_.static_shared_bytes;
  }
}

std::uint64_t ProgramBuilder::shared_offset(const ptx::Variable* variable) const {
  const auto found = shared_.find(variable);
  if (found == shared_.end()) throw NotSupported{"a shared variable that is not known"};
  return program_.shared[found->second].offset;
}

std::unique_ptr<Program> decode(const ptx::Linked& linked, std::uint32_t kernel,
                                const Addresses& addresses) {
  auto program = std::make_unique<Program>();
  program->linked = &linked;
  ProgramBuilder builder(*program, addresses);
  builder.collect(kernel);
  try {
    builder.lay_out_shared();
  } catch (const NotSupported& why) {
    program->unsupported = {why.reason, 0, ptx::kNone};
    return program;
  }
  for (std::uint32_t i = 0; i < program->functions.size(); ++i) {
    Code& code = *program->functions[i];
    std::uint32_t at = ptx::kNone;
    try {
      FunctionDecoder decoder(builder, code);
      try {
        decoder.decode();
      } catch (const NotSupported&) {
        at = decoder.current;
        throw;
      }
    } catch (const NotSupported& why) {
      if (i >= program->directly_reached) { // perhaps it is never called
        code.unsupported = why.reason;
        code.instructions.clear();
        continue;
      }
      program->unsupported = {why.reason, i, at};
      return program;
    }
    for (const CallSite& site : code.calls) {
      if (site.built_in == "vprintf") program->uses_printf = true;
      if (site.built_in == "malloc" || site.built_in == "free") program->uses_heap = true;
    }
  }
  follow_pointers(*program);
  return program;
}

} // namespace gmt::executor
