// SPDX-License-Identifier: Apache-2.0
// Origins only rise from kUnwritten to kSeveral, so going over all instructions until nothing
// changes ends.
#include "ptx/flow/origins.h"

#include <algorithm>
#include <iterator>

#include "ptx/flow/accesses.h"

namespace gmt::ptx {
namespace {

// Compilers' code needs a few. Code that is written backwards could need one for each instruction.
constexpr int kMostPasses = 64;
constexpr Origin kNumber{OriginKind::kNumber};
constexpr Origin kLoaded{OriginKind::kLoaded};
constexpr Origin kSeveral{OriginKind::kSeveral};

bool is_pointer(const Origin& origin) {
  return origin.kind == OriginKind::kParameter || origin.kind == OriginKind::kVariable;
}

Origin origin_of_variable(const Operand& operand) {
  Origin origin;
  origin.kind = OriginKind::kVariable;
  origin.variable = operand.id;
  origin.is_of_body = operand.kind == OperandKind::kLocal;
  return origin;
}

// Whether a conversion keeps 32 bits or more of an address: those of shared memory have no more.
bool keeps_address(const Mnemonic& mnemonic) {
  const auto& modifiers = mnemonic.modifiers;
  if (modifiers.size() < 2) return false;
  const Type type = type_named(modifiers[modifiers.size() - 2]);
  return type == Type::kU32 || type == Type::kU64 || type == Type::kS32 || type == Type::kS64;
}

// One value or the other.
Origin either(const Origin& a, const Origin& b) {
  if (a.kind == OriginKind::kUnwritten || a == b) return b;
  if (b.kind == OriginKind::kUnwritten) return a;
  const bool are_unknown = a.kind <= OriginKind::kLoaded && b.kind <= OriginKind::kLoaded;
  return are_unknown ? kLoaded : kSeveral;
}

bool are_loaded_and_parameter(const Origin& a, const Origin& b) {
  return a.kind == OriginKind::kLoaded && b.kind == OriginKind::kParameter;
}

Origin sum(const Origin& a, const Origin& b) {
  if (a.kind == OriginKind::kUnwritten || b.kind == OriginKind::kUnwritten) return {};
  if (is_pointer(a) && is_pointer(b)) return kSeveral;
  if (are_loaded_and_parameter(a, b) || are_loaded_and_parameter(b, a)) return kSeveral;
  return std::max(a, b, [](const Origin& x, const Origin& y) { return x.kind < y.kind; });
}

// What is scaled is an index.
Origin scaled(const Origin& a) {
  return is_pointer(a) || a.kind == OriginKind::kLoaded ? kNumber : a;
}

// A result of which nothing is known but its sources.
Origin mixed(const Origin& a) { return is_pointer(a) ? kSeveral : a; }

class Analysis {
public:
  Analysis(const Function& function, const Body& body)
      : function_(function), body_(body), origins_(body.registers.size()) {}

  std::vector<Origin> run() {
    for (const auto* registers : {&body_.parameter_registers, &body_.return_registers}) {
      for (const std::uint32_t id : *registers) {
        if (id != kNone) origins_[id] = kSeveral;
      }
    }
    for (int pass = 0; pass < kMostPasses; ++pass) {
      changed_ = false;
      for (const Instruction& instruction : body_.instructions) apply(instruction);
      if (!changed_) return std::move(origins_);
    }
    return std::vector<Origin>(origins_.size(), kSeveral);
  }

private:
  Origin of(const Operand& operand) const {
    switch (operand.kind) {
    case OperandKind::kRegister: return origins_[operand.id];
    case OperandKind::kImmediate:
    case OperandKind::kSpecial: return kNumber;
    case OperandKind::kAddress:
    case OperandKind::kVector:
    case OperandKind::kPair:
    case OperandKind::kList: {
      Origin all = kNumber;
      for (std::uint16_t i = 0; i < operand.count; ++i)
        all = sum(all, mixed(of(body_.parts(operand)[i])));
      return all;
    }
    case OperandKind::kVariable:
    case OperandKind::kLocal: return origin_of_variable(operand);
    default: return kSeveral; // the address of a function
    }
  }
  Origin source(const Instruction& instruction, std::size_t index) const {
    return index < instruction.operand_count ? of(body_.operand(instruction, index)) : kSeveral;
  }

  void set(std::uint32_t id, const Origin& origin) {
    const Origin joined = either(origins_[id], origin);
    changed_ = changed_ || joined != origins_[id];
    origins_[id] = joined;
  }

  void apply(const Instruction& instruction) {
    accesses_of(body_, instruction, accesses_);
    if (accesses_.writes.empty()) return;
    if (is_load_of_parameter(instruction)) {
      load_parameter(instruction);
      return;
    }
    const Origin result = result_of(instruction);
    for (const std::uint32_t id : accesses_.writes) set(id, result);
  }

  bool is_load_of_parameter(const Instruction& instruction) const {
    const Mnemonic& mnemonic = body_.mnemonic(instruction);
    if (!function_.is_entry || mnemonic.opcode != "ld" || instruction.operand_count != 2)
      return false;
    const Operand& address = body_.operand(instruction, 1);
    return address.kind == OperandKind::kAddress && address.count == 1 &&
           body_.parts(address)->kind == OperandKind::kParameter;
  }

  void load_parameter(const Instruction& instruction) {
    const Operand& from = *body_.parts(body_.operand(instruction, 1));
    const auto& modifiers = body_.mnemonic(instruction).modifiers;
    const Type type = modifiers.empty() ? Type::kNone : type_named(modifiers.back());
    const std::uint32_t bytes = size_of(type);
    for (std::size_t i = 0; i < accesses_.writes.size(); ++i) {
      const auto offset = from.offset + static_cast<std::int64_t>(i * bytes);
      const bool may_be_pointer = bytes == 8 && type != Type::kF64;
      set(accesses_.writes[i],
          may_be_pointer ? Origin{OriginKind::kParameter, from.id, offset} : kNumber);
    }
  }

  Origin result_of(const Instruction& instruction) const {
    const Mnemonic& mnemonic = body_.mnemonic(instruction);
    const std::string_view opcode = mnemonic.opcode;
    const bool is_simple = body_.operand(instruction, 0).kind == OperandKind::kRegister;
    if (!is_simple || opcode == "call") return mixed_sources(instruction);
    if (opcode == "mov") {
      const Origin from = source(instruction, 1);
      return from == kNumber && packs_64(instruction) ? kLoaded : from;
    }
    if (opcode == "cvta") {
      const bool is_global = mnemonic.has("global") || mnemonic.modifiers.size() < 2;
      const Origin from = source(instruction, 1);
      return is_global || from.kind == OriginKind::kVariable ? from : kSeveral;
    }
    if (opcode == "cvt") {
      const Origin from = source(instruction, 1);
      return from.kind == OriginKind::kVariable && keeps_address(mnemonic) ? from : scaled(from);
    }
    if (opcode == "add") return sum(source(instruction, 1), source(instruction, 2));
    if (opcode == "sub") {
      const Origin right = source(instruction, 2);
      return is_pointer(right) ? kSeveral : sum(source(instruction, 1), right);
    }
    if (opcode == "mul" || opcode == "mad") {
      const Origin product = sum(scaled(source(instruction, 1)), scaled(source(instruction, 2)));
      return opcode == "mul" ? product : sum(product, source(instruction, 3));
    }
    if (opcode == "shl") return scaled(source(instruction, 1));
    if (opcode == "selp") return either(source(instruction, 1), source(instruction, 2));
    if (opcode == "and" || opcode == "or") return masked(instruction);
    if (opcode == "ld" || opcode == "atom" || opcode == "ldu") return loaded(instruction);
    return mixed_sources(instruction);
  }

  Origin loaded(const Instruction& instruction) const {
    const auto& modifiers = body_.mnemonic(instruction).modifiers;
    const Type type = modifiers.empty() ? Type::kNone : type_named(modifiers.back());
    return size_of(type) == 8 && type != Type::kF64 ? kLoaded : kNumber;
  }

  // Of two registers, which may be the halves of a pointer that was loaded so.
  bool packs_64(const Instruction& instruction) const {
    const auto& modifiers = body_.mnemonic(instruction).modifiers;
    return body_.operand(instruction, 1).kind == OperandKind::kVector && !modifiers.empty() &&
           size_of(type_named(modifiers.back())) == 8;
  }

  // A pointer rounded down, or one with a flag in its lowest bits, still leads to its block.
  Origin masked(const Instruction& instruction) const {
    const Origin left = source(instruction, 1);
    if (left.kind == OriginKind::kUnwritten) return {};
    if (!is_pointer(left)) return mixed_sources(instruction);
    const Operand& mask = body_.operand(instruction, 2);
    if (mask.kind != OperandKind::kImmediate) return kSeveral;
    if (body_.mnemonic(instruction).opcode == "or") return mask.bits < 16 ? left : kSeveral;
    return mask.offset < 0 ? left : kNumber;
  }

  Origin mixed_sources(const Instruction& instruction) const {
    Origin all = kNumber;
    for (const std::uint32_t id : accesses_.reads) {
      if (id == instruction.guard) continue;
      all = sum(all, mixed(origins_[id]));
    }
    return all;
  }

  const Function& function_;
  const Body& body_;
  std::vector<Origin> origins_;
  Accesses accesses_;
  bool changed_ = false;
};

} // namespace

std::vector<Origin> origins_of(const Function& function, const Body& body) {
  return Analysis(function, body).run();
}

} // namespace gmt::ptx
