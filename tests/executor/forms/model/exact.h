// SPDX-License-Identifier: Apache-2.0
// Floating-point without floating-point: values are integers of 4,480 bits in units of 2^-2300,
// which hold every sum and product of doubles exactly. Only encode() rounds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gmt::forms::model {

__extension__ using Wide = unsigned __int128;

struct Format {
  int exponent_bits, fraction_bits;
  std::uint64_t largest; // pattern of the largest number
  std::uint64_t nan;     // pattern of the NaN of results
  bool has_infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int bits() const { return 1 + exponent_bits + fraction_bits; }
  std::uint64_t sign() const { return std::uint64_t{1} << (bits() - 1); }
  std::uint64_t infinity() const { return largest + 1; } // of formats that have it
  std::uint64_t one() const { return static_cast<std::uint64_t>(bias()) << fraction_bits; }
};

// By PTX's name of the type, without "x2"; null if it is no floating-point format.
const Format* format_named(std::string_view name);

enum class Rounding { kNearest, kNearestAway, kZero, kDown, kUp };
enum class Kind { kFinite, kInfinite, kNan };

class Big {
public:
  static constexpr int kUnit = 2300; // bit i is worth 2 to the power i - kUnit

  static Big of(Wide mantissa, int exponent);
  void add(const Big& other);
  void subtract(const Big& other); // which must not be larger
  int compare(const Big& other) const;
  int top() const; // of the highest bit that is set; -1: zero
  bool bit(int index) const;
  bool any_below(int index) const;
  std::uint64_t bits_from(int index) const; // the 64 bits from there on

private:
  std::array<std::uint64_t, 70> words_{};
};

struct Exact {
  Kind kind = Kind::kFinite;
  bool negative = false;
  Big magnitude;
};

// A number as it is stored: mantissa times 2 to the power exponent.
struct Stored {
  Kind kind = Kind::kFinite;
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;

  bool is_zero() const { return kind == Kind::kFinite && mantissa == 0; }
  Exact exact() const;
};

// Subnormal numbers become zeros if `flush`.
Stored decode(std::uint64_t pattern, const Format& format, bool flush = false);
Stored integer(std::uint64_t magnitude, bool negative);

Exact sum(const Exact& a, const Exact& b, Rounding rounding); // the mode decides the sign of 0
Exact product(const Stored& a, const Stored& b);
Exact quotient(const Stored& a, const Stored& b);
Exact root(const Stored& a);

// The integer next to a value, as a magnitude below 2 to the power 64, or that power's predecessor.
std::uint64_t rounded_integer(const Exact& value, Rounding rounding, bool* overflows);

// Whether a finite value would round below the smallest normal number if exponents had no end.
bool is_tiny(const Exact& value, const Format& format, Rounding rounding);

std::uint64_t encode(const Exact& value, const Format& format, Rounding rounding,
                     bool finite = false);

} // namespace gmt::forms::model
