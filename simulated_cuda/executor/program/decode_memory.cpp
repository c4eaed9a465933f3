// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics. Those that acquire or release are half of a fence as well (PTX ISA,
// "Memory Consistency Model"). Forms name the space, the number of elements and their width alone:
// what a type says beyond that, conversions around the instruction do.
#include "simulated_cuda/executor/program/access_strength.h"
#include "simulated_cuda/executor/program/decoder.h"
#include "simulated_cuda/executor/program/fence_halves.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace gmt::executor {
namespace {

using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

const char* name_in_form(Space space) {
  switch (space) {
  case Space::kGlobal:
  case Space::kConst: return "global";
  case Space::kShared: return "shared";
  case Space::kLocal: return "local";
  case Space::kParam: return "param";
  default: return "generic";
  }
}

} // namespace

std::uint32_t FunctionDecoder::strength(bool is_strong) const {
  if (is_strong) return kStrongAccess | scope() | (has("volatile") ? kVolatileAccess : 0);
  return has("cg") || has("cv") || has("wt") ? kUncachedAccess : 0;
}

std::uint32_t FunctionDecoder::scope() const {
  if (has("cta")) return kBlockScope;
  return has("cluster") ? kClusterScope : 0;
}

// An address of 32 bits wraps there: its offset is added before it becomes one of 64.
void FunctionDecoder::widen_address(Target* target) {
  if (target->offset != 0) {
    const std::uint32_t by = builder_.constant(static_cast<std::uint64_t>(target->offset), 4);
    const std::uint32_t sum = temporary();
    Shape shape;
    shape.result(0, 32).source(1, 32).source(2, 32).flow = ptx::BitFlow::kSum;
    Instruction& in = emit("add.u32", shape);
    in.r[0] = sum;
    in.r[1] = target->operand;
    in.r[2] = by;
    target->operand = sum;
    target->offset = 0;
  }
  target->operand = convert(target->operand, 4, 8, false);
  target->narrow = false;
}

FunctionDecoder::Target FunctionDecoder::address(const Operand& operand, Space space) {
  if (operand.kind != OperandKind::kAddress || operand.count != 1)
    fail("an address of another form than [a+offset]");
  const Operand& base = body_.parts(operand)[0];
  Target target;
  target.space = space;
  switch (base.kind) {
  case OperandKind::kRegister: {
    target.offset = base.offset;
    const std::uint32_t bytes = register_bytes(base.id);
    target.operand = register_offset(base.id);
    target.narrow = bytes == 4;
    const bool has_narrow_form = space == Space::kShared;
    if (target.narrow && !has_narrow_form) {
      widen_address(&target);
    } else if (bytes != 4 && bytes != 8) {
      fail("an address in a register of another width");
    }
    return target;
  }
  case OperandKind::kImmediate: target.operand = builder_.constant(base.bits, 8); return target;
  case OperandKind::kLocal:
    if (body_.variables[base.id].space == Space::kParam) {
      target.in_frame = true;
      target.offset = static_cast<std::int64_t>(local_offsets_[base.id]) + base.offset;
      return target;
    }
    target.operand = source_of(base, 8, Type::kU64);
    return target;
  case OperandKind::kParameter:
    target.offset = static_cast<std::int64_t>(code_.parameter_offsets[base.id]) + base.offset;
    target.in_frame = !is_kernel_;
    target.is_parameter = is_kernel_;
    return target;
  case OperandKind::kReturn:
    target.in_frame = true;
    target.offset = static_cast<std::int64_t>(code_.return_offsets[base.id]) + base.offset;
    return target;
  default: target.operand = source_of(base, 8, Type::kU64); return target;
  }
}

// The area of parameters of a frame, or the kernel's parameters by a known offset: each element for
// itself.
void FunctionDecoder::load_parameter(const Target& target, const Operand& data, Type type) {
  const bool is_vector = data.kind == OperandKind::kVector;
  const std::uint32_t count = is_vector ? data.count : 1;
  const std::uint32_t bytes = ptx::bits_of(type) / 8;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Result to = result(is_vector ? body_.parts(data)[i] : data, type);
    const std::int64_t offset = target.offset + i * std::int64_t{bytes};
    const std::string width = std::to_string(bytes * 8);
    if (target.is_parameter) {
      std::uint64_t size = 0;
      for (std::size_t k = 0; k < code_.parameter_offsets.size(); ++k)
        size = code_.parameter_offsets[k] + std::uint64_t{code_.parameter_sizes[k]};
      if (offset < 0 || static_cast<std::uint64_t>(offset) + bytes > size)
        fail("a load behind the kernel's parameters");
      const std::uint32_t from = builder_.parameter(static_cast<std::uint32_t>(offset), bytes);
      Instruction& in = emit("mov.b" + width, Shape::moved(bytes * 8));
      in.r[0] = to.offset;
      in.r[1] = from;
    } else {
      if (offset < 0 || offset + bytes > code_.parameter_bytes)
        fail("a load outside of parameters");
      Instruction& in = emit("ld.frame.b" + width, shape_of_access(target, bytes, 1, true));
      in.r[0] = to.offset;
      in.immediate = offset;
    }
    write_back(to);
  }
}

void FunctionDecoder::check_words() {
  const auto is_known = [&](std::string_view word) { return ptx::names_word(*opcode_, word); };
  if (!std::ranges::all_of(mnemonic().modifiers, is_known)) decode_not_executed();
}

Shape FunctionDecoder::shape_of_access(const Target& target, std::uint32_t bytes,
                                       std::uint32_t count, bool is_load) const {
  Shape shape;
  const bool in_frame = target.in_frame || (!is_kernel_ && target.space == Space::kParam);
  shape.decides(4, target.narrow ? 32 : 64);
  shape.element = static_cast<std::uint8_t>(bytes);
  shape.count = static_cast<std::uint8_t>(count);
  shape.is_narrow = target.narrow;
  shape.space = target.space == Space::kConst ? Space::kGlobal : target.space;
  if (is_load) shape.memory = in_frame ? Shape::Memory::kFrameLoad : Shape::Memory::kLoad;
  else shape.memory = in_frame ? Shape::Memory::kFrameStore : Shape::Memory::kStore;
  return shape;
}

// What a strong access of memory of the device lets other threads know, or learns.
void FunctionDecoder::emit_flag(const char* form, std::uint32_t address, const Target& target,
                                std::uint32_t extra) {
  Instruction& in = emit(form);
  in.r[0] = address;
  in.immediate = target.offset;
  in.extra = extra;
}

void FunctionDecoder::decode_load() {
  const Type type = types().empty() ? only_type() : types().back();
  check_words();
  const Operand& data = operand(0);
  const std::uint32_t bytes = ptx::size_of(type);
  const Target target = address(operand(1), space());
  if (target.in_frame || target.is_parameter) return load_parameter(target, data, type);
  const bool is_vector = data.kind == OperandKind::kVector;
  const std::uint32_t count = is_vector ? data.count : 1;
  if (count != 1 && count != 2 && count != 4) fail("a vector of another size than 2 or 4");
  note_shared_access(target.space, bytes);
  std::vector<Result> results;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Operand& element = is_vector ? body_.parts(data)[i] : data;
    results.push_back(result(element, type));
  }
  std::string form = std::string("ld.") + name_in_form(target.space);
  if (!is_kernel_ && target.space == Space::kParam) form = "ld.frame.at";
  if (count > 1) form += ".v" + std::to_string(count);
  if (target.narrow) form += ".a32";
  const bool is_strong = has("volatile") || has("relaxed") || has("acquire") || has("mmio");
  const bool is_device = target.space != Space::kShared && target.space != Space::kLocal;
  std::uint32_t flag = target.operand;
  if (is_strong && is_device) {
    const auto is_overwritten = [&](const Result& each) {
      return each.offset == flag || each.narrow == flag;
    };
    if (std::ranges::any_of(results, is_overwritten)) {
      flag = temporary();
      Instruction& copy = emit("mov.b64", Shape::moved(64));
      copy.r[0] = flag;
      copy.r[1] = target.operand;
    }
  }
  Instruction& in =
    emit(form + ".b" + std::to_string(bytes * 8), shape_of_access(target, bytes, count, true));
  for (std::uint32_t i = 0; i < count; ++i) in.r[i] = results[i].offset;
  in.r[4] = target.operand;
  in.immediate = target.offset;
  in.extra = strength(is_strong);
  for (const Result& each : results) write_back(each);
  if (is_strong && is_device)
    emit_flag("strong.ld", flag, target, bytes * count | (has("relaxed") ? kRelaxedLoad : 0));
  if (has("acquire")) half_fence(kOnlyAcquires);
}

void FunctionDecoder::decode_store() {
  const Type type = types().empty() ? only_type() : types().back();
  check_words();
  const std::uint32_t bytes = ptx::size_of(type);
  const Target target = address(operand(0), space());
  const Operand& data = operand(1);
  const bool is_vector = data.kind == OperandKind::kVector;
  const std::uint32_t count = is_vector ? data.count : 1;
  if (count != 1 && count != 2 && count != 4) fail("a vector of another size than 2 or 4");
  note_shared_access(target.space, bytes);
  std::uint32_t values[4];
  for (std::uint32_t i = 0; i < count; ++i) {
    const Operand& element = is_vector ? body_.parts(data)[i] : data;
    values[i] = source_of(element, bytes, type);
  }
  if (target.is_parameter) fail("a store to a kernel's parameter");
  if (target.in_frame) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::int64_t offset = target.offset + i * std::int64_t{bytes};
      if (offset < 0 || offset + bytes > code_.parameter_bytes)
        fail("a store outside of parameters");
      Instruction& in =
        emit("st.frame.b" + std::to_string(bytes * 8), shape_of_access(target, bytes, 1, false));
      in.r[0] = values[i];
      in.immediate = offset;
    }
    return;
  }
  if (has("release")) half_fence(kOnlyReleases);
  const bool is_strong = has("volatile") || has("relaxed") || has("release") || has("mmio");
  const bool is_device = target.space != Space::kShared && target.space != Space::kLocal;
  if (is_strong && is_device) emit_flag("strong.st", target.operand, target, bytes * count);
  std::string form = std::string("st.") + name_in_form(target.space);
  if (!is_kernel_ && target.space == Space::kParam) form = "st.frame.at";
  if (count > 1) form += ".v" + std::to_string(count);
  if (target.narrow) form += ".a32";
  Instruction& in =
    emit(form + ".b" + std::to_string(bytes * 8), shape_of_access(target, bytes, count, false));
  for (std::uint32_t i = 0; i < count; ++i) in.r[i] = values[i];
  in.r[4] = target.operand;
  in.immediate = target.offset;
  in.extra = strength(is_strong);
}

// An address of 64 bits; the offset of one that had 32 is in it.
std::uint32_t FunctionDecoder::whole_address(Target target) {
  if (target.narrow) widen_address(&target);
  return target.operand;
}

// atom.{order}.{scope}.{space}.op.type d, [a], b{, c} and red without d. The form is
// "atom.op.type". A vector is an atomic for each element, as PTX defines it. `extra` is the space,
// of a vector also its elements and which one it is.
void FunctionDecoder::decode_atomic(bool has_result) {
  std::string operation;
  for (const std::string_view word : mnemonic().modifiers) {
    if (ptx::names_word(*opcode_, word)) continue;
    if (!operation.empty() || word.find("::") != std::string_view::npos) decode_not_executed();
    operation = word;
  }
  const Type type = only_type();
  const std::uint32_t bytes = ptx::size_of(type);
  const std::size_t first = has_result ? 1 : 0;
  const Target target = address(operand(first), space());
  if (target.in_frame || target.is_parameter) fail("an atomic on a parameter");
  note_shared_access(target.space, bytes);
  const Operand& data = operand(first + 1);
  const std::uint32_t count = data.kind == OperandKind::kVector ? data.count : 1;
  const auto part = [&](const Operand& whole, std::uint32_t i) -> const Operand& {
    return whole.kind == OperandKind::kVector ? body_.parts(whole)[i] : whole;
  };
  if (has_result && count > 1 &&
      (operand(0).kind != OperandKind::kVector || operand(0).count != count))
    fail("a result of another size than the operand");
  const std::uint32_t base = whole_address(target);
  const std::int64_t offset = target.narrow ? 0 : target.offset;
  std::vector<std::uint32_t> values;
  for (std::uint32_t i = 0; i < count; ++i) values.push_back(source_of(part(data, i), bytes, type));
  std::uint32_t c = kNoOperand;
  if (instruction_->operand_count > first + 2) c = source_of(operand(first + 2), bytes, type);
  std::vector<Result> results(count);
  for (std::uint32_t i = 0; i < count && has_result; ++i) {
    results[i] = result(part(operand(0), i), type);
    // Later elements would use what an earlier one has written
    const bool is_used =
      std::find(values.begin() + i + 1, values.end(), results[i].offset) != values.end();
    if (is_used) fail("a vector with a register that is an operand as well");
  }
  if (has("release") || has("acq_rel")) half_fence(kOnlyReleases);
  const std::string form =
    (has_result ? "atom." : "red.") + operation + "." + std::string(ptx::name_of(type));
  // What an exchange stores is only moved; of a comparison, what it compares decides
  Shape shape;
  shape.decides(1, 64).memory = Shape::Memory::kAtomic;
  if (has_result) shape.result(0, bytes * 8);
  if (operation != "exch") shape.decides(2, bytes * 8);
  shape.is_inexact = ptx::is_inexact(*opcode_, mnemonic());
  for (std::uint32_t i = 0; i < count; ++i) {
    Instruction& in = emit(form, shape);
    in.r[0] = results[i].offset;
    in.r[1] = base;
    in.r[2] = values[i];
    in.r[3] = c;
    in.immediate = offset + i * std::int64_t{bytes};
    in.extra =
      static_cast<std::uint32_t>(target.space) | scope() | (count > 1 ? count << 8 | i << 16 : 0);
  }
  for (std::uint32_t i = 0; i < count && has_result; ++i) write_back(results[i]);
  if (has("acquire") || has("acq_rel")) half_fence(kOnlyAcquires);
}

} // namespace gmt::executor
