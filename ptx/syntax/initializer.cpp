// SPDX-License-Identifier: Apache-2.0
// Values are stored little-endian, at the offset that their dimension gives them.
#include "ptx/syntax/initializer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/syntax/tokens/expression.h"

namespace gmt::ptx {
namespace {

class Initializer {
public:
  Initializer(Lexer& lexer, Variable& variable, std::vector<std::uint64_t>& dimensions,
              InitializerBudget& budget)
      : lexer_(lexer), variable_(variable), dimensions_(dimensions), budget_(budget),
        element_(size_of(variable.type)), elements_in_(dimensions.size() + 1, 1) {
    for (std::size_t i = dimensions.size(); i-- > 0;) {
      // 0 for the first of an unsized one
      const bool overflows =
        __builtin_mul_overflow(dimensions[i], elements_in_[i + 1], &elements_in_[i]);
      if (overflows || elements_in_[i] > 1ull << 48) lexer.fail("an array that is too large");
    }
  }

  void parse() {
    if (!lexer_.accept('{')) {
      if (!dimensions_.empty()) lexer_.fail_expected("'{' of an initializer");
      value(0);
      return;
    }
    const std::uint64_t count = list(0, 0);
    if (!dimensions_.empty() && dimensions_[0] == 0) {
      const std::uint64_t row = elements_in_[1];
      dimensions_[0] = (count + row - 1) / row;
    }
  }

private:
  // Behind "{" of dimension `level`, whose first element is `first`. How many elements it spans.
  std::uint64_t list(std::size_t level, std::uint64_t first) {
    const bool unsized = level == 0 && !dimensions_.empty() && dimensions_[0] == 0;
    const std::uint64_t room = elements_in_[level];
    const std::uint64_t row = level < dimensions_.size() ? elements_in_[level + 1] : 1;
    std::uint64_t used = 0;
    if (lexer_.accept('}')) return 0;
    do {
      if (!unsized && used >= room)
        lexer_.fail("more values than '" + std::string(variable_.name) + "' has");
      if (lexer_.accept('{')) {
        if (level + 1 >= dimensions_.size()) lexer_.fail_expected("a value");
        used = (used + row - 1) / row * row; // a list starts a row
        if (!unsized && used >= room)
          lexer_.fail("more rows than '" + std::string(variable_.name) + "' has");
        list(level + 1, first + used);
        used += row;
      } else {
        value(first + used);
        ++used;
      }
    } while (lexer_.accept(','));
    lexer_.expect('}', "or ',' in an initializer");
    return used;
  }

  void value(std::uint64_t index) {
    if (index >= budget_.bytes / element_) lexer_.fail("an initializer that is too large");
    const std::uint64_t at = index * element_;
    if (lexer_.at_identifier()) {
      symbol(at, lexer_.identifier("a symbol"), ~0ull);
      return;
    }
    if (!at_expression(lexer_)) lexer_.fail_expected("a value of an initializer");
    const Literal literal = parse_expression(lexer_);
    if (lexer_.accept('(')) { // 0xff00(symbol)
      if (literal.number != Number::kInteger) lexer_.fail("a mask that is no integer");
      const std::string_view name = lexer_.identifier("a symbol");
      symbol(at, name, literal.bits);
      lexer_.expect(')', "behind the symbol of a mask");
      return;
    }
    store(at, literal);
  }

  void symbol(std::uint64_t at, std::string_view name, std::uint64_t mask) {
    SymbolAddress address;
    address.at = at;
    address.size = element_;
    address.mask = mask;
    address.symbol = name;
    if (name == "generic" && lexer_.accept('(')) {
      address.generic = true;
      address.symbol = lexer_.identifier("a symbol");
      lexer_.expect(')', "behind generic(");
    }
    if (lexer_.accept('+')) {
      address.addend = static_cast<std::int64_t>(parse_integer_expression(lexer_));
    } else if (lexer_.peek() == '-') {
      address.addend = static_cast<std::int64_t>(parse_integer_expression(lexer_));
    }
    grow(at + element_);
    variable_.addresses.push_back(address);
  }

  void store(std::uint64_t at, const Literal& literal) {
    grow(at + element_);
    const std::uint64_t bits = bits_for(literal);
    std::memcpy(variable_.initial.data() + at, &bits, std::min<std::size_t>(element_, 8));
  }

  void grow(std::uint64_t size) {
    if (variable_.initial.size() >= size) return;
    const std::uint64_t more = size - variable_.initial.size();
    if (more > budget_.bytes) lexer_.fail("an initializer that is too large");
    budget_.bytes -= more;
    variable_.initial.resize(size);
  }

  std::uint64_t bits_for(const Literal& literal) {
    if (literal.number == Number::kInteger) {
      if (variable_.type == Type::kF32) return single_bits(static_cast<float>(as_double(literal)));
      if (variable_.type == Type::kF64) return std::bit_cast<std::uint64_t>(as_double(literal));
      return literal.bits;
    }
    const bool is_single = literal.number == Number::kFloat32;
    if (bits_of(variable_.type) == (is_single ? 32u : 64u)) return literal.bits;
    if (bits_of(variable_.type) == 64) {
      return std::bit_cast<std::uint64_t>(static_cast<double>(single(literal)));
    }
    if (bits_of(variable_.type) == 32) {
      return single_bits(static_cast<float>(std::bit_cast<double>(literal.bits)));
    }
    lexer_.fail("a floating-point value for '" + std::string(variable_.name) + "' of type ." +
                std::string(name_of(variable_.type)));
  }

  static float single(const Literal& literal) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(literal.bits));
  }
  static std::uint64_t single_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
  static double as_double(const Literal& literal) {
    if (literal.is_unsigned) return static_cast<double>(literal.bits);
    return static_cast<double>(static_cast<std::int64_t>(literal.bits));
  }

  Lexer& lexer_;
  Variable& variable_;
  std::vector<std::uint64_t>& dimensions_;
  InitializerBudget& budget_;
  std::uint32_t element_;
  std::vector<std::uint64_t> elements_in_; // in all of dimension n and those inside it
};

} // namespace

void parse_initializer(Lexer& lexer, Variable& variable, std::vector<std::uint64_t>& dimensions,
                       InitializerBudget& budget) {
  Initializer(lexer, variable, dimensions, budget).parse();
}

} // namespace gmt::ptx
