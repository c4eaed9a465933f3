// SPDX-License-Identifier: Apache-2.0
// New instructions and registers for a Body. The registers are named %gmt_...; names in the text
// must not begin so.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::rewriter {

// Texts that a Body views; they must live until it is printed.
using Names = std::deque<std::string>;

struct Guard {
  std::uint32_t id = ptx::kNone;
  bool negated = false;
};

class Code {
public:
  Code(ptx::Body& body, Names& names) : body_(body), names_(names) {}

  // A new register of kPred, kB32, kB64 or the type of another.
  std::uint32_t new_register(ptx::Type type);
  // Declares all new registers at the beginning of the body.
  void declare();

  // Appends to `into`. `mnemonic` must live as long as the body.
  void add(std::vector<ptx::Instruction>& into, std::string_view mnemonic,
           std::initializer_list<ptx::Operand> operands, Guard guard = {}, std::uint32_t line = 0);
  ptx::Operand address(std::uint32_t base, std::int64_t offset);
  ptx::Operand address(const ptx::Operand& base); // [variable+8], [parameter]
  ptx::Operand vector(std::initializer_list<ptx::Operand> parts);
  ptx::Operand list(std::initializer_list<ptx::Operand> parts);
  // A variable for the argument of a call; returns its number in Body::variables.
  std::uint32_t new_argument(std::string_view name, std::uint64_t bytes);
  // A label at the end of what was added so far; `instruction` is set when it is known.
  std::uint32_t new_label();

  static ptx::Operand reg(std::uint32_t id, bool negated = false);
  static ptx::Operand number(std::int64_t value);
  static ptx::Operand special(ptx::SpecialRegister which);
  static ptx::Operand of(ptx::OperandKind kind, std::uint32_t id, std::int64_t offset = 0);

private:
  ptx::Body& body_;
  Names& names_;
  std::unordered_map<std::string_view, std::uint32_t> mnemonics_;
  std::vector<std::uint32_t> arguments_;
  std::uint32_t counts_[4] = {}; // of registers, by the index of kPrefixes
};

} // namespace gmt::rewriter
