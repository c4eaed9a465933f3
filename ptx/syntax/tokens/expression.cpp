// SPDX-License-Identifier: Apache-2.0
// Constant expressions, by precedence climbing.
#include "ptx/syntax/tokens/expression.h"

#include <cstring>

namespace gmt::ptx {
namespace {

constexpr int kDeepestExpression = 64;

struct Operator {
  std::string_view text;
  int precedence;
};

// Longer ones first where one starts with another.
constexpr Operator kOperators[] = {
  {"||", 1}, {"&&", 2}, {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"|", 3},
  {"^", 4},  {"&", 5},  {"<", 7},  {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

class Expression {
public:
  explicit Expression(Lexer& lexer) : lexer_(lexer) {}

  Literal whole() {
    enter();
    Literal value = binary(1);
    if (lexer_.accept('?')) {
      const Literal yes = whole();
      lexer_.expect(':', "of a constant expression");
      const Literal no = whole();
      value = integer(value).bits != 0 ? yes : no;
    }
    --depth_;
    return value;
  }

private:
  Literal unary() {
    enter();
    const Literal value = unary_inside();
    --depth_;
    return value;
  }

  void enter() {
    if (++depth_ > kDeepestExpression)
      lexer_.fail("a constant expression that is nested too deeply");
  }

  Literal integer(Literal value) {
    if (value.number != Number::kInteger) lexer_.fail("arithmetic on a floating-point constant");
    return value;
  }

  Literal unary_inside() {
    if (lexer_.accept('-')) return negative(unary());
    if (lexer_.accept('+')) return unary();
    if (lexer_.accept('~')) {
      Literal value = integer(unary());
      value.bits = ~value.bits;
      return value;
    }
    if (lexer_.accept('!')) {
      return {Number::kInteger, false, integer(unary()).bits == 0 ? 1u : 0u};
    }
    if (lexer_.accept('(')) return parentheses();
    return lexer_.literal();
  }

  static Literal negative(Literal value) {
    switch (value.number) {
    case Number::kInteger: value.bits = 0 - value.bits; break;
    case Number::kFloat32: value.bits ^= 1u << 31; break;
    case Number::kFloat64: value.bits ^= 1ull << 63; break;
    }
    return value;
  }

  Literal parentheses() {
    const std::string_view cast = lexer_.accept_directive();
    if (!cast.empty()) {
      if (cast != "s64" && cast != "u64") lexer_.fail("only (.s64) and (.u64) can be cast to");
      lexer_.expect(')', "behind the type of a cast");
      Literal value = integer(unary());
      value.is_unsigned = cast == "u64";
      return value;
    }
    const Literal value = whole();
    lexer_.expect(')', "of a constant expression");
    return value;
  }

  Literal binary(int least) {
    Literal left = unary();
    for (;;) {
      const Operator* found = nullptr;
      for (const Operator& candidate : kOperators) {
        if (candidate.text[0] != lexer_.peek()) continue;
        if (candidate.text.size() == 2 && candidate.text[1] != lexer_.peek_second()) continue;
        found = &candidate;
        break;
      }
      if (found == nullptr || found->precedence < least) return left;
      lexer_.accept(found->text);
      enter();
      const Literal right = binary(found->precedence + 1);
      --depth_;
      left = apply(found->text, integer(left), integer(right));
    }
  }

  Literal apply(std::string_view text, const Literal& left, const Literal& right) {
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const std::uint64_t a = left.bits;
    const std::uint64_t b = right.bits;
    const auto result = [is_unsigned](std::uint64_t bits) {
      return Literal{Number::kInteger, is_unsigned, bits};
    };
    const auto truth = [](bool value) { return Literal{Number::kInteger, false, value ? 1u : 0u}; };
    const bool less =
      is_unsigned ? a < b : static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    if (text == "||") return truth(a != 0 || b != 0);
    if (text == "&&") return truth(a != 0 && b != 0);
    if (text == "==") return truth(a == b);
    if (text == "!=") return truth(a != b);
    if (text == "<") return truth(less);
    if (text == ">=") return truth(!less);
    if (text == "<=") return truth(less || a == b);
    if (text == ">") return truth(!less && a != b);
    if (text == "|") return result(a | b);
    if (text == "^") return result(a ^ b);
    if (text == "&") return result(a & b);
    if (text == "+") return result(a + b);
    if (text == "-") return result(a - b);
    if (text == "*") return result(a * b);
    if (text == "<<") return {Number::kInteger, left.is_unsigned, b > 63 ? 0 : a << b};
    if (text == ">>") return {Number::kInteger, left.is_unsigned, shifted_right(left, b)};
    return {Number::kInteger, is_unsigned, divided(text == "/", is_unsigned, a, b)};
  }

  static std::uint64_t shifted_right(const Literal& left, std::uint64_t count) {
    if (left.is_unsigned) return count > 63 ? 0 : left.bits >> count;
    const auto value = static_cast<std::int64_t>(left.bits);
    return static_cast<std::uint64_t>(value >> (count > 63 ? 63 : count));
  }

  std::uint64_t divided(bool quotient, bool is_unsigned, std::uint64_t a, std::uint64_t b) {
    if (b == 0) lexer_.fail("a constant is divided by zero");
    if (is_unsigned) return quotient ? a / b : a % b;
    if (b == ~0ull) return quotient ? 0 - a : 0; // the smallest number has no positive one
    const auto left = static_cast<std::int64_t>(a);
    const auto right = static_cast<std::int64_t>(b);
    return static_cast<std::uint64_t>(quotient ? left / right : left % right);
  }

  Lexer& lexer_;
  int depth_ = 0;
};

} // namespace

Literal parse_expression(Lexer& lexer) { return Expression(lexer).whole(); }

std::uint64_t parse_integer_expression(Lexer& lexer) {
  const Literal value = parse_expression(lexer);
  if (value.number != Number::kInteger) lexer.fail("expected an integer, found a float");
  return value.bits;
}

bool at_expression(Lexer& lexer) {
  const char c = lexer.peek();
  return lexer.at_digit() || (c != '\0' && std::strchr("-+~!(", c) != nullptr);
}

} // namespace gmt::ptx
