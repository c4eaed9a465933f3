// SPDX-License-Identifier: Apache-2.0
// Exact sums, products, quotients and roots. What a quotient or root leaves over becomes one bit
// below all others, which is enough to round.
#include "tests/executor/forms/model/exact.h"

namespace gmt::forms::model {

using u64 = std::uint64_t;

const Format* format_named(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Format format;
  } kFormats[] = {
    {"f16", {5, 10, 0x7bff, 0x7fff, true}},
    {"bf16", {8, 7, 0x7f7f, 0x7fff, true}},
    {"f32", {8, 23, 0x7f7fffff, 0x7fffffff, true}},
    {"f64", {11, 52, 0x7fefffffffffffff, 0x7fffffffffffffff, true}},
    {"tf32", {8, 10, 0x3fbff, 0x3ffff, true}},
    {"e4m3", {4, 3, 0x7e, 0x7f, false}},
    {"e5m2", {5, 2, 0x7b, 0x7f, true}},
  };
  for (const auto& each : kFormats) {
    if (each.name == name) return &each.format;
  }
  return nullptr;
}

Big Big::of(Wide mantissa, int exponent) {
  Big big;
  const int at = exponent + kUnit;
  const auto word = static_cast<std::size_t>(at / 64);
  const int shift = at % 64;
  const u64 low = static_cast<u64>(mantissa), high = static_cast<u64>(mantissa >> 64);
  big.words_[word] = low << shift;
  big.words_[word + 1] = (shift != 0 ? low >> (64 - shift) : 0) | high << shift;
  big.words_[word + 2] = shift != 0 ? high >> (64 - shift) : 0;
  return big;
}

void Big::add(const Big& other) {
  Wide carry = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    carry += Wide{words_[i]} + other.words_[i];
    words_[i] = static_cast<u64>(carry);
    carry >>= 64;
  }
}

void Big::subtract(const Big& other) {
  u64 borrow = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const Wide taken = Wide{other.words_[i]} + borrow;
    borrow = taken > words_[i] ? 1 : 0;
    words_[i] = static_cast<u64>(words_[i] - taken);
  }
}

int Big::compare(const Big& other) const {
  for (std::size_t i = words_.size(); i-- > 0;) {
    if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
  }
  return 0;
}

int Big::top() const {
  for (std::size_t i = words_.size(); i-- > 0;) {
    if (words_[i] != 0) return static_cast<int>(i) * 64 + 63 - __builtin_clzll(words_[i]);
  }
  return -1;
}

bool Big::bit(int index) const {
  return (words_[static_cast<std::size_t>(index / 64)] >> (index % 64) & 1) != 0;
}

bool Big::any_below(int index) const {
  const auto word = static_cast<std::size_t>(index / 64);
  for (std::size_t i = 0; i < word; ++i) {
    if (words_[i] != 0) return true;
  }
  return (words_[word] & ((u64{1} << (index % 64)) - 1)) != 0;
}

std::uint64_t Big::bits_from(int index) const {
  const auto word = static_cast<std::size_t>(index / 64);
  const int shift = index % 64;
  u64 bits = words_[word] >> shift;
  if (shift != 0 && word + 1 < words_.size()) bits |= words_[word + 1] << (64 - shift);
  return bits;
}

Exact Stored::exact() const { return {kind, negative, Big::of(mantissa, exponent)}; }

Stored decode(std::uint64_t pattern, const Format& format, bool flush) {
  Stored stored;
  stored.negative = (pattern & format.sign()) != 0;
  const u64 magnitude = pattern & (format.sign() - 1);
  if (magnitude > format.largest) {
    stored.kind =
      format.has_infinity && magnitude == format.largest + 1 ? Kind::kInfinite : Kind::kNan;
    return stored;
  }
  const u64 hidden = u64{1} << format.fraction_bits;
  const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
  stored.mantissa = magnitude & (hidden - 1);
  stored.exponent = (exponent == 0 ? 1 : exponent) - format.bias() - format.fraction_bits;
  if (exponent != 0) stored.mantissa |= hidden;
  else if (flush) stored.mantissa = 0;
  return stored;
}

Stored integer(std::uint64_t magnitude, bool negative) {
  return {Kind::kFinite, negative, magnitude, 0};
}

Exact sum(const Exact& a, const Exact& b, Rounding rounding) {
  if (a.kind == Kind::kNan || b.kind == Kind::kNan) return {Kind::kNan, false, {}};
  if (a.kind == Kind::kInfinite || b.kind == Kind::kInfinite) {
    if (a.kind == b.kind && a.negative != b.negative) return {Kind::kNan, false, {}};
    return a.kind == Kind::kInfinite ? a : b;
  }
  Exact result = a;
  if (a.negative == b.negative) {
    result.magnitude.add(b.magnitude);
    return result;
  }
  const int order = a.magnitude.compare(b.magnitude);
  if (order < 0) {
    result = b;
    result.magnitude.subtract(a.magnitude);
  } else {
    result.magnitude.subtract(b.magnitude);
    if (order == 0) result.negative = rounding == Rounding::kDown;
  }
  return result;
}

Exact product(const Stored& a, const Stored& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::kNan || b.kind == Kind::kNan) return {Kind::kNan, false, {}};
  if (a.kind == Kind::kInfinite || b.kind == Kind::kInfinite) {
    if (a.is_zero() || b.is_zero()) return {Kind::kNan, false, {}};
    return {Kind::kInfinite, negative, {}};
  }
  return {Kind::kFinite, negative, Big::of(Wide{a.mantissa} * b.mantissa, a.exponent + b.exponent)};
}

Exact quotient(const Stored& a, const Stored& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::kNan || b.kind == Kind::kNan) return {Kind::kNan, false, {}};
  if (a.kind == b.kind && (a.kind == Kind::kInfinite || (a.is_zero() && b.is_zero())))
    return {Kind::kNan, false, {}};
  if (a.kind == Kind::kInfinite || b.is_zero()) return {Kind::kInfinite, negative, {}};
  if (b.kind == Kind::kInfinite || a.is_zero()) return {Kind::kFinite, negative, {}};
  Stored x = a, y = b;
  for (; x.mantissa >> 52 == 0; --x.exponent) x.mantissa <<= 1;
  const Wide dividend = Wide{x.mantissa} << 74;
  const Wide rest = dividend % y.mantissa;
  const Wide digits = dividend / y.mantissa;
  Exact result{Kind::kFinite, negative, Big::of(digits, x.exponent - 74 - y.exponent)};
  if (rest != 0) result.magnitude.add(Big::of(1, x.exponent - 75 - y.exponent));
  return result;
}

Exact root(const Stored& a) {
  if (a.kind == Kind::kNan || (a.negative && !a.is_zero())) return {Kind::kNan, false, {}};
  if (a.kind == Kind::kInfinite || a.is_zero()) return a.exact();
  Wide square = a.mantissa;
  int exponent = a.exponent;
  for (; square >> 124 == 0 || exponent % 2 != 0; --exponent) square <<= 1;
  u64 found = 0;
  for (u64 bit = u64{1} << 63; bit != 0; bit >>= 1) {
    const Wide next = found | bit;
    if (next * next <= square) found |= bit;
  }
  Exact result{Kind::kFinite, false, Big::of(found, exponent / 2)};
  if (Wide{found} * found != square) result.magnitude.add(Big::of(1, exponent / 2 - 1));
  return result;
}

namespace {

// Whether what lies below the bit `last` makes the magnitude larger.
bool rounds_up(const Exact& value, int last, Rounding rounding) {
  const bool half = value.magnitude.bit(last - 1), rest = value.magnitude.any_below(last - 1);
  switch (rounding) {
  case Rounding::kNearest: return half && (rest || value.magnitude.bit(last));
  case Rounding::kNearestAway: return half;
  case Rounding::kZero: return false;
  case Rounding::kDown: return value.negative && (half || rest);
  case Rounding::kUp: return !value.negative && (half || rest);
  }
  return false;
}

} // namespace

std::uint64_t rounded_integer(const Exact& value, Rounding rounding, bool* overflows) {
  *overflows = value.kind == Kind::kInfinite || value.magnitude.top() >= Big::kUnit + 64;
  if (*overflows) return ~u64{0};
  const u64 whole = value.magnitude.bits_from(Big::kUnit);
  const bool up = rounds_up(value, Big::kUnit, rounding);
  *overflows = up && whole == ~u64{0};
  return *overflows ? whole : whole + (up ? 1 : 0);
}

bool is_tiny(const Exact& value, const Format& format, Rounding rounding) {
  const int top = value.magnitude.top(), below_normal = -format.bias();
  if (value.kind != Kind::kFinite || top < 0) return false;
  if (top - Big::kUnit != below_normal) return top - Big::kUnit < below_normal;
  const int last = top - format.fraction_bits;
  const u64 digits = value.magnitude.bits_from(last) + (rounds_up(value, last, rounding) ? 1 : 0);
  return digits >> (format.fraction_bits + 1) == 0;
}

std::uint64_t encode(const Exact& value, const Format& format, Rounding rounding, bool finite) {
  if (value.kind == Kind::kNan) return format.nan;
  const u64 sign = value.negative ? format.sign() : 0;
  const u64 beyond = finite ? format.largest : format.largest + 1;
  if (value.kind == Kind::kInfinite) return sign | beyond;
  const int top = value.magnitude.top();
  if (top < 0) return sign;
  const int least = 1 - format.bias();
  const int exponent = top - Big::kUnit < least ? least : top - Big::kUnit;
  u64 pattern = format.largest + 1;
  if (exponent <= format.bias() + 1) {
    const int last = exponent - format.fraction_bits + Big::kUnit;
    pattern = value.magnitude.bits_from(last) + (rounds_up(value, last, rounding) ? 1 : 0);
    pattern += static_cast<u64>(exponent - least) << format.fraction_bits;
  }
  if (pattern <= format.largest) return sign | pattern;
  const bool toward_zero = rounding == Rounding::kZero ||
                           (rounding == Rounding::kDown && !value.negative) ||
                           (rounding == Rounding::kUp && value.negative);
  return sign | (toward_zero ? format.largest : beyond);
}

} // namespace gmt::forms::model
