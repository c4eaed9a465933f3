// SPDX-License-Identifier: Apache-2.0
// The order is the one that compilers write: space, alignment, vector, type, .ptr, name.
#include "ptx/print/declarations.h"

#include <charconv>
#include <iterator>
#include <vector>

namespace gmt::ptx {
namespace {

void print_word(std::string_view word, std::string& out) {
  out += " .";
  out += word;
}

void print_number(std::string_view word, std::uint64_t value, std::string& out) {
  print_word(word, out);
  out += ' ';
  print_unsigned(value, out);
}

void print_vector(std::uint8_t vector, std::string& out) {
  if (vector < 2) return;
  out += " .v";
  print_unsigned(vector, out);
}

void print_pointer(const Variable& variable, std::string& out) {
  print_word("ptr", out);
  if (variable.pointer_space != Space::kNone) print_word(name_of(variable.pointer_space), out);
  if (variable.pointer_alignment != 0) print_number("align", variable.pointer_alignment, out);
}

void print_parameters(const std::vector<Variable>& parameters, std::string& out) {
  out += '(';
  for (const Variable& parameter : parameters) {
    if (&parameter != parameters.data()) out += ", ";
    print_variable(parameter, out);
  }
  out += ')';
}

} // namespace

void print_unsigned(std::uint64_t value, std::string& out) {
  char text[24];
  out.append(text, std::to_chars(std::begin(text), std::end(text), value).ptr);
}

void print_registers(const RegisterDeclaration& registers, std::string& out) {
  out += ".reg";
  print_vector(registers.vector, out);
  print_word(name_of(registers.type), out);
  out += ' ';
  out += registers.name;
  if (registers.count == kNone) return;
  out += '<';
  print_unsigned(registers.count, out);
  out += '>';
}

void print_variable(const Variable& variable, std::string& out) {
  const std::uint32_t element = size_of(variable.type) * variable.vector;
  const std::uint32_t natural = variable.space == Space::kRegister ? 0 : element;
  out += '.';
  out += name_of(variable.space);
  if (variable.alignment != natural) print_number("align", variable.alignment, out);
  if (variable.managed) out += " .attribute(.managed)";
  print_vector(variable.vector, out);
  print_word(name_of(variable.type), out);
  if (variable.is_pointer) print_pointer(variable, out);
  out += ' ';
  out += variable.name;
  if (!variable.is_array) return;
  out += '[';
  if (!variable.unsized) print_unsigned(variable.size / element, out);
  out += ']';
}

void print_prototype(const Prototype& prototype, std::string& out) {
  out += prototype.name;
  out += ": .callprototype ";
  if (!prototype.returns.empty()) {
    print_parameters(prototype.returns, out);
    out += ' ';
  }
  out += "_ ";
  print_parameters(prototype.parameters, out);
  if (prototype.noreturn) print_word("noreturn", out);
  for (const Directive& other : prototype.others) {
    if (other.value) {
      print_number(other.name, *other.value, out);
    } else {
      print_word(other.name, out);
    }
  }
}

} // namespace gmt::ptx
