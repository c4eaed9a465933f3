// SPDX-License-Identifier: Apache-2.0
// Instructions whose operands have a shape of their own: moves, comparisons, addresses as values
// and what lanes do with each other.
#include "simulated_cuda/executor/program/decoder.h"

#include <algorithm>
#include <iterator>

namespace gmt::executor {

using ptx::OperandKind;
using ptx::Type;

namespace {

Shape parts_shape(ptx::BitFlow flow, std::size_t parts) {
  Shape shape;
  shape.flow = flow;
  shape.count = static_cast<std::uint8_t>(parts);
  if (flow == ptx::BitFlow::kWhole) return shape.result(4, 128);
  for (std::size_t i = 0; i < parts; ++i) shape.result(i, 128);
  return shape;
}

Shape lanes_shape(Shape::Kind kind) {
  Shape shape;
  shape.decides(5, 32).kind = kind;
  return shape;
}

// Integers are compared by their values and by what of them is known.
void take_relation(Shape* shape, std::string_view name, Type type) {
  struct Known {
    std::string_view name;
    Shape::Relation relation;
    bool is_swapped;
  };
  using Relation = Shape::Relation;
  static constexpr Known kKnown[] = {
    {"eq", Relation::kEqual, false},       {"ne", Relation::kEqual, false},
    {"lt", Relation::kLess, false},        {"lo", Relation::kLess, false},
    {"le", Relation::kLessOrEqual, false}, {"ls", Relation::kLessOrEqual, false},
    {"gt", Relation::kLess, true},         {"hi", Relation::kLess, true},
    {"ge", Relation::kLessOrEqual, true},  {"hs", Relation::kLessOrEqual, true}};
  const auto* known = std::ranges::find(kKnown, name, &Known::name);
  if (known == std::end(kKnown)) return;
  switch (type) {
  case Type::kB16: type = Type::kU16; break;
  case Type::kB32: type = Type::kU32; break;
  case Type::kB64: type = Type::kU64; break;
  case Type::kU16:
  case Type::kU32:
  case Type::kU64:
  case Type::kS16:
  case Type::kS32:
  case Type::kS64: break;
  default: return;
  }
  shape->relation = known->relation;
  shape->is_swapped = known->is_swapped;
  shape->compared = type;
}

} // namespace

void FunctionDecoder::decode_move() {
  const Type type = only_type();
  const Operand& to = operand(0);
  const Operand& from = operand(1);
  const std::uint32_t bits = ptx::bits_of(type);
  if (to.kind == OperandKind::kVector) {
    if (to.count != 2 && to.count != 4) fail("a vector of another size than 2 or 4");
    const std::uint32_t each = bits / to.count;
    const Type part = type_of_bits(each);
    const std::uint32_t value = source(from, type);
    std::vector<Result> results;
    for (std::uint32_t i = 0; i < to.count; ++i)
      results.push_back(result(body_.parts(to)[i], part));
    Instruction& in =
      emit("unpack.v" + std::to_string(results.size()) + ".b" + std::to_string(bits),
           parts_shape(ptx::BitFlow::kParts, results.size()));
    for (std::size_t i = 0; i < results.size(); ++i) in.r[i] = results[i].offset;
    in.r[4] = value;
    for (const Result& each_result : results) write_back(each_result);
    return;
  }
  if (from.kind == OperandKind::kVector) {
    if (from.count != 2 && from.count != 4) fail("a vector of another size than 2 or 4");
    const Type part = type_of_bits(bits / from.count);
    std::uint32_t values[4] = {};
    for (std::uint32_t i = 0; i < from.count; ++i) values[i] = source(body_.parts(from)[i], part);
    const Result result_of = result(to, type);
    Instruction& in = emit("pack.v" + std::to_string(from.count) + ".b" + std::to_string(bits),
                           parts_shape(ptx::BitFlow::kWhole, from.count));
    in.r[4] = result_of.offset;
    for (std::uint32_t i = 0; i < from.count; ++i) in.r[i] = values[i];
    write_back(result_of);
    return;
  }
  if (type == Type::kPred) {
    const std::uint32_t value = predicate(from);
    Instruction& in = emit("mov.pred", Shape::moved(1));
    in.r[0] = result(to, type).offset;
    in.r[1] = value;
    return;
  }
  const std::uint32_t value = source(from, type);
  const Result result_of = result(to, type);
  Instruction& in = emit("mov.b" + std::to_string(bits), Shape::moved(bits));
  in.r[0] = result_of.offset;
  in.r[1] = value;
  write_back(result_of);
}

ptx::Type FunctionDecoder::type_of_bits(std::uint32_t bits) const {
  switch (bits) {
  case 8: return Type::kB8;
  case 16: return Type::kB16;
  case 32: return Type::kB32;
  case 64: return Type::kB64;
  default: fail("a part of " + std::to_string(bits) + " bits");
  }
}

// setp.cmp{.op}{.ftz}.type p{|q}, a, b{, c}; set.cmp{.op}{.ftz}.dtype.type d, a, b{, c}
void FunctionDecoder::decode_compare(bool to_predicate) {
  const auto found = types();
  const Type type = found.empty() ? only_type() : found.back();
  const Operand& to = operand(0);
  const bool pair = to.kind == OperandKind::kPair;
  std::uint32_t first = kNoOperand, second = kNoOperand;
  Result written;
  if (to_predicate) {
    first = pass_result(pair ? body_.parts(to)[0] : to, Type::kPred);
    if (pair) second = pass_result(body_.parts(to)[1], Type::kPred);
  } else {
    written = result(to, found[0]);
    first = written.offset;
  }
  const std::uint32_t a = source(operand(1), type);
  const std::uint32_t b = source(operand(2), type);
  std::uint32_t c = kNoOperand;
  if (instruction_->operand_count > 3) c = predicate(operand(3));
  const std::uint32_t compared = ptx::bits_of(type);
  Shape shape;
  shape.source(2, compared).source(3, compared).source(4, 1);
  if (to_predicate) {
    shape.result(0, 1).result(1, 1).flow = opcode_->flow;
    const bool is_joined = has("and") || has("or") || has("xor");
    if (mnemonic().modifiers.size() == (is_joined ? 3 : 2))
      take_relation(&shape, mnemonic().modifiers[0], type);
  } else {
    shape.result(0, found.size() < 2 ? 32 : ptx::bits_of(found[0]));
  }
  Instruction& in = emit(own_form(), shape);
  if (has("and")) in.extra = 1;
  if (has("or")) in.extra = 2;
  if (has("xor")) in.extra = 3;
  in.r[0] = first;
  in.r[1] = second;
  in.r[2] = a;
  in.r[3] = b;
  in.r[4] = c;
  if (!to_predicate) write_back(written);
}

// A predicate that is written, or none for "_".
std::uint32_t FunctionDecoder::pass_result(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::kDiscard) return kNoOperand;
  return result(operand, type).offset;
}

void FunctionDecoder::decode_shuffle() {
  const bool sync = has("sync");
  const Operand& to = operand(0);
  const bool pair = to.kind == OperandKind::kPair;
  const std::size_t guard = begin_guard();
  const std::uint32_t a = source(operand(1), Type::kB32);
  const std::uint32_t b = source(operand(2), Type::kB32);
  const std::uint32_t c = source(operand(3), Type::kB32);
  std::uint32_t mask = kNoOperand;
  if (sync) mask = source(operand(4), Type::kB32);
  const Result value = result(pair ? body_.parts(to)[0] : to, Type::kB32);
  Instruction& in = emit(own_form(), lanes_shape(Shape::Kind::kShuffle));
  in.r[0] = value.offset;
  in.r[1] = pair ? pass_result(body_.parts(to)[1], Type::kPred) : kNoOperand;
  in.r[2] = a;
  in.r[3] = b;
  in.r[4] = c;
  in.r[5] = mask;
  write_back(value);
  end_guard(guard);
}

void FunctionDecoder::decode_vote() {
  const bool ballot = has("ballot");
  const std::size_t guard = begin_guard();
  const std::uint32_t value = predicate(operand(1));
  std::uint32_t mask = kNoOperand;
  if (has("sync")) mask = source(operand(2), Type::kB32);
  const Result to = result(operand(0), ballot ? Type::kB32 : Type::kPred);
  Instruction& in =
    emit(own_form(), lanes_shape(ballot ? Shape::Kind::kBallot : Shape::Kind::kVote));
  in.r[0] = to.offset;
  in.r[1] = value;
  in.r[5] = mask;
  write_back(to);
  end_guard(guard);
}

void FunctionDecoder::decode_match() {
  const Type type = only_type();
  const Operand& to = operand(0);
  const bool pair = to.kind == OperandKind::kPair;
  const std::size_t guard = begin_guard();
  const std::uint32_t a = source(operand(1), type);
  const std::uint32_t mask = source(operand(2), Type::kB32);
  const Result value = result(pair ? body_.parts(to)[0] : to, Type::kB32);
  Instruction& in = emit(own_form(), Shape().result(0, 32).result(1, 1).decides(5, 32));
  in.r[0] = value.offset;
  in.r[1] = pair ? pass_result(body_.parts(to)[1], Type::kPred) : kNoOperand;
  in.r[2] = a;
  in.r[5] = mask;
  write_back(value);
  end_guard(guard);
}

void FunctionDecoder::decode_redux() {
  const Type type = only_type();
  const std::size_t guard = begin_guard();
  const std::uint32_t a = source(operand(1), type);
  const std::uint32_t mask = source(operand(2), Type::kB32);
  const Result value = result(operand(0), type);
  Instruction& in = emit(own_form(), lanes_shape(Shape::Kind::kRedux));
  in.r[0] = value.offset;
  in.r[2] = a;
  in.r[5] = mask;
  write_back(value);
  end_guard(guard);
}

void FunctionDecoder::decode_elect() {
  const Operand& to = operand(0);
  if (to.kind != OperandKind::kPair) fail("elect.sync without a pair of results");
  const std::size_t guard = begin_guard();
  const std::uint32_t mask = source(operand(1), Type::kB32);
  const Result lane = result(body_.parts(to)[0], Type::kB32);
  Instruction& in = emit("elect", Shape().result(0, 32).result(1, 1).decides(5, 32));
  in.r[0] = lane.offset;
  in.r[1] = pass_result(body_.parts(to)[1], Type::kPred);
  in.r[5] = mask;
  write_back(lane);
  end_guard(guard);
}

// cvta.space a generic address of one in a space; cvta.to.space the reverse. Global and constant
// addresses are generic ones.
void FunctionDecoder::decode_address_conversion() {
  const Type type = only_type();
  if (ptx::bits_of(type) != 64) fail("addresses of 32 bits");
  const Result to = result(operand(0), type);
  const std::uint32_t from = source(operand(1), type);
  std::uint64_t window = 0;
  switch (space()) {
  case ptx::Space::kShared: window = kSharedWindow; break;
  case ptx::Space::kLocal: window = kLocalWindow; break;
  case ptx::Space::kParam:
    if (!is_kernel_) fail("the generic address of a function's parameter");
    program_.uses_generic_parameters = true;
    window = kParameterWindow;
    break;
  default: break;
  }
  const bool from_generic = has("to");
  if (window == 0) {
    Instruction& in = emit("mov.b64", Shape::moved(64));
    in.r[0] = to.offset;
    in.r[1] = from;
  } else {
    const std::uint32_t base = builder_.constant(from_generic ? 0 - window : window, 8);
    Shape shape;
    shape.result(0, 64).source(1, 64).source(2, 64).flow = opcode_->flow;
    Instruction& in = emit("add.u64", shape);
    in.r[0] = to.offset;
    in.r[1] = from;
    in.r[2] = base;
  }
  write_back(to);
}

void FunctionDecoder::decode_address_question() {
  const std::uint32_t to = result(operand(0), Type::kPred).offset;
  const std::uint32_t from = source(operand(1), Type::kU64);
  const char* form = "isspacep.global";
  switch (space()) {
  case ptx::Space::kShared:
    form = has("shared::cluster") ? "isspacep.shared" : "isspacep.shared::cta";
    break;
  case ptx::Space::kLocal: form = "isspacep.local"; break;
  case ptx::Space::kParam: form = "isspacep.param"; break;
  case ptx::Space::kConst: form = "isspacep.const"; break;
  default: break;
  }
  Instruction& in = emit(form, Shape().result(0, 1).source(1, 64));
  in.r[0] = to;
  in.r[1] = from;
}

// lop3.and.b32 d|p, a, b, c, table, q; without a predicate its operands are those of the row.
void FunctionDecoder::decode_logic() {
  const Operand& to = operand(0);
  if (to.kind != OperandKind::kPair) {
    if (mnemonic().modifiers.size() > 1) fail("lop3 without the predicate that it writes");
    return decode_by_operands();
  }
  std::uint32_t sources[3];
  for (std::uint32_t i = 0; i < 3; ++i) sources[i] = source(operand(i + 1), Type::kB32);
  const Operand& table = operand(4);
  if (table.kind != OperandKind::kImmediate) fail("an operand that must be a number");
  const std::uint32_t joined = predicate(operand(5));
  const Result value = result(body_.parts(to)[0], Type::kB32);
  const Result is = result(body_.parts(to)[1], Type::kPred);
  Shape shape;
  shape.result(0, 32).result(4, 1).source(5, 1);
  for (std::uint32_t i = 0; i < 3; ++i) shape.source(i + 1, 32);
  Instruction& in = emit(own_form(), shape);
  in.r[0] = value.offset;
  for (std::uint32_t i = 0; i < 3; ++i) in.r[i + 1] = sources[i];
  in.r[4] = is.offset;
  in.r[5] = joined;
  in.immediate = static_cast<std::int64_t>(table.bits);
  write_back(value);
}

} // namespace gmt::executor
