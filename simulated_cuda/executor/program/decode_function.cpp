// SPDX-License-Identifier: Apache-2.0
// One function from its first instruction to its last: the frame's layout, the instructions where
// lanes meet again, and distances of branches.
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/unfenced_products.h"

#include <algorithm>

namespace gmt::executor {
namespace {

std::uint32_t aligned_bytes(std::uint64_t value, std::uint64_t multiple) {
  return static_cast<std::uint32_t>((value + multiple - 1) / multiple * multiple);
}

constexpr std::uint64_t kMostLocalBytes = 512 * 1024;

} // namespace

FunctionDecoder::FunctionDecoder(ProgramBuilder& builder, Code& code)
    : builder_(builder), program_(builder.program()), code_(code), body_(*code.body) {
  is_kernel_ = program_.linked->functions()[code.linked].function->is_entry;
}

void FunctionDecoder::lay_out_parameters() {
  const ptx::Function& function = *program_.linked->functions()[code_.linked].function;
  std::uint64_t at = 0;
  const auto add = [&](const ptx::Variable& variable) {
    const std::uint64_t alignment = std::max<std::uint64_t>(variable.alignment, 8);
    at = aligned_bytes(at, std::min<std::uint64_t>(alignment, 128));
    const auto offset = static_cast<std::uint32_t>(at);
    at += variable.size;
    return offset;
  };
  if (is_kernel_) {
    executor::lay_out_parameters(function.parameters, &code_.parameter_offsets);
  } else {
    for (const ptx::Variable& variable : function.parameters)
      code_.parameter_offsets.push_back(add(variable));
  }
  for (const ptx::Variable& variable : function.parameters)
    code_.parameter_sizes.push_back(static_cast<std::uint32_t>(variable.size));
  for (const ptx::Variable& variable : function.returns) {
    code_.return_offsets.push_back(add(variable));
    code_.return_sizes.push_back(static_cast<std::uint32_t>(variable.size));
  }
  std::uint64_t local = 0;
  for (const ptx::Variable& variable : body_.variables) {
    std::uint32_t offset = 0;
    if (variable.space == ptx::Space::kParam) {
      offset = add(variable);
    } else if (variable.space == ptx::Space::kLocal) {
      local = aligned_bytes(local, std::max<std::uint64_t>(variable.alignment, 16));
      offset = static_cast<std::uint32_t>(local);
      local += variable.size;
    }
    local_offsets_.push_back(offset);
    if (local > kMostLocalBytes || at > kMostLocalBytes) fail("local memory of more than 512 KiB");
  }
  code_.local_bytes = aligned_bytes(local, 16);
  code_.parameter_bytes = aligned_bytes(at, 16);
}

void FunctionDecoder::decode() {
  flow_ = ptx::flow_of(*code_.module, body_);
  slots_ = allocate_slots(body_, flow_);
  layout_ = FrameLayout(body_, slots_);
  unfenced_ = unfenced_products(body_, flow_);
  lay_out_parameters();
  joins_.assign(body_.instructions.size() + 1, false);
  for (std::size_t block = 0; block < flow_.blocks.size(); ++block) {
    const ptx::BlockEnd end = flow_.blocks[block].end;
    if (end != ptx::BlockEnd::kConditional && end != ptx::BlockEnd::kTable) continue;
    joins_[flow_.reconvergence(static_cast<std::uint32_t>(block))] = true;
  }
  start_of_.assign(body_.instructions.size() + 1, 0);
  if (layout_.has_stack) {
    current = 0;
    emit("stack.begin").extra = layout_.carry;
  }
  for (std::uint32_t i = 0; i < body_.instructions.size(); ++i) decode_instruction(i);
  instruction_ = nullptr;
  start_of_.back() = static_cast<std::uint32_t>(code_.instructions.size());
  emit(is_kernel_ ? "exit" : "ret").shown = 0;
  current = ptx::kNone;
  finish_branches();
  code_.register_bytes =
    aligned_bytes(layout_.temporaries + std::uint64_t{most_temporaries_} * 16 * kLanes, 128);
}

void FunctionDecoder::decode_instruction(std::uint32_t index) {
  instruction_ = nullptr; // a join has no guard
  current = index;
  temporaries_ = 0;
  start_of_[index] = static_cast<std::uint32_t>(code_.instructions.size());
  if (joins_[index]) emit("join");
  instruction_ = &body_.instructions[index];
  const std::size_t first = code_.instructions.size();
  decode_by_way();
  if (code_.instructions.size() > first) code_.instructions.back().shown = 1;
}

void FunctionDecoder::finish_branches() {
  const auto distance = [&](std::uint32_t from, std::uint32_t to) {
    return static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
  };
  for (const Fix& fix : fixes_) {
    Instruction& in = code_.instructions[fix.at];
    if (fix.target != ptx::kNone) in.immediate = distance(fix.at, start_of_[fix.target]);
    if (fix.join < body_.instructions.size())
      in.join = static_cast<std::int32_t>(distance(fix.at, start_of_[fix.join]));
    const bool is_table = fix.target == ptx::kNone;
    if (is_table || in.immediate > 0) continue;
    in.form =
      builder_.form(in.guard == kNoOperand ? "bra.back" : "bra.p.back", program_.shapes[in.form]);
  }
  for (const auto& targets : table_targets_) {
    std::vector<std::int32_t> decoded;
    for (const std::uint32_t target : targets)
      decoded.push_back(static_cast<std::int32_t>(start_of_[target]));
    code_.tables.push_back(decoded);
  }
}

} // namespace gmt::executor
