// SPDX-License-Identifier: Apache-2.0
// Branches, calls, barriers and ends. A guard in front of one of them becomes a branch around it,
// so that the machine parts lanes in one way alone.
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/device_functions.h"

namespace gmt::executor {

using ptx::OperandKind;

namespace {

Shape branch_shape() {
  Shape shape;
  shape.kind = Shape::Kind::kBranch;
  return shape;
}

} // namespace

void FunctionDecoder::decode_branch() {
  const Operand& label = operand(0);
  if (label.kind != OperandKind::kLabel) fail("a branch to no label");
  const std::uint32_t target = body_.labels[label.id].instruction;
  const bool guarded = instruction_->guard != ptx::kNone;
  Fix fix{};
  fix.at = static_cast<std::uint32_t>(code_.instructions.size());
  fix.target = target;
  fix.join = ptx::kNone;
  if (guarded) fix.join = flow_.reconvergence(flow_.block_of[current]);
  emit(guarded ? "bra.p" : "bra", branch_shape());
  fixes_.push_back(fix);
}

void FunctionDecoder::decode_table_branch() {
  const Operand& table = operand(1);
  if (table.kind != OperandKind::kTable) fail("brx.idx without a table");
  if (instruction_->guard != ptx::kNone) fail("a guarded brx.idx");
  const std::uint32_t index = source(operand(0), ptx::Type::kU32);
  const auto at = static_cast<std::uint32_t>(code_.instructions.size());
  Instruction& in = emit("brx.idx", Shape().decides(0, 32));
  in.r[0] = index;
  in.extra = static_cast<std::uint32_t>(table_targets_.size());
  const std::uint32_t join = flow_.reconvergence(flow_.block_of[current]);
  fixes_.push_back({at, ptx::kNone, join});
  std::vector<std::uint32_t> targets;
  for (const std::uint32_t label : body_.tables[table.id].targets)
    targets.push_back(body_.labels[label].instruction);
  table_targets_.push_back(targets);
}

// Puts the instructions that `emit_inside` appends under a branch, if the instruction has a guard.
std::size_t FunctionDecoder::begin_guard() {
  if (instruction_->guard == ptx::kNone) return 0;
  Instruction& skip = emit("bra.p", branch_shape());
  skip.flip = ~skip.flip;
  unguarded_ = *instruction_;
  unguarded_.guard = ptx::kNone;
  instruction_ = &unguarded_;
  return code_.instructions.size();
}

void FunctionDecoder::end_guard(std::size_t begin) {
  if (begin == 0) return;
  const auto distance = static_cast<std::int32_t>(code_.instructions.size() + 1 - begin);
  Instruction& skip = code_.instructions[begin - 1];
  skip.immediate = distance;
  skip.join = distance;
  code_.instructions.back().shown = 1;
  emit("join");
}

void FunctionDecoder::decode_trap() {
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  leave("trap", shape);
}

void FunctionDecoder::leave(const char* form, const Shape& shape) {
  const std::size_t guard = begin_guard();
  emit(form, shape);
  if (guard == 0) return;
  Instruction& skip = code_.instructions[guard - 1]; // what leaves does not come back
  skip.immediate = static_cast<std::int64_t>(code_.instructions.size() - guard + 1);
  skip.join = 0;
}

void FunctionDecoder::decode_call() {
  const ptx::Call call = ptx::call_of(body_, *instruction_);
  CallSite site;
  if (call.target == nullptr) fail("a call without a target");
  if (call.target->kind == OperandKind::kFunction) {
    const std::uint32_t linked = program_.linked->function_of(code_.module_index, call.target->id);
    const ptx::LinkedFunction& function = program_.linked->functions()[linked];
    if (function.built_in) {
      site.built_in = function.function->name;
      if (!is_built_in(site.built_in))
        fail("a call of " + std::string(site.built_in) + " is not executed");
    } else if (function.function->is_entry) {
      fail("a call of a kernel");
    } else {
      site.function = builder_.function(linked);
    }
  } else if (call.target->kind == OperandKind::kRegister) {
    site.target = source(*call.target, ptx::Type::kU64);
  } else {
    fail("a call of something that is no function");
  }
  const auto take = [&](const Operand* list, auto& offsets, auto& sizes, auto& registers) {
    for (std::uint32_t i = 0; list != nullptr && i < list->count; ++i) {
      const Operand& item = body_.parts(*list)[i];
      if (item.kind == OperandKind::kLocal &&
          body_.variables[item.id].space == ptx::Space::kParam) {
        offsets.push_back(local_offsets_[item.id]);
        sizes.push_back(static_cast<std::uint32_t>(body_.variables[item.id].size));
        registers.push_back(kNoOperand);
        continue;
      }
      if (item.kind == OperandKind::kDiscard) fail("a call that passes over a result");
      fail("a call with arguments in registers");
    }
  };
  take(call.arguments, site.argument_offsets, site.argument_sizes, site.argument_registers);
  take(call.returns, site.return_offsets, site.return_sizes, site.return_registers);
  const std::size_t guard = begin_guard();
  const bool built_in = !site.built_in.empty();
  std::string form = built_in ? "call." + std::string(site.built_in) : "call";
  if (device_function(site.built_in)) form = kCallOfDeviceRuntime;
  Shape shape;
  shape.decides(0, 64).kind = Shape::Kind::kCall;
  if (built_in) shape.memory = Shape::Memory::kUnknown;
  Instruction& in = emit(form, shape);
  in.extra = static_cast<std::uint32_t>(code_.calls.size());
  in.r[0] = site.target;
  code_.calls.push_back(std::move(site));
  end_guard(guard);
}

void FunctionDecoder::decode_warp_barrier() {
  const std::size_t guard = begin_guard();
  const std::uint32_t mask = source(operand(0), ptx::Type::kB32);
  emit("bar.warp.sync", Shape().decides(0, 32)).r[0] = mask;
  end_guard(guard);
}

// bar.sync a{, b}; bar.arrive a, b; bar.red.op.type d, a{, b}, p; and barrier with .cta and
// .aligned.
void FunctionDecoder::decode_barrier() {
  const bool aligned = mnemonic().opcode == "bar" || has("aligned");
  const bool reduces = has("red");
  const std::size_t guard = begin_guard();
  std::size_t at = 0;
  Result to;
  if (reduces) to = result(operand(at++), has("popc") ? ptx::Type::kU32 : ptx::Type::kPred);
  const std::uint32_t barrier = source(operand(at++), ptx::Type::kU32);
  std::uint32_t predicate_operand = kNoOperand, count = kNoOperand;
  const std::size_t last = instruction_->operand_count - (reduces ? 1u : 0u);
  if (at < last) count = source(operand(at++), ptx::Type::kU32);
  if (reduces) predicate_operand = predicate(operand(at));
  std::string form = has("arrive") ? "bar.arrive" : "bar.sync";
  if (reduces) {
    form = "bar.red.or";
    if (has("and")) form = "bar.red.and";
    if (has("popc")) form = "bar.red.popc";
  }
  Shape shape;
  if (reduces) shape.result(0, has("popc") ? 32 : 1);
  Instruction& in = emit(form, shape.decides(1, 32).decides(2, 32).decides(3, 1));
  in.r[0] = to.offset;
  in.r[1] = barrier;
  in.r[2] = count;
  in.r[3] = predicate_operand;
  std::uint32_t kind = has("arrive") ? kBarrierArrive : kBarrierSync;
  if (reduces && has("or")) kind = kBarrierOr;
  if (reduces && has("and")) kind = kBarrierAnd;
  if (reduces && has("popc")) kind = kBarrierPopc;
  in.extra = (aligned ? 1u : 0u) | kind << 1;
  if (reduces) write_back(to);
  end_guard(guard);
}

} // namespace gmt::executor
