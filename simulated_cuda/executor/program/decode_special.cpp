// SPDX-License-Identifier: Apache-2.0
// Instructions whose operands have a shape of their own: moves, comparisons, carries, conversions
// and what lanes do with each other.
#include "simulated_cuda/executor/program/decoder.h"

namespace gmt::executor {

using ptx::OperandKind;
using ptx::Type;

bool FunctionDecoder::decode_special() {
  const std::string_view opcode = mnemonic().opcode;
  struct Row {
    std::string_view opcode;
    void (*decode)(FunctionDecoder&);
  };
  static constexpr Row kRows[] = {
    {"mov", [](FunctionDecoder& d) { d.decode_move(); }},
    {"ld", [](FunctionDecoder& d) { d.decode_load(); }},
    {"ldu", [](FunctionDecoder& d) { d.decode_load(); }},
    {"st", [](FunctionDecoder& d) { d.decode_store(); }},
    {"atom", [](FunctionDecoder& d) { d.decode_atomic(true); }},
    {"red", [](FunctionDecoder& d) { d.decode_atomic(false); }},
    {"bra", [](FunctionDecoder& d) { d.decode_branch(); }},
    {"brx", [](FunctionDecoder& d) { d.decode_table_branch(); }},
    {"call", [](FunctionDecoder& d) { d.decode_call(); }},
    {"ret", [](FunctionDecoder& d) { d.decode_leave(d.is_kernel_ ? "exit" : "ret"); }},
    {"exit", [](FunctionDecoder& d) { d.decode_leave("exit"); }},
    {"trap", [](FunctionDecoder& d) { d.decode_leave("trap"); }},
    {"brkpt", [](FunctionDecoder& d) { d.decode_leave("trap"); }},
    {"mbarrier", [](FunctionDecoder& d) { d.decode_mbarrier(); }},
    {"bar", [](FunctionDecoder& d) { d.decode_barrier(); }},
    {"barrier", [](FunctionDecoder& d) { d.decode_barrier(); }},
    {"membar", [](FunctionDecoder& d) { d.emit("fence"); }},
    {"fence", [](FunctionDecoder& d) { d.emit("fence"); }},
    {"setp", [](FunctionDecoder& d) { d.decode_compare(true); }},
    {"set", [](FunctionDecoder& d) { d.decode_compare(false); }},
    {"shfl", [](FunctionDecoder& d) { d.decode_shuffle(); }},
    {"vote", [](FunctionDecoder& d) { d.decode_vote(); }},
    {"match", [](FunctionDecoder& d) { d.decode_match(); }},
    {"redux", [](FunctionDecoder& d) { d.decode_redux(); }},
    {"elect", [](FunctionDecoder& d) { d.decode_elect(); }},
    {"cvta", [](FunctionDecoder& d) { d.decode_address_conversion(); }},
    {"isspacep", [](FunctionDecoder& d) { d.decode_address_question(); }},
  };
  for (const Row& row : kRows) {
    if (row.opcode != opcode) continue;
    if (opcode == "fence" || opcode == "membar") {
      for (const std::string_view word : mnemonic().modifiers) {
        if (word.find("proxy") != std::string_view::npos && word != "proxy")
          fail(std::string(mnemonic().text) + " is not executed");
      }
    }
    row.decode(*this);
    return true;
  }
  if (opcode == "cvt" && decode_pair_conversion()) return true;
  return false;
}

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
      emit("unpack.v" + std::to_string(results.size()) + ".b" + std::to_string(bits));
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
    Instruction& in = emit("pack.v" + std::to_string(from.count) + ".b" + std::to_string(bits));
    in.r[4] = result_of.offset;
    for (std::uint32_t i = 0; i < from.count; ++i) in.r[i] = values[i];
    write_back(result_of);
    return;
  }
  if (type == Type::kPred) {
    const std::uint32_t value = predicate(from);
    Instruction& in = emit("mov.pred");
    in.r[0] = result(to, type).offset;
    in.r[1] = value;
    return;
  }
  const std::uint32_t value = source(from, type);
  const Result result_of = result(to, type);
  Instruction& in = emit("mov.b" + std::to_string(bits));
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
  Instruction& in = emit(form_without("and or xor"));
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
  Instruction& in = emit(form_without("sync b32"));
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
  Instruction& in = emit(form_without("sync pred b32"));
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
  Instruction& in = emit(form_without("sync"));
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
  Instruction& in = emit(form_without("sync"));
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
  Instruction& in = emit("elect");
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
    Instruction& in = emit("mov.b64");
    in.r[0] = to.offset;
    in.r[1] = from;
  } else {
    const std::uint32_t base = builder_.constant(from_generic ? 0 - window : window, 8);
    Instruction& in = emit("add.u64");
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
  case ptx::Space::kShared: form = "isspacep.shared"; break;
  case ptx::Space::kLocal: form = "isspacep.local"; break;
  case ptx::Space::kParam: form = "isspacep.param"; break;
  case ptx::Space::kConst: form = "isspacep.const"; break;
  default: break;
  }
  Instruction& in = emit(form);
  in.r[0] = to;
  in.r[1] = from;
}

// cvt.rn.f16x2.f32 d, a, b and its like: two values become one.
bool FunctionDecoder::decode_pair_conversion() {
  const auto found = types();
  if (found.size() < 2 || instruction_->operand_count != 3) return false;
  const Result to = result(operand(0), found[0]);
  const std::uint32_t a = source(operand(1), found[1]);
  const std::uint32_t b = source(operand(2), found[1]);
  Instruction& in = emit(form_without(""));
  in.r[0] = to.offset;
  in.r[1] = a;
  in.r[2] = b;
  write_back(to);
  return true;
}

} // namespace gmt::executor
