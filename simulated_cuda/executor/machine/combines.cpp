// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/combines.h"

#include "simulated_cuda/executor/program/bulk_form.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace gmt::executor {
namespace {

template <class T>
void store_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T loaded_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void combine_add(std::byte* to, const std::byte* by) {
  store_as<T>(to, static_cast<T>(loaded_as<T>(to) + loaded_as<T>(by)));
}
template <class T>
void combine_min(std::byte* to, const std::byte* by) {
  store_as<T>(to, std::min(loaded_as<T>(to), loaded_as<T>(by)));
}
template <class T>
void combine_max(std::byte* to, const std::byte* by) {
  store_as<T>(to, std::max(loaded_as<T>(to), loaded_as<T>(by)));
}
template <class T>
void combine_and(std::byte* to, const std::byte* by) {
  store_as<T>(to, loaded_as<T>(to) & loaded_as<T>(by));
}
template <class T>
void combine_or(std::byte* to, const std::byte* by) {
  store_as<T>(to, loaded_as<T>(to) | loaded_as<T>(by));
}
template <class T>
void combine_xor(std::byte* to, const std::byte* by) {
  store_as<T>(to, loaded_as<T>(to) ^ loaded_as<T>(by));
}
// ---- floats, as an H100 does them: a result that is no number has all bits of it set

std::uint32_t flushed(std::uint32_t bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}
template <bool kFlushes>
void combine_add_float(std::byte* to, const std::byte* by) {
  auto a = loaded_as<std::uint32_t>(to), b = loaded_as<std::uint32_t>(by);
  if (kFlushes) a = flushed(a), b = flushed(b);
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  auto bits = std::isnan(sum) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
  if (kFlushes) bits = flushed(bits);
  store_as(to, bits);
}
// Of doubles what is no number stays as it is.
void combine_add_double(std::byte* to, const std::byte* by) {
  const auto a = loaded_as<double>(to), b = loaded_as<double>(by);
  if (std::isnan(b)) store_as(to, loaded_as<std::uint64_t>(by));
  else if (!std::isnan(a)) store_as(to, a + b);
}

struct Half {
  static float wide(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f,
                        fraction = bits & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  // Of a sum of two, which `value` has whole.
  static std::uint16_t narrow(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double size = std::fabs(value);
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14) // denormal: steps of 2^-24
      return static_cast<std::uint16_t>(sign |
                                        static_cast<unsigned>(std::nearbyint(size * 0x1p24)));
    int exponent = 0;
    const double fraction = std::frexp(size, &exponent); // from a half to 1
    const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(fraction, 11)));
    return static_cast<std::uint16_t>(sign |
                                      ((static_cast<unsigned>(exponent + 13) << 10) + steps));
  }
};
struct Brain { // bf16
  static float wide(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static std::uint16_t narrow(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};
constexpr std::uint16_t kNoNumber = 0x7fff;

template <class Format>
void combine_add_half(std::byte* to, const std::byte* by) {
  const double sum = static_cast<double>(Format::wide(loaded_as<std::uint16_t>(to))) +
                     static_cast<double>(Format::wide(loaded_as<std::uint16_t>(by)));
  store_as(to, std::isnan(sum) ? kNoNumber : Format::narrow(sum));
}
// Numbers win, and -0 is less than 0.
template <class Format, bool kLeast>
void combine_one_of(std::byte* to, const std::byte* by) {
  const auto a = loaded_as<std::uint16_t>(to), b = loaded_as<std::uint16_t>(by);
  const float x = Format::wide(a), y = Format::wide(b);
  if (std::isnan(x) || std::isnan(y)) {
    const std::uint16_t kept = std::isnan(x) ? b : a;
    return store_as(to, std::isnan(x) && std::isnan(y) ? kNoNumber : kept);
  }
  const bool is_less = x < y || (x == y && std::signbit(x));
  store_as(to, is_less == kLeast ? a : b);
}
template <class Format>
void combine_least(std::byte* to, const std::byte* by) {
  combine_one_of<Format, true>(to, by);
}
template <class Format>
void combine_largest(std::byte* to, const std::byte* by) {
  combine_one_of<Format, false>(to, by);
}

void combine_inc(std::byte* to, const std::byte* by) {
  const auto old = loaded_as<std::uint32_t>(to);
  store_as<std::uint32_t>(to, old >= loaded_as<std::uint32_t>(by) ? 0 : old + 1);
}
void combine_dec(std::byte* to, const std::byte* by) {
  const auto old = loaded_as<std::uint32_t>(to), most = loaded_as<std::uint32_t>(by);
  store_as<std::uint32_t>(to, old == 0 || old > most ? most : old - 1);
}

// In the order of bulk_form::kCombines.
constexpr Combine kCombines[] = {{4, combine_add<std::uint32_t>},
                                 {4, combine_add<std::uint32_t>},
                                 {8, combine_add<std::uint64_t>},
                                 {8, combine_add<std::uint64_t>},
                                 {4, combine_add_float<false>},
                                 {8, combine_add_double},
                                 {4, combine_min<std::uint32_t>},
                                 {4, combine_min<std::int32_t>},
                                 {8, combine_min<std::uint64_t>},
                                 {8, combine_min<std::int64_t>},
                                 {4, combine_max<std::uint32_t>},
                                 {4, combine_max<std::int32_t>},
                                 {8, combine_max<std::uint64_t>},
                                 {8, combine_max<std::int64_t>},
                                 {4, combine_and<std::uint32_t>},
                                 {8, combine_and<std::uint64_t>},
                                 {4, combine_or<std::uint32_t>},
                                 {8, combine_or<std::uint64_t>},
                                 {4, combine_xor<std::uint32_t>},
                                 {8, combine_xor<std::uint64_t>},
                                 {4, combine_inc},
                                 {4, combine_dec},
                                 {2, combine_add_half<Half>},
                                 {2, combine_least<Half>},
                                 {2, combine_largest<Half>},
                                 {2, combine_add_half<Brain>},
                                 {2, combine_least<Brain>},
                                 {2, combine_largest<Brain>},
                                 {4, combine_add_float<true>}};
static_assert(std::size(kCombines) == bulk_form::kCombines.size());

} // namespace

const Combine* combine_of(std::uint32_t number) {
  return number == 0 || number > std::size(kCombines) ? nullptr : kCombines + (number - 1);
}

void round_to_tf32(std::span<std::byte> floats) {
  constexpr std::uint32_t kExponent = 0x7f800000, kNan = 0x7fffe000, kCut = 13;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= floats.size(); at += sizeof(float)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &floats[at], sizeof bits);
    const bool is_finite = (bits & kExponent) != kExponent;
    const std::uint32_t half = (1u << (kCut - 1)) - 1 + (bits >> kCut & 1);
    if (is_finite) bits = (bits + half) >> kCut << kCut;
    else if ((bits & ~kExponent) << 1 != 0) bits = kNan;
    std::memcpy(&floats[at], &bits, sizeof bits);
  }
}

const Combine* combine_named(std::string_view name) {
  const auto& all = bulk_form::kCombines;
  const auto found = std::ranges::find(all, name);
  return found == all.end() ? nullptr : kCombines + (found - all.begin());
}

} // namespace gmt::executor
