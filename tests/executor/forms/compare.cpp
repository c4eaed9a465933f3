// SPDX-License-Identifier: Apache-2.0
// Two devices' results of one form: bit by bit, or by the distance in units of the last place.
#include "tests/executor/forms/operands.h"
#include "tests/executor/forms/recording.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace gmt::forms {
namespace {

struct Shape {
  unsigned exponent_bits, fraction_bits;
};

Shape shape_of(Values kind) {
  switch (kind) {
  case Values::kF16:
  case Values::kF16x2: return {5, 10};
  case Values::kBf16:
  case Values::kBf16x2: return {8, 7};
  case Values::kF64: return {11, 52};
  default: return {8, 23};
  }
}

// Infinite where one is a NaN or infinity and the other is not the same.
double distance_of(std::uint64_t a, std::uint64_t b, Shape shape) {
  const unsigned top = shape.exponent_bits + shape.fraction_bits;
  const std::uint64_t sign = std::uint64_t{1} << top;
  const std::uint64_t infinity = ((std::uint64_t{1} << shape.exponent_bits) - 1)
                                 << shape.fraction_bits;
  if (a == b) return 0;
  const std::uint64_t x = a & (sign - 1), y = b & (sign - 1);
  if (x > infinity || y > infinity) {
    const bool both = x > infinity && y > infinity;
    return both ? 0 : std::numeric_limits<double>::infinity();
  }
  // Patterns of one sign count upwards with the value; infinity follows the largest number.
  const auto ordered = [&](std::uint64_t pattern, std::uint64_t magnitude) {
    const auto whole = static_cast<double>(magnitude);
    return (pattern & sign) != 0 ? -whole : whole;
  };
  if ((a & sign) == (b & sign)) return static_cast<double>(x > y ? x - y : y - x);
  return std::fabs(ordered(a, x) - ordered(b, y));
}

double value_of(std::uint64_t pattern, Shape shape) {
  const unsigned top = shape.exponent_bits + shape.fraction_bits;
  const std::uint64_t hidden = std::uint64_t{1} << shape.fraction_bits;
  const std::uint64_t magnitude = pattern & ((std::uint64_t{1} << top) - 1);
  const auto exponent = static_cast<int>(magnitude >> shape.fraction_bits);
  const std::uint64_t fraction = magnitude & (hidden - 1);
  const int bias = (1 << (shape.exponent_bits - 1)) - 1;
  if (exponent == 2 * bias + 1) return std::numeric_limits<double>::quiet_NaN();
  const double value =
    std::ldexp(static_cast<double>(exponent == 0 ? fraction : fraction | hidden),
               (exponent == 0 ? 1 : exponent) - bias - static_cast<int>(shape.fraction_bits));
  return pattern >> top != 0 ? -value : value;
}

// How far apart two results are in value; infinite of pairs and where one is no number.
double absolute_distance(const Form& form, Values kind, std::uint64_t a, std::uint64_t b) {
  const bool pair = kind == Values::kF16x2 || kind == Values::kBf16x2;
  const double far = std::numeric_limits<double>::infinity();
  if (form.absolute == 0 || pair) return far;
  const double apart = std::fabs(value_of(a, shape_of(kind)) - value_of(b, shape_of(kind)));
  return std::isnan(apart) ? far : apart;
}

double distance(const Form& form, Values kind, std::uint64_t a, std::uint64_t b) {
  if (form.ulps == 0) return a == b ? 0 : std::numeric_limits<double>::infinity();
  const Shape shape = shape_of(kind);
  if (kind == Values::kF16x2 || kind == Values::kBf16x2)
    return std::fmax(distance_of(a & 0xffff, b & 0xffff, shape),
                     distance_of(a >> 16, b >> 16, shape));
  return distance_of(a, b, shape);
}

std::string hexadecimal(std::uint64_t value, Values kind) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * size_of(kind)),
                static_cast<unsigned long long>(value));
  return text;
}

std::string list_of(std::span<const std::byte> arrays, const std::vector<Values>& kinds,
                    std::uint32_t count, std::uint32_t index) {
  std::string text;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (k != 0) text += ", ";
    text += hexadecimal(element(arrays, kinds, count, k, index), kinds[k]);
  }
  return text;
}

} // namespace

Difference compare(const Form& form, std::span<const std::byte> operands,
                   std::span<const std::byte> expected, std::span<const std::byte> found) {
  Difference difference;
  if (expected.size() != found.size() || expected.size() != bytes_of(form.results, form.count)) {
    difference.wrong = form.count;
    difference.first = "the results have another size";
    return difference;
  }
  for (std::uint32_t i = 0; i < form.count; ++i) {
    double largest = 0;
    for (std::size_t k = 0; k < form.results.size(); ++k) {
      const Values kind = form.results[k];
      const std::uint64_t right = element(expected, form.results, form.count, k, i);
      const std::uint64_t result = element(found, form.results, form.count, k, i);
      const double units = distance(form, kind, right, result);
      if (units > form.ulps && absolute_distance(form, kind, right, result) <= form.absolute)
        difference.largest_absolute =
          std::fmax(difference.largest_absolute, absolute_distance(form, kind, right, result));
      else largest = std::fmax(largest, units);
    }
    difference.largest_error = std::fmax(difference.largest_error, largest);
    if (largest <= form.ulps) continue;
    if (difference.wrong++ == 0)
      difference.first = "thread " + std::to_string(i) + ": of " +
                         list_of(operands, form.operands, form.count, i) + " came " +
                         list_of(found, form.results, form.count, i) + ", not " +
                         list_of(expected, form.results, form.count, i);
  }
  return difference;
}

} // namespace gmt::forms
