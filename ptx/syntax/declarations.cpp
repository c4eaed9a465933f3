// SPDX-License-Identifier: Apache-2.0
// Declarations: what may stand in any order is read in any order; sizes are checked for overflow.
#include "ptx/syntax/declarations.h"

#include <bit>

#include "ptx/syntax/initializer.h"
#include "ptx/syntax/tokens/expression.h"

namespace gmt::ptx {
namespace {

constexpr std::uint64_t kLargest = 1ull << 40; // bytes of one variable
constexpr std::size_t kMostDimensions = 16;

std::uint32_t parse_alignment(Lexer& lexer) {
  const std::uint64_t alignment = lexer.integer("an alignment");
  if (!std::has_single_bit(alignment) || alignment > 1u << 20) {
    lexer.fail("an alignment must be a power of two");
  }
  return static_cast<std::uint32_t>(alignment);
}

// .attribute(.managed, .unified(1, 2)): only the first means something here.
void parse_attributes(Lexer& lexer, Variable& variable) {
  lexer.expect('(', "behind .attribute");
  do {
    const std::string_view name = lexer.accept_directive();
    if (name.empty()) lexer.fail_expected("an attribute");
    if (name == "managed") variable.managed = true;
    if (!lexer.accept('(')) continue;
    do {
      lexer.integer("a number of an attribute");
    } while (lexer.accept(','));
    lexer.expect(')', "of an attribute");
  } while (lexer.accept(','));
  lexer.expect(')', "of .attribute");
}

// .ptr, .ptr .global, .ptr .align 16: what stands behind the type of a parameter.
void parse_pointer(Lexer& lexer, Variable& variable) {
  variable.is_pointer = true;
  for (;;) {
    const std::size_t before = lexer.offset();
    const std::string_view word = lexer.accept_directive();
    if (word.empty()) return;
    if (word == "align") {
      variable.pointer_alignment = parse_alignment(lexer);
    } else if (space_named(word) != Space::kNone) {
      variable.pointer_space = space_named(word);
    } else {
      lexer.fail_at(before, "'." + std::string(word) + "' behind .ptr");
    }
  }
}

std::vector<std::uint64_t> parse_dimensions(Lexer& lexer) {
  std::vector<std::uint64_t> dimensions;
  while (lexer.accept('[')) {
    if (dimensions.size() >= kMostDimensions) lexer.fail("an array of too many dimensions");
    std::uint64_t size = 0;
    if (lexer.peek() != ']') {
      size = parse_integer_expression(lexer);
      if (size == 0 && !dimensions.empty()) lexer.fail("a dimension of no size");
      if (size > kLargest) lexer.fail("an array that is too large");
    } else if (!dimensions.empty()) {
      lexer.fail("only the first dimension may have no size");
    }
    lexer.expect(']', "of a dimension");
    dimensions.push_back(size);
  }
  return dimensions;
}

std::uint64_t size_in_bytes(Lexer& lexer, const Variable& variable,
                            const std::vector<std::uint64_t>& dimensions) {
  std::uint64_t size = size_of(variable.type);
  for (const std::uint64_t dimension : dimensions) {
    if (__builtin_mul_overflow(size, dimension, &size) || size > kLargest) {
      lexer.fail("'" + std::string(variable.name) + "' is too large");
    }
  }
  return size;
}

} // namespace

Space declared_space(std::string_view directive) {
  return directive.find(':') == std::string_view::npos ? space_named(directive) : Space::kNone;
}

TypeOfVariable parse_type_of_variable(Lexer& lexer, Space space) {
  TypeOfVariable declared;
  Variable& variable = declared.variable;
  variable.space = space;
  variable.text_offset = static_cast<std::uint32_t>(lexer.offset());
  std::uint32_t alignment = 0;
  if (lexer.peek() == '[') { // .const[3]: a bank, of old
    lexer.accept('[');
    lexer.integer("a bank");
    lexer.expect(']', "of a bank");
  }
  for (;;) {
    const std::size_t before = lexer.offset();
    const std::string_view word = lexer.accept_directive();
    if (word.empty()) break;
    if (word == "align") {
      alignment = parse_alignment(lexer);
    } else if (word == "attribute") {
      parse_attributes(lexer, variable);
    } else if (word == "v2" || word == "v4" || word == "v8") {
      variable.vector = static_cast<std::uint8_t>(word[1] - '0');
    } else if (word == "ptr") {
      parse_pointer(lexer, variable);
    } else if (variable.type == Type::kNone && type_named(word) != Type::kNone) {
      variable.type = type_named(word);
    } else {
      lexer.fail_at(before, "expected a type, found '." + std::string(word) + "'");
    }
  }
  if (variable.type == Type::kNone) lexer.fail_expected("a type");
  if (variable.type == Type::kPred && space != Space::kRegister)
    lexer.fail("only registers can be .pred");
  variable.alignment = alignment;
  if (alignment == 0 && space != Space::kRegister)
    variable.alignment = size_of(variable.type) * variable.vector;
  return declared;
}

Variable parse_variable(Lexer& lexer, const TypeOfVariable& type, InitializerBudget* budget) {
  Variable variable = type.variable;
  lexer.peek();
  variable.text_offset = static_cast<std::uint32_t>(lexer.offset());
  variable.name = lexer.identifier("the name of a variable");
  std::vector<std::uint64_t> dimensions = parse_dimensions(lexer);
  variable.is_array = !dimensions.empty();
  if (variable.vector > 1) dimensions.push_back(variable.vector);
  const bool open = variable.is_array && dimensions[0] == 0;
  if (budget != nullptr && lexer.accept('=')) {
    parse_initializer(lexer, variable, dimensions, *budget);
  } else {
    variable.unsized = open;
  }
  variable.size = size_in_bytes(lexer, variable, dimensions);
  if (variable.initial.size() > variable.size)
    lexer.fail("more values than '" + std::string(variable.name) + "' has");
  return variable;
}

std::vector<Variable> parse_parameters(Lexer& lexer) {
  std::vector<Variable> parameters;
  if (lexer.accept(')')) return parameters;
  do {
    const std::string_view directive = lexer.accept_directive();
    const Space space = declared_space(directive);
    if (space != Space::kParam && space != Space::kRegister) lexer.fail_expected(".param or .reg");
    parameters.push_back(parse_variable(lexer, parse_type_of_variable(lexer, space), nullptr));
  } while (lexer.accept(','));
  lexer.expect(')', "or ',' behind a parameter");
  return parameters;
}

} // namespace gmt::ptx
