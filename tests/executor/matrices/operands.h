// SPDX-License-Identifier: Apache-2.0
// Operands of products of matrices: the same on every machine, from the name of a form and the
// number of a case. Cases differ in how numbers of floats are spread; see `Spread`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gmt::matrices {

enum class Spread : std::uint8_t {
  kNearOne, // exponents that differ by at most 3
  kAny,     // all finite numbers
  kWide,    // exponents over 16 powers of two, a quarter of zeros
  kSpecial, // some infinities, NaNs, zeros and subnormal numbers
  kSparse,  // three quarters of zeros, the others far apart
  kSpreads,
};

class Random {
public:
  explicit Random(std::string_view name, std::uint32_t number) : state_(1469598103934665603ull) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    state_ += 1000003ull * number;
  }
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>((next() >> 32) * count >> 32);
  }

private:
  std::uint64_t state_;
};

struct Format {
  int exponent = 0, fraction = 0; // bits
  bool has_infinity = true;
};

inline Format format_of(std::string_view type) {
  if (type == "f16") return {5, 10};
  if (type == "bf16") return {8, 7};
  if (type == "tf32" || type == "f32") return {8, 23};
  if (type == "f64") return {11, 52};
  if (type == "e4m3") return {4, 3, false};
  if (type == "e5m2") return {5, 2};
  return {}; // of integers
}

inline std::uint64_t number_of(Format format, Spread spread, bool is_accumulator, Random& random) {
  const int bias = (1 << (format.exponent - 1)) - 1, top = (1 << format.exponent) - 1;
  const int most = format.has_infinity ? top - 1 : top;
  const auto below = [&](std::uint32_t count) { return static_cast<int>(random.below(count)); };
  std::uint64_t fraction = random.next() >> (64 - format.fraction);
  const std::uint64_t sign = random.next() >> 63;
  const std::uint64_t quiet_nan = format.has_infinity ? fraction | (fraction == 0 ? 1 : 0) : 7;
  int exponent = bias;
  const auto make_zero = [&] { fraction = 0, exponent = 0; };
  switch (spread) {
  case Spread::kNearOne: exponent = is_accumulator ? bias - 1 + below(4) : bias - below(4); break;
  case Spread::kAny:
    exponent = is_accumulator ? bias - 30 + below(60) : below(static_cast<std::uint32_t>(most + 1));
    break;
  case Spread::kWide:
    exponent = is_accumulator ? bias - 24 + below(30) : bias - below(16);
    if (below(4) == 0) make_zero();
    break;
  case Spread::kSpecial: {
    exponent = bias - below(3);
    const int which = below(48);
    if (which == 0 && format.has_infinity) fraction = 0, exponent = top;
    else if (which == 1) fraction = quiet_nan, exponent = top;
    else if (which < 6) make_zero();
    else if (which < 10) exponent = 0;
    break;
  }
  default:
    exponent = is_accumulator ? bias - 28 + below(56) : bias - 12 + below(25);
    if (below(4) != 0) make_zero();
  }
  exponent = exponent < 0 ? 0 : exponent;
  if (spread != Spread::kSpecial) {
    exponent = exponent > most ? most : exponent;
    if (exponent == top && fraction == 7) fraction = 6; // e4m3 has its NaN there
  }
  return sign << (format.exponent + format.fraction) |
         static_cast<std::uint64_t>(exponent) << format.fraction | fraction;
}

// Which of four units a sparse matrix keeps, eight times. Of tf32 a number is two units.
inline std::uint32_t metadata_of(bool in_pairs, Random& random) {
  static constexpr std::uint32_t kOfFour[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe}, kOfTwo[] = {0x4, 0xe};
  std::uint32_t word = 0;
  for (std::uint32_t at = 0; at < 32; at += 4)
    word |= (in_pairs ? kOfTwo[random.below(2)] : kOfFour[random.below(6)]) << at;
  return word;
}

// Registers of 32 bits, of f64 halves of them, in the order of their lanes.
inline void fill(std::span<std::uint32_t> words, std::string_view type, Spread spread,
                 bool is_accumulator, Random& random) {
  const Format format = format_of(type);
  if (format.exponent == 0) {
    for (std::uint32_t& word : words) {
      word = static_cast<std::uint32_t>(random.next() >> 32);
      if (!is_accumulator) continue;
      if (spread == Spread::kNearOne) word &= 0xffff;
      if (spread == Spread::kSpecial) // near the largest and the least
        word = (word & 0xfff) ^ ((word >> 31) != 0 ? 0x7ffff000u : 0x80000000u);
    }
    return;
  }
  const int bits = 1 + format.exponent + format.fraction;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (bits == 64) {
      const std::uint64_t number = number_of(format, spread, is_accumulator, random);
      words[i++] = static_cast<std::uint32_t>(number);
      words[i] = static_cast<std::uint32_t>(number >> 32);
      continue;
    }
    std::uint32_t word = 0;
    for (int at = 0; at < 32; at += bits)
      word |= static_cast<std::uint32_t>(number_of(format, spread, is_accumulator, random)) << at;
    if (type == "tf32" && spread == Spread::kNearOne) word &= ~0x1fffu;
    words[i] = word;
  }
}

inline std::uint64_t fingerprint(std::span<const std::uint32_t> words) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 1099511628211ull;
  return hash;
}

} // namespace gmt::matrices
