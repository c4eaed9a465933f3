// SPDX-License-Identifier: Apache-2.0
// Backwards through the blocks until nothing changes. What is not understood decides nothing.
#include "rewriter/decided_values.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "ptx/flow/accesses.h"
#include "ptx/flow/flow.h"
#include "ptx/opcodes/opcodes.h"
#include "rewriter/computed_registers.h"

namespace gmt::rewriter {
namespace {

using ptx::BitFlow;
using ptx::Body;
using ptx::Instruction;
using ptx::Mnemonic;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

template <class List> bool is_among(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_float(Type type) { return ptx::name_of(type).find('f') != std::string_view::npos; }
bool is_signed(Type type) { return ptx::name_of(type).starts_with("s"); }

// Registers that decide something if they are not written: wholly, or in part.
struct Decided {
  std::vector<bool> whole, part;

  void resize(std::size_t count, bool value) {
    whole.assign(count, value);
    part.assign(count, value);
  }
  void set(std::uint32_t id) { whole[id] = part[id] = true; }
  void forget(std::uint32_t id) { whole[id] = part[id] = false; }
  void meet(const Decided& other) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] = whole[i] && other.whole[i];
      part[i] = part[i] && other.part[i];
    }
  }
};

class Analysis {
public:
  Analysis(const ptx::Module& module, const Body& body)
      : body_(body), flow_(ptx::flow_of(module, body)), computed_(computed_registers(body)) {}

  std::vector<std::uint32_t> run() {
    std::vector<std::uint32_t> results(body_.instructions.size());
    constexpr std::size_t kMostBits = std::size_t{1} << 28;
    if (flow_.blocks.size() * body_.registers.size() > kMostBits) return results;
    before_.resize(flow_.blocks.size());
    for (Decided& each : before_) each.resize(body_.registers.size(), true);
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (std::size_t b = flow_.blocks.size(); b-- > 0;) has_changed |= visit(b, nullptr);
    }
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) visit(b, &results);
    return results;
  }

private:
  Decided behind(const ptx::BasicBlock& block) const {
    Decided all;
    const bool may_leave = block.end == ptx::BlockEnd::kLeave ||
                           block.end == ptx::BlockEnd::kMayLeave || block.falls_off ||
                           block.successors.empty();
    all.resize(body_.registers.size(), !may_leave);
    for (const std::uint32_t next : block.successors) all.meet(before_[next]);
    return all;
  }

  bool visit(std::size_t b, std::vector<std::uint32_t>* results) {
    const ptx::BasicBlock& block = flow_.blocks[b];
    Decided now = behind(block);
    for (std::uint32_t i = block.last; i-- > block.first;) {
      const Instruction& instruction = body_.instructions[i];
      if (results != nullptr) (*results)[i] = of_load(instruction, now);
      pass(instruction, now);
    }
    const bool has_changed = now.whole != before_[b].whole || now.part != before_[b].part;
    before_[b] = std::move(now);
    return has_changed;
  }

  std::uint32_t of_load(const Instruction& instruction, const Decided& behind) const {
    const Mnemonic& mnemonic = body_.mnemonic(instruction);
    if (mnemonic.opcode != "ld" && mnemonic.opcode != "ldu") return 0;
    const std::vector<Type> types = ptx::types_of(mnemonic);
    if (types.empty() || instruction.operand_count < 2) return 0;
    const Operand& result = body_.operand(instruction, 0);
    const bool is_vector = result.kind == OperandKind::kVector;
    const std::uint32_t count = is_vector ? result.count : 1;
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < count && i < 32; ++i) {
      const Operand& part = is_vector ? body_.parts(result)[i] : result;
      if (part.kind != OperandKind::kRegister) continue;
      const bool is_whole =
        ptx::bits_of(types.back()) == ptx::bits_of(body_.registers[part.id].type);
      const std::vector<bool>& decided = is_whole ? behind.whole : behind.part;
      if (decided[part.id]) bits |= 1u << i;
    }
    return bits;
  }

  // From what holds behind an instruction to what holds before it.
  void pass(const Instruction& instruction, Decided& now) {
    const Mnemonic& mnemonic = body_.mnemonic(instruction);
    if (mnemonic.opcode == "call") { // it may end the thread
      now.resize(body_.registers.size(), false);
    } else if (instruction.guard == ptx::kNone) {
      execute(instruction, mnemonic, now);
    } else {
      const Decided left_out = now;
      execute(instruction, mnemonic, now);
      now.meet(left_out);
    }
    if (instruction.guard != ptx::kNone) now.set(instruction.guard);
  }

  void execute(const Instruction& instruction, const Mnemonic& mnemonic, Decided& now) {
    const ptx::Opcode* opcode = ptx::find_opcode(mnemonic);
    ptx::accesses_of(body_, instruction, accesses_);
    // Of results: what follows from a result that is not written
    bool whole = false, part = false;
    for (const std::uint32_t id : accesses_.writes) {
      whole = whole || now.whole[id];
      part = part || now.part[id];
    }
    for (const std::uint32_t id : accesses_.writes) now.forget(id);
    if (opcode == nullptr) return;
    if (is_memory(mnemonic)) return access(instruction, mnemonic, now);
    if (accesses_.writes.empty() || (!whole && !part)) return;
    compute(instruction, mnemonic, *opcode, whole, part, now);
  }

  static bool is_memory(const Mnemonic& mnemonic) {
    static constexpr std::string_view kOpcodes[] = {"ld", "ldu", "st", "atom", "red"};
    return is_among(mnemonic.opcode, kOpcodes);
  }

  void access(const Instruction& instruction, const Mnemonic& mnemonic, Decided& now) {
    const Space space = ptx::space_of(mnemonic);
    if (space == Space::kParam || mnemonic.has("async")) return;
    for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
      const Operand& operand = body_.operand(instruction, i);
      if (operand.kind != OperandKind::kAddress) continue;
      const Operand& base = body_.parts(operand)[0];
      if (base.kind == OperandKind::kRegister) now.set(base.id);
    }
    const bool is_seen = space == Space::kGlobal || space == Space::kNone;
    if (mnemonic.opcode != "st" || !is_seen || instruction.operand_count != 2) return;
    const Operand& value = body_.operand(instruction, 1);
    const bool is_vector = value.kind == OperandKind::kVector;
    const std::size_t count = is_vector ? value.count : 1;
    const Operand* parts = is_vector ? body_.parts(value) : &value;
    const bool is_computed = std::any_of(parts, parts + count, [&](const Operand& each) {
      return each.kind == OperandKind::kRegister && computed_[each.id];
    });
    if (!is_computed) return;
    const std::vector<Type> types = ptx::types_of(mnemonic);
    for (std::size_t i = 0; i < count; ++i) {
      if (parts[i].kind != OperandKind::kRegister) continue;
      const bool is_all = !types.empty() && ptx::bits_of(types.back()) ==
                                              ptx::bits_of(body_.registers[parts[i].id].type);
      now.whole[parts[i].id] = true;
      if (is_all) now.set(parts[i].id);
    }
  }

  // Registers among the sources from this operand on.
  template <class F>
  void for_sources(const Instruction& instruction, std::uint32_t from, F use) const {
    for (std::uint32_t i = from; i < instruction.operand_count; ++i) {
      const Operand& operand = body_.operand(instruction, i);
      if (operand.kind == OperandKind::kRegister) use(operand.id, i);
    }
  }

  void compute(const Instruction& instruction, const Mnemonic& mnemonic, const ptx::Opcode& opcode,
               bool whole, bool part, Decided& now) {
    static constexpr std::string_view kComputing[] = {
      "abs", "add",  "cnot", "copysign", "cos",   "cvt",   "div",  "dp2a", "dp4a",  "ex2",
      "fma", "lg2",  "mad",  "mad24",    "max",   "min",   "mov",  "mul",  "mul24", "neg",
      "not", "popc", "rcp",  "rem",      "rsqrt", "sad",   "selp", "set",  "setp",  "shl",
      "shr", "sin",  "sqrt", "sub",      "tanh",  "testp", "xor"};
    if (mnemonic.opcode == "and" || mnemonic.opcode == "or")
      return mask(instruction, mnemonic, part, now);
    if (!is_among(mnemonic.opcode, kComputing) || mnemonic.has("cc")) return;
    if (mnemonic.opcode == "mov") return move(instruction, whole, part, now);
    if (mnemonic.opcode == "cvt") return convert(instruction, mnemonic, whole, part, now);
    if (mnemonic.opcode == "setp") return compare(instruction, mnemonic, whole, now);
    if (mnemonic.opcode == "selp") {
      if (whole && instruction.operand_count == 4)
        for_sources(instruction, 3, [&](auto id, auto) { now.set(id); });
      return;
    }
    if (mnemonic.opcode == "shl" || mnemonic.opcode == "shr")
      return shift(instruction, whole, part, now);
    if (instruction.operand_count < 2) return;
    const std::vector<Type> types = ptx::types_of(mnemonic);
    const bool is_of_floats = std::any_of(types.begin(), types.end(), is_float);
    const bool carries = opcode.flow == BitFlow::kSum || opcode.flow == BitFlow::kUnion ||
                         opcode.flow == BitFlow::kMove;
    const bool is_any =
      opcode.flow == BitFlow::kAny || (opcode.flow == BitFlow::kSum && is_of_floats);
    if (!carries && !is_any) return;
    for_sources(instruction, 1, [&](std::uint32_t id, std::uint32_t) {
      if (whole) now.whole[id] = true;
      if (is_any ? whole : part) now.part[id] = true;
    });
  }

  // Some bits are left, by a mask that is known.
  void mask(const Instruction& instruction, const Mnemonic& mnemonic, bool part, Decided& now) {
    if (!part || instruction.operand_count != 3) return;
    const Operand& from = body_.operand(instruction, 1);
    const Operand& by = body_.operand(instruction, 2);
    if (from.kind != OperandKind::kRegister || by.kind != OperandKind::kImmediate) return;
    const std::uint32_t bits = ptx::bits_of(body_.registers[from.id].type);
    if (bits < 8) return;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
    const std::uint64_t kept = (mnemonic.opcode == "and" ? by.bits : ~by.bits) & all;
    if (kept != 0) now.whole[from.id] = true;
  }

  void move(const Instruction& instruction, bool whole, bool part, Decided& now) {
    if (instruction.operand_count != 2) return;
    const Operand& to = body_.operand(instruction, 0);
    const Operand& from = body_.operand(instruction, 1);
    if (from.kind == OperandKind::kVector) { // each is a part of the result
      for (std::uint32_t i = 0; i < from.count; ++i) {
        const Operand& each = body_.parts(from)[i];
        if (part && each.kind == OperandKind::kRegister) now.whole[each.id] = true;
      }
    } else if (from.kind == OperandKind::kRegister) {
      if (whole) now.whole[from.id] = true;
      if (part && to.kind == OperandKind::kRegister) now.part[from.id] = true;
    }
  }

  void convert(const Instruction& instruction, const Mnemonic& mnemonic, bool whole, bool part,
               Decided& now) {
    const std::vector<Type> types = ptx::types_of(mnemonic);
    const Operand& from = body_.operand(instruction, 1);
    if (types.size() != 2 || instruction.operand_count != 2 || from.kind != OperandKind::kRegister)
      return;
    const auto to_bits = ptx::bits_of(types[0]), from_bits = ptx::bits_of(types[1]);
    const bool is_register = ptx::bits_of(body_.registers[from.id].type) == from_bits;
    if (is_float(types[0]) || is_float(types[1])) {
      if (whole) now.whole[from.id] = true;
      if (whole && is_register) now.part[from.id] = true;
      return;
    }
    if (!is_register) return;
    const bool fills = to_bits <= from_bits || is_signed(types[1]);
    const bool is_register_filled =
      ptx::bits_of(types[0]) ==
      ptx::bits_of(body_.registers[body_.operand(instruction, 0).id].type);
    if (fills && is_register_filled ? whole : part) now.whole[from.id] = true;
    if (to_bits >= from_bits && part) now.part[from.id] = true;
  }

  // The amount decides all of the result.
  void shift(const Instruction& instruction, bool whole, bool part, Decided& now) {
    if (instruction.operand_count != 3) return;
    const Operand& from = body_.operand(instruction, 1);
    const Operand& amount = body_.operand(instruction, 2);
    if (whole && amount.kind == OperandKind::kRegister) now.set(amount.id);
    if (!part || from.kind != OperandKind::kRegister || amount.kind != OperandKind::kImmediate)
      return;
    if (amount.bits < ptx::bits_of(body_.registers[from.id].type)) now.whole[from.id] = true;
  }

  // Integers that are wholly unwritten may compare either way, unless the other value is the least
  // or the greatest.
  void compare(const Instruction& instruction, const Mnemonic& mnemonic, bool whole, Decided& now) {
    const std::vector<Type> types = ptx::types_of(mnemonic);
    if (!whole || types.empty() || instruction.operand_count != 3) return;
    const Type type = types.back();
    if (is_float(type)) return for_sources(instruction, 1, [&](auto id, auto) { now.set(id); });
    if (ptx::bits_of(type) < 16) return;
    const bool is_equal = mnemonic.has("eq") || mnemonic.has("ne");
    for_sources(instruction, 1, [&](std::uint32_t id, std::uint32_t i) {
      const Operand& other = body_.operand(instruction, 3 - i);
      const bool is_full = ptx::bits_of(body_.registers[id].type) == ptx::bits_of(type);
      if (is_full && (is_equal || is_open(other, type))) now.whole[id] = true;
    });
  }

  bool is_open(const Operand& other, Type type) const {
    if (other.kind == OperandKind::kRegister) return is_signed(type);
    if (other.kind != OperandKind::kImmediate) return false;
    const std::uint32_t bits = ptx::bits_of(type);
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t value = other.bits & mask;
    const std::uint64_t least = is_signed(type) ? std::uint64_t{1} << (bits - 1) : 0;
    return value != least && value != (is_signed(type) ? least - 1 : mask);
  }

  const Body& body_;
  const ptx::Flow flow_;
  const std::vector<bool> computed_;
  std::vector<Decided> before_; // each block
  ptx::Accesses accesses_;
};

} // namespace

std::vector<std::uint32_t> decided_results(const ptx::Module& module, const Body& body) {
  return Analysis(module, body).run();
}

} // namespace gmt::rewriter
