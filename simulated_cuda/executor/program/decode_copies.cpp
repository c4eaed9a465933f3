// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, and the mbarriers by which threads wait for them.
#include "simulated_cuda/executor/program/bulk_form.h"
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>
#include <iterator>

namespace gmt::executor {

using ptx::OperandKind;
using ptx::Type;

// An address of 64 bits, the offset of the text included.
std::uint32_t FunctionDecoder::whole_address_with_offset(const Operand& operand, ptx::Space space) {
  Target target = address(operand, space);
  if (target.in_frame || target.is_parameter) fail("an address of a parameter");
  if (target.narrow) widen_address(&target);
  if (target.offset == 0) return target.operand;
  const std::uint32_t sum = temporary();
  Shape shape;
  shape.result(0, 64).source(1, 64).source(2, 64).flow = ptx::BitFlow::kSum;
  const std::uint32_t by = builder_.constant(static_cast<std::uint64_t>(target.offset), 8);
  Instruction& in = emit("add.u64", shape);
  in.r[0] = sum;
  in.r[1] = target.operand;
  in.r[2] = by;
  return sum;
}

// cp.async.ca.shared.global [to], [from], bytes{, bytes of the source or: it is ignored}{, cache
// policy}. What the source lacks is zero.
void FunctionDecoder::decode_copy() {
  check_words();
  const Operand& size = operand(2);
  if (size.kind != OperandKind::kImmediate) decode_not_executed();
  const std::uint64_t bytes = size.bits;
  if (bytes != 4 && bytes != 8 && bytes != 16) decode_not_executed();
  note_shared_access(ptx::Space::kShared, static_cast<std::uint32_t>(bytes));
  const std::uint32_t to = whole_address_with_offset(operand(0), ptx::Space::kShared);
  const std::uint32_t from = whole_address_with_offset(operand(1), ptx::Space::kGlobal);
  std::uint32_t loaded = kNoOperand, ignored = kNoOperand;
  if (instruction_->operand_count > (has("L2::cache_hint") ? 4u : 3u)) {
    const Operand& given = operand(3);
    const bool is_predicate =
      given.kind == OperandKind::kRegister && body_.registers[given.id].type == Type::kPred;
    (is_predicate ? ignored : loaded) = source(given, is_predicate ? Type::kPred : Type::kU32);
  }
  Shape shape;
  shape.decides(0, 64).decides(1, 64).decides(2, 32).decides(3, 1);
  shape.memory = Shape::Memory::kUnknown;
  Instruction& in = emit("cp.async", shape);
  in.r[0] = to;
  in.r[1] = from;
  in.r[2] = loaded;
  in.r[3] = ignored;
  in.extra = static_cast<std::uint32_t>(bytes);
}

// The groups of a thread's copies: they begin, or are waited for but for some.
void FunctionDecoder::decode_copy_group() {
  std::int64_t number = 0;
  if (instruction_->operand_count != 0) {
    if (operand(0).kind != OperandKind::kImmediate) fail("an operand that must be a number");
    number = static_cast<std::int64_t>(operand(0).bits);
  }
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  emit(own_form(), shape).immediate = number;
}

// mbarrier.op.b64 of an object in shared memory, and cp.async.mbarrier.arrive. Operands of the
// form: the result, the address, and a number: a count, bytes, a state or a parity.
void FunctionDecoder::decode_mbarrier() {
  check_words();
  const bool waits = has("test_wait") || has("try_wait");
  const bool has_parity = has("parity");
  const bool of_copies = has("async");
  const std::size_t guard = begin_guard();
  std::size_t at = 0;
  Result to;
  const bool gives = operand(0).kind != OperandKind::kAddress;
  if (gives) to = result(operand(at++), waits ? Type::kPred : Type::kB64);
  const Target target = address(operand(at++), ptx::Space::kShared);
  const std::uint32_t base = whole_address(target);
  std::uint32_t number = kNoOperand;
  if (instruction_->operand_count > at)
    number = source(operand(at), waits && !has_parity ? Type::kB64 : Type::kU32);
  Shape shape;
  if (gives) shape.result(0, waits ? 1 : 64);
  shape.decides(1, 64).decides(2, waits && !has_parity ? 64 : 32);
  shape.memory = waits ? Shape::Memory::kWait : Shape::Memory::kUnknown;
  std::string form(of_copies ? "cp" : "mbarrier");
  for (std::size_t i = 0; i < opcode_->word_count; ++i)
    form += "." + std::string(opcode_->words[i]);
  if (has_parity) form += ".parity";
  if (has("noinc")) form += ".noinc";
  Instruction& in = emit(form, shape);
  in.r[0] = to.offset;
  in.r[1] = base;
  in.r[2] = number;
  in.immediate = target.narrow ? 0 : target.offset;
  if (gives) write_back(to);
  end_guard(guard);
}

// Bits of Instruction::extra for "add.u32" and its like.
std::uint32_t FunctionDecoder::combine_of(const std::string& operation) const {
  const auto& all = bulk_form::kCombines;
  const auto found = std::ranges::find(all, operation);
  if (found == all.end()) fail(std::string(mnemonic().text) + " is not executed");
  return static_cast<std::uint32_t>(found - all.begin() + 1) << bulk_form::kCombineShift;
}

// cp.async.bulk.to.from.completion [to], [from], bytes{, [mbarrier]}{, blocks}{, cache policy}{,
// which bytes}, and cp.reduce.async.bulk, whose operation and type come last.
void FunctionDecoder::decode_bulk_copy() {
  std::string operation;
  for (const std::string_view word : mnemonic().modifiers) {
    if (ptx::names_word(*opcode_, word) && (word != "type")) {
      if (operation.empty() || ptx::type_named(word) == Type::kNone) continue;
      operation += "." + std::string(word);
      continue;
    }
    if (!operation.empty()) decode_not_executed();
    operation = word;
  }
  const bool reduces = mnemonic().opcode == "cp" && has("reduce");
  if (reduces == operation.empty()) decode_not_executed();
  const ptx::Space to_space = ptx::space_of(mnemonic(), 0),
                   from_space = ptx::space_of(mnemonic(), 1);
  const bool counted = has("mbarrier::complete_tx::bytes");
  const std::uint32_t to = whole_address_with_offset(operand(0), to_space);
  const std::uint32_t from = whole_address_with_offset(operand(1), from_space);
  const std::uint32_t bytes = source(operand(2), Type::kU32);
  std::size_t at = 3;
  std::uint32_t object = kNoOperand, ranks = kNoOperand, written = kNoOperand;
  if (counted) object = whole_address_with_offset(operand(at++), ptx::Space::kShared);
  if (has("multicast::cluster")) ranks = source(operand(at++), Type::kU32);
  if (has("L2::cache_hint")) ++at;
  if (has("cp_mask")) written = source(operand(at++), Type::kU32);
  note_shared_access(ptx::Space::kShared, 4);
  Shape shape;
  shape.decides(0, 64).decides(1, 64).decides(2, 32).decides(3, 64).decides(4, 32).decides(5, 32);
  shape.memory = Shape::Memory::kUnknown;
  Instruction& in = emit("cp.async.bulk", shape);
  const std::uint32_t r[] = {to, from, bytes, object, ranks, written};
  std::copy(std::begin(r), std::end(r), in.r);
  in.extra = (to_space == ptx::Space::kGlobal ? bulk_form::kToGlobal : 0) |
             (from_space == ptx::Space::kGlobal ? bulk_form::kFromGlobal : 0) |
             (counted ? 0 : bulk_form::kGroup) | (reduces ? combine_of(operation) : 0);
}

// cp.async.bulk.tensor.2d.to.from.completion [to], [map, {coordinates}], [mbarrier]{, blocks}{,
// cache policy}; [map, {coordinates}], [from] of a group, also with an operation. .tile is the way
// that is meant if none is named; .im2col has offsets behind the mbarrier.
void FunctionDecoder::decode_tensor_copy() {
  std::string_view operation;
  std::uint32_t rank = 0;
  bool is_im2col = false;
  for (const std::string_view word : mnemonic().modifiers) {
    const auto& all = bulk_form::kOperations;
    if (word.size() == 2 && word[1] == 'd' && word[0] >= '1' && word[0] <= '5')
      rank = static_cast<std::uint32_t>(word[0] - '0');
    else if (std::ranges::find(all, word) != all.end()) operation = word;
    else if (word == "im2col" || word == "im2col_no_offs") is_im2col = true;
    else if (word != "tile" && !ptx::names_word(*opcode_, word)) decode_not_executed();
  }
  const bool to_global = ptx::space_of(mnemonic(), 0) == ptx::Space::kGlobal;
  const bool has_offsets = has("im2col") && !to_global;
  if (rank == 0 || (is_im2col && rank < 3) || has("reduce") == operation.empty() ||
      to_global == has("mbarrier::complete_tx::bytes"))
    decode_not_executed();
  const Operand& tensor = operand(to_global ? 0 : 1);
  if (tensor.kind != OperandKind::kAddress || tensor.count != 2) fail("no address of a tensor");
  const Operand &map = body_.parts(tensor)[0], &coordinates = body_.parts(tensor)[1];
  if (coordinates.count != rank) fail("coordinates of another number of dimensions");
  const std::uint32_t map_address = source(map, Type::kU64);
  const std::uint32_t shared =
    whole_address_with_offset(operand(to_global ? 1 : 0), ptx::Space::kShared);
  std::uint32_t object = kNoOperand, ranks = kNoOperand;
  if (!to_global) object = whole_address_with_offset(operand(2), ptx::Space::kShared);
  if (has("multicast::cluster")) ranks = source(operand(has_offsets ? 4 : 3), Type::kU32);
  note_shared_access(ptx::Space::kShared, 4);
  std::vector<std::uint32_t> given;
  for (std::uint32_t d = 0; d < rank; ++d)
    given.push_back(source(body_.parts(coordinates)[d], Type::kS32));
  if (has_offsets) {
    const Operand& offsets = operand(3);
    const bool is_vector = offsets.kind == OperandKind::kVector;
    if ((is_vector ? offsets.count : 1) != rank - 2)
      fail("offsets of another number of dimensions");
    for (std::uint32_t d = 0; d < rank - 2; ++d)
      given.push_back(
        convert(source(is_vector ? body_.parts(offsets)[d] : offsets, Type::kU16), 2, 4, false));
  }
  std::uint32_t first = kNoOperand;
  for (std::uint32_t d = 0; d < given.size(); ++d) { // one behind the other
    const std::uint32_t slot = temporary();
    if (d == 0) first = slot;
    if (slot != first + d * bulk_form::kCoordinateBytes) fail("coordinates apart");
    Instruction& in = emit("mov.b32", Shape::moved(32));
    in.r[0] = slot;
    in.r[1] = given[d];
  }
  Shape shape;
  shape.decides(0, 64).decides(1, 64).decides(2, 64).decides(3, 32).decides(4, 32);
  shape.memory = Shape::Memory::kUnknown;
  Instruction& in = emit("cp.async.bulk.tensor", shape);
  const std::uint32_t r[] = {map_address, shared, object, ranks, first};
  std::copy(std::begin(r), std::end(r), in.r);
  const auto found = std::ranges::find(bulk_form::kOperations, operation);
  const auto number = operation.empty() ? 0 : found - bulk_form::kOperations.begin() + 1;
  in.extra = (to_global ? bulk_form::kToGlobal | bulk_form::kGroup : bulk_form::kFromGlobal) |
             rank << bulk_form::kRankShift | (is_im2col ? bulk_form::kIm2col : 0) |
             (has_offsets ? bulk_form::kOffsets : 0) |
             static_cast<std::uint32_t>(number) << bulk_form::kOperationShift;
}

// st.async.type [to], values, [mbarrier] and red.async.op.type.
void FunctionDecoder::decode_bulk_store() {
  std::string operation;
  for (const std::string_view word : mnemonic().modifiers) {
    if (!ptx::names_word(*opcode_, word)) operation = word;
  }
  const bool reduces = mnemonic().opcode == "red";
  if (reduces == operation.empty() || instruction_->operand_count != 3) decode_not_executed();
  const Type type = types().empty() ? only_type() : types().back();
  const std::uint32_t bytes = ptx::size_of(type);
  const std::uint32_t to = whole_address_with_offset(operand(0), ptx::Space::kShared);
  const std::uint32_t object = whole_address_with_offset(operand(2), ptx::Space::kShared);
  const Operand& data = operand(1);
  const bool is_vector = data.kind == OperandKind::kVector;
  const std::uint32_t count = is_vector ? data.count : 1;
  if (count == 0 || count > 4 || (bytes != 4 && bytes != 8)) decode_not_executed();
  note_shared_access(ptx::Space::kShared, bytes);
  Shape shape;
  shape.decides(0, 64).decides(1, 64).memory = Shape::Memory::kUnknown;
  std::uint32_t values[4];
  for (std::uint32_t i = 0; i < count; ++i) {
    values[i] = source_of(is_vector ? body_.parts(data)[i] : data, bytes, type);
    shape.decides(2 + i, bytes * 8);
  }
  const std::uint32_t combine =
    reduces ? combine_of(operation + "." + std::string(ptx::name_of(type))) : 0;
  Instruction& in = emit("st.async", shape);
  in.r[0] = to;
  in.r[1] = object;
  std::copy_n(values, count, in.r + 2);
  in.extra = combine | count << bulk_form::kCountShift | bytes << bulk_form::kBytesShift;
}

// A cache policy is a hint, whatever it says.
void FunctionDecoder::decode_policy() {
  const Result to = result(operand(0), Type::kB64);
  const std::uint32_t policy = builder_.constant(std::uint64_t{1} << 60, 8);
  Instruction& in = emit("mov.b64", Shape::moved(64));
  in.r[0] = to.offset;
  in.r[1] = policy;
  write_back(to);
}

// Of fences between ways to use memory, only that of bulk copies matters here.
void FunctionDecoder::decode_proxy_fence() {
  decode_fence();
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  if (has("async")) emit("fence.proxy.async", shape);
}

// barrier.cluster.arrive and .wait; without .aligned threads of a warp may come apart, which is the
// same here.
void FunctionDecoder::decode_cluster_barrier() {
  check_words();
  const std::size_t guard = begin_guard();
  Shape shape;
  shape.memory = Shape::Memory::kUnknown;
  emit(has("arrive") ? "barrier.cluster.arrive" : "barrier.cluster.wait", shape);
  end_guard(guard);
}

// mapa{.shared::cluster}.type to, address, rank and getctarank{.shared::cluster}.type to, address.
void FunctionDecoder::decode_cluster_address() {
  const Type type = only_type();
  const std::uint32_t bits = ptx::bits_of(type);
  const bool maps = mnemonic().opcode == "mapa";
  const Result to = result(operand(0), maps ? type : Type::kU32);
  const std::uint32_t from = source(operand(1), type);
  const std::uint32_t rank = maps ? source(operand(2), Type::kU32) : kNoOperand;
  Shape shape;
  shape.result(0, maps ? bits : 32).source(1, bits);
  if (maps) shape.source(2, 32);
  Instruction& in = emit(std::string(mnemonic().opcode) + (bits == 32 ? ".u32" : ".u64"), shape);
  in.r[0] = to.offset;
  in.r[1] = from;
  in.r[2] = rank;
  in.extra = has("shared::cluster") ? 0 : 1;
  write_back(to);
}

} // namespace gmt::executor
