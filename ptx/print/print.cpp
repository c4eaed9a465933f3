// SPDX-License-Identifier: Apache-2.0
// One statement or instruction a line. Numbers are written so that they are read bit by bit.
#include "ptx/print/print.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "ptx/print/declarations.h"

namespace gmt::ptx {
namespace {

class BodyPrinter {
public:
  BodyPrinter(const Module& module, const Function& function, const Body& body, std::string& out)
      : module_(module), function_(function), body_(body), out_(out) {}

  void print() {
    auto statement = body_.statements.begin();
    const auto end = body_.statements.end();
    for (std::uint32_t i = 0; i < body_.instructions.size(); ++i) {
      for (; statement != end && statement->instruction <= i; ++statement) print(*statement);
      print(body_.instructions[i]);
    }
    for (; statement != end; ++statement) print(*statement);
  }

private:
  void print(const Statement& statement) {
    switch (statement.kind) {
    case StatementKind::kOpen: out_ += "{\n"; break;
    case StatementKind::kClose: out_ += "}\n"; break;
    case StatementKind::kRegisters:
      out_ += '\t';
      print_registers(body_.declarations[statement.id], out_);
      out_ += ";\n";
      break;
    case StatementKind::kVariable:
      out_ += '\t';
      print_variable(body_.variables[statement.id], out_);
      out_ += ";\n";
      break;
    case StatementKind::kLabel:
      out_ += body_.labels[statement.id].name;
      out_ += ":\n";
      break;
    case StatementKind::kPrototype:
      print_prototype(body_.prototypes[statement.id], out_);
      out_ += ";\n";
      break;
    case StatementKind::kTable: print(body_.tables[statement.id]); break;
    case StatementKind::kLine: print_line(statement.id); break;
    case StatementKind::kPragma:
      out_ += "\t.pragma \"";
      out_ += body_.pragmas[statement.id];
      out_ += "\";\n";
      break;
    }
  }

  void print(const Table& table) {
    out_ += table.name;
    out_ += table.of_labels ? ": .branchtargets" : ": .calltargets";
    const char* before = " ";
    for (const std::uint32_t target : table.targets) {
      out_ += before;
      out_ += table.of_labels ? body_.labels[target].name : module_.functions()[target].name;
      before = ", ";
    }
    out_ += ";\n";
  }

  void print_line(std::uint32_t id) {
    const SourceLine& line = body_.lines[id];
    out_ += "\t.loc ";
    print_position(line);
    if (!line.function_label.empty()) {
      out_ += ", function_name ";
      out_ += line.function_label;
      if (line.function_offset != 0) {
        out_ += '+';
        print_unsigned(line.function_offset, out_);
      }
    }
    if (line.inlined_at != 0) {
      out_ += ", inlined_at ";
      print_position(body_.lines[line.inlined_at]);
    }
    out_ += '\n';
    line_ = id;
  }

  void print_position(const SourceLine& line) {
    print_unsigned(line.file, out_);
    out_ += ' ';
    print_unsigned(line.line, out_);
    out_ += ' ';
    print_unsigned(line.column, out_);
  }

  void print(const Instruction& instruction) {
    if (instruction.line != line_ && instruction.line != 0)
      print_line(instruction.line); // new code
    out_ += '\t';
    if (instruction.guard != kNone) {
      out_ += instruction.guard_negated ? "@!" : "@";
      print_register(instruction.guard);
      out_ += ' ';
    }
    out_ += body_.mnemonic(instruction).text;
    if (instruction.operand_count != 0) out_ += ' ';
    for (std::size_t i = 0; i < instruction.operand_count; ++i) {
      if (i != 0) out_ += ", ";
      print_whole(body_.operand(instruction, i));
    }
    out_ += ";\n";
  }

  // One that is no part of another: a register has no offset there, but may have parts.
  void print_whole(Operand operand) {
    std::uint64_t parts = 0;
    if (operand.kind == OperandKind::kRegister) std::swap(parts, operand.bits);
    print(operand);
    if (parts != 0) out_ += '.';
    for (; parts != 0; parts >>= 8) out_ += static_cast<char>(parts & 0xff);
  }

  void print_list(const Operand* first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) out_ += ", ";
      print(first[i]);
    }
  }

  void print_parts(const char* open, const Operand& operand, const char* close) {
    out_ += open;
    print_list(body_.parts(operand), operand.count);
    out_ += close;
  }

  void print(const Operand& operand) {
    if (operand.kind == OperandKind::kImmediate) {
      print_immediate(operand);
      return;
    }
    const bool is_register = operand.kind == OperandKind::kRegister;
    if (operand.negated)
      out_ += is_register && body_.registers[operand.id].type != Type::kPred ? '-' : '!';
    print_without_offset(operand);
    if (!operand.has_offset && operand.offset == 0) return;
    out_ += '+';
    print_signed(operand.offset);
  }

  void print_without_offset(const Operand& operand) {
    switch (operand.kind) {
    case OperandKind::kImmediate: break;
    case OperandKind::kRegister: print_register(operand.id); break;
    case OperandKind::kSpecial: out_ += name_of(static_cast<SpecialRegister>(operand.id)); break;
    case OperandKind::kVariable: out_ += module_.variables()[operand.id].name; break;
    case OperandKind::kFunction: out_ += module_.functions()[operand.id].name; break;
    case OperandKind::kLocal: out_ += body_.variables[operand.id].name; break;
    case OperandKind::kParameter: out_ += function_.parameters[operand.id].name; break;
    case OperandKind::kReturn: out_ += function_.returns[operand.id].name; break;
    case OperandKind::kLabel: out_ += body_.labels[operand.id].name; break;
    case OperandKind::kPrototype: out_ += body_.prototypes[operand.id].name; break;
    case OperandKind::kTable: out_ += body_.tables[operand.id].name; break;
    case OperandKind::kDiscard: out_ += '_'; break;
    case OperandKind::kAddress: print_parts("[", operand, "]"); break;
    case OperandKind::kList: print_parts("(", operand, ")"); break;
    case OperandKind::kPair:
      print(body_.parts(operand)[0]);
      out_ += '|';
      print(body_.parts(operand)[1]);
      break;
    case OperandKind::kVector:
      if (is_whole_register(operand)) {
        out_ += body_.registers[body_.parts(operand)->id].name;
      } else {
        print_parts("{", operand, "}");
      }
      break;
    }
  }

  // All components of one vector register: the syntax has no other word for the register itself.
  bool is_whole_register(const Operand& operand) const {
    if (operand.count < 2) return false;
    const Operand* parts = body_.parts(operand);
    for (std::uint32_t i = 0; i < operand.count; ++i) {
      if (parts[i].kind != OperandKind::kRegister || parts[i].negated) return false;
      const Register& part = body_.registers[parts[i].id];
      const bool follows = part.vector == operand.count && part.component == i;
      if (!follows || part.name != body_.registers[parts[0].id].name) return false;
    }
    return true;
  }

  void print_register(std::uint32_t id) {
    const Register& part = body_.registers[id];
    out_ += part.name;
    if (part.vector < 2) return;
    out_ += '.';
    out_ += "xyzw"[part.component];
  }

  void print_immediate(const Operand& operand) {
    switch (operand.number) {
    case Number::kInteger: print_signed(operand.offset); break;
    case Number::kFloat32: print_hexadecimal("0f", 8, operand.bits); break;
    case Number::kFloat64: print_hexadecimal("0d", 16, operand.bits); break;
    }
  }

  void print_hexadecimal(const char* prefix, int digits, std::uint64_t bits) {
    out_ += prefix;
    for (int i = digits; i-- > 0;) out_ += "0123456789ABCDEF"[bits >> 4 * i & 15];
  }

  void print_signed(std::int64_t value) {
    char text[24];
    out_.append(text, std::to_chars(std::begin(text), std::end(text), value).ptr);
  }

  const Module& module_;
  const Function& function_;
  const Body& body_;
  std::string& out_;
  std::uint32_t line_ = 0;
};

} // namespace

void print_body(const Module& module, const Function& function, const Body& body,
                std::string& out) {
  BodyPrinter(module, function, body, out).print();
}

std::string print_module(const Module& module, const CodeOf& code_of) {
  std::vector<const Function*> functions; // in the order of the text
  for (const Function& function : module.functions()) {
    if (function.has_body) functions.push_back(&function);
  }
  std::ranges::sort(functions, {}, &Function::body_begin);
  std::string out;
  out.reserve(module.text().size() + module.text().size() / 8);
  std::size_t copied = 0;
  for (const Function* function : functions) {
    const std::optional<Body> body = code_of(*function);
    if (!body) continue;
    out += module.text().substr(copied, function->body_begin - copied);
    out += '\n';
    print_body(module, *function, *body, out);
    copied = function->body_end;
  }
  out += module.text().substr(copied);
  return out;
}

} // namespace gmt::ptx
