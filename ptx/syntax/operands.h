// SPDX-License-Identifier: Apache-2.0
// Reads operands of instructions into a Body. Labels may be named before they are declared: an
// operand of one holds a number of Reference until the whole body is read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/syntax/names.h"
#include "ptx/syntax/ptx.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {

// A name that is no variable, register or function: a label, a prototype or a table.
struct Reference {
  std::string_view name;
  std::uint32_t text_offset = 0;
  OperandKind kind = OperandKind::kLabel; // and
  std::uint32_t id = kNone;               // what it turned out to be; kNone: not yet known
};

// Operands of video instructions: "-%r1" is a register that is negated, and of "%r1.b3210" the bits
// are the letters behind the point, the first lowest.
class Operands {
public:
  Operands(Lexer& lexer, const Module& module, Body& body, Names& names)
      : lexer_(lexer), module_(module), body_(body), names_(names) {}

  // Up to the ";" or another character that cannot follow; sets operands of the instruction.
  void parse(Instruction& instruction, std::string_view opcode);

  std::uint32_t refer(std::string_view name, std::size_t offset); // number of the Reference
  std::vector<Reference>& references() { return references_; }

  // A register by itself, as in a guard.
  std::uint32_t register_named(std::string_view name, std::size_t offset);

private:
  Operand operand(int depth);
  Operand simple(int depth);
  Operand name();
  Operand negative_register();
  void read_parts(Operand& operand);
  Operand local(const Name& found);
  Operand vector_register(const RegisterUse& use, std::string_view name);
  Operand special_register(std::string_view name, std::size_t offset);
  Operand constant();
  Operand list(OperandKind kind, char end, int depth);
  Operand address(int depth);
  Operand in_parts(OperandKind kind, std::size_t base);
  void add_offset(Operand& operand);

  Lexer& lexer_;
  const Module& module_;
  Body& body_;
  Names& names_;
  std::vector<Reference> references_;
  std::vector<Operand> pending_; // read, but not yet in the body
  bool is_video_ = false;        // of an instruction that takes parts of registers
};

} // namespace gmt::ptx
