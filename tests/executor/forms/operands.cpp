// SPDX-License-Identifier: Apache-2.0
// Edge values of each kind, random values of each kind, and how both are combined.
#include "tests/executor/forms/operands.h"

#include <array>
#include <cstring>

namespace gmt::forms {
namespace {

using u64 = std::uint64_t;
constexpr std::size_t kEdges = 32;
using Edges = std::array<u64, kEdges>;

// SplitMix64: short, and the same everywhere.
class Random {
public:
  explicit Random(u64 seed) : state_(seed) {}
  u64 next() {
    state_ += 0x9e3779b97f4a7c15u;
    u64 z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  u64 below(u64 limit) { return next() % limit; }

private:
  u64 state_;
};

struct Format {
  unsigned exponent_bits, fraction_bits;
  u64 fraction() const { return (u64{1} << fraction_bits) - 1; }
  u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << fraction_bits; }
  u64 sign() const { return u64{1} << (exponent_bits + fraction_bits); }
  u64 bias() const { return (u64{1} << (exponent_bits - 1)) - 1; }
  u64 one() const { return bias() << fraction_bits; }
  // 2 to the power n, or infinity where there is none
  u64 power(int n) const {
    const auto exponent = static_cast<std::int64_t>(bias()) + n;
    if (exponent <= 0) return 1;
    if (static_cast<u64>(exponent) >= infinity() >> fraction_bits) return infinity();
    return static_cast<u64>(exponent) << fraction_bits;
  }
};
constexpr Format kHalfFormat{5, 10}, kBrainFormat{8, 7}, kSingleFormat{8, 23},
  kDoubleFormat{11, 52};

const Format* format_of(Values kind) {
  switch (kind) {
  case Values::kF16:
  case Values::kF16x2: return &kHalfFormat;
  case Values::kBf16:
  case Values::kBf16x2: return &kBrainFormat;
  case Values::kF32: return &kSingleFormat;
  case Values::kF64: return &kDoubleFormat;
  default: return nullptr;
  }
}

Edges float_edges(const Format& f) {
  const u64 s = f.sign(), one = f.one(), least = f.fraction() + 1, most = f.infinity() - 1;
  const u64 quiet = f.infinity() | u64{1} << (f.fraction_bits - 1);
  return {0,
          s,
          one,
          one | s,
          f.infinity(),
          f.infinity() | s,
          quiet,
          f.infinity() | f.fraction(),
          f.infinity() | 1, // a signalling NaN
          quiet | s | 5,
          1,
          1 | s,
          f.fraction(), // the largest subnormal number
          f.fraction() | s,
          least,
          least | s,
          most,
          most | s,
          one + 1,
          (one - 1) | s,
          f.power(-1),
          f.power(1) | s,
          one | u64{1} << (f.fraction_bits - 1),            // 1.5
          f.power(1) | u64{1} << (f.fraction_bits - 2) | s, // -2.5
          f.power(static_cast<int>(f.fraction_bits)) | 1,
          f.power(15),
          f.power(16) - 1,
          f.power(31) | s,
          f.power(32),
          f.power(63),
          f.power(64) | s,
          f.power(8) - (u64{1} << (f.fraction_bits - 7))};
}

Edges integer_edges() {
  return {0,
          1,
          2,
          3,
          7,
          15,
          16,
          31,
          32,
          33,
          0x7f,
          0x80,
          0xff,
          0x100,
          0x7fff,
          0x8000,
          0x8001,
          0xffff,
          0x10000,
          0x7fffff,
          0x800000,
          0x7ffffffe,
          0x7fffffff,
          0x80000000,
          0xffffffff,
          0x8000000000000001,
          0x7fffffffffffffff,
          0x8000000000000000,
          0xffffffffffffffff,
          0xfffffffffffffffe,
          0x5555555555555555,
          0xffffffff80000000};
}

Edges count_edges() {
  Edges edges{};
  constexpr u64 kLast[] = {40, 48, 63, 64, 65, 127, 128, 255, 256, 0x80000000, 0xffffffff};
  for (u64 i = 0; i < kEdges; ++i) edges[i] = i < 21 ? i * 33 / 20 : kLast[i - 21];
  return edges;
}

Edges edges_of(Values kind) {
  if (const Format* format = format_of(kind)) {
    Edges edges = float_edges(*format);
    if (kind == Values::kF16x2 || kind == Values::kBf16x2) {
      for (std::size_t i = 0; i < kEdges; ++i)
        edges[i] = (edges[i] & 0xffff) | (edges[(i * 5 + 7) % kEdges] & 0xffff) << 16;
    }
    return edges;
  }
  if (kind == Values::kCount) return count_edges();
  return integer_edges();
}

u64 random_float(const Format& f, Random& random) {
  const u64 pattern = random.next() & (f.sign() * 2 - 1);
  const u64 low = pattern & f.fraction();
  const u64 sign = pattern & f.sign();
  switch (random.below(8)) {
  case 0:
  case 1: return pattern;
  case 2: // few bits of fraction: results that lie between two values
    return sign | f.power(static_cast<int>(random.below(24)) - 12) |
           (low & ~(f.fraction() >> 3) & f.fraction());
  case 3: { // small numbers with halves
    const u64 whole = random.below(u64{1} << (f.fraction_bits < 10 ? f.fraction_bits : 10));
    const u64 shift = static_cast<u64>(63 - __builtin_clzll(whole * 2 + 1));
    const u64 fraction = (whole * 2 + 1)
                         << (f.fraction_bits - (shift > f.fraction_bits ? f.fraction_bits : shift));
    return sign | ((f.bias() + shift - 1) << f.fraction_bits) | (fraction & f.fraction());
  }
  case 4: // subnormal and just above
    return sign | random.below(3) << f.fraction_bits | low;
  default: {
    const int range = f.exponent_bits == 5 ? 24 : 64;
    const int power = static_cast<int>(random.below(static_cast<u64>(range))) - range / 2;
    const u64 scale = f.power(power);
    return scale == f.infinity() || scale == 1 ? pattern : sign | scale | low;
  }
  }
}

u64 random_of(Values kind, Random& random) {
  if (kind == Values::kF16x2 || kind == Values::kBf16x2) {
    const Format& f = *format_of(kind);
    const u64 low = random_float(f, random);
    return low | random_float(f, random) << 16;
  }
  if (const Format* format = format_of(kind)) return random_float(*format, random);
  const u64 value = random.next();
  switch (kind) {
  case Values::kCount: return random.below(8) == 0 ? value : random.below(72);
  case Values::kFlag: return value & 1;
  case Values::kFew:
  case Values::kFew64: return (value & 3) * 0x4000000040000001;
  case Values::kPositive: return 0x3f800000 | (value & 0x7fffff);
  default: break;
  }
  switch (random.below(4)) {
  case 0: return value >> random.below(64);
  case 1: return ~(value >> random.below(64));
  default: return value;
  }
}

bool has_edges(Values kind) {
  return kind != Values::kFlag && kind != Values::kFew && kind != Values::kFew64 &&
         kind != Values::kPositive;
}

// Operands that nearly cancel: of two, the second is the first with another sign and other last
// bits; of three, the third is the product of the others.
void relate(std::vector<u64>& values, Values kind, Random& random) {
  const Format* format = format_of(kind);
  if (format == nullptr || values.size() < 2) return;
  const u64 noise = random.below(5);
  if (values.size() == 2) {
    values[1] = (values[0] ^ (random.next() & format->sign())) + noise;
    return;
  }
  if (kind == Values::kF32) {
    float a = 0, b = 0;
    const auto x = static_cast<std::uint32_t>(values[0]), y = static_cast<std::uint32_t>(values[1]);
    std::memcpy(&a, &x, sizeof a);
    std::memcpy(&b, &y, sizeof b);
    const float product = -(a * b);
    std::uint32_t z = 0;
    std::memcpy(&z, &product, sizeof z);
    if (product == product) values[2] = z + noise;
  } else if (kind == Values::kF64) {
    double a = 0, b = 0;
    std::memcpy(&a, &values[0], sizeof a);
    std::memcpy(&b, &values[1], sizeof b);
    const double product = -(a * b);
    if (product == product) std::memcpy(&values[2], &product, sizeof product);
  }
}

std::vector<u64> tuple(const Form& form, std::uint32_t index, Random& random) {
  const std::size_t n = form.operands.size();
  std::vector<u64> values(n);
  const std::uint32_t edge_tuples = n == 1 ? kEdges : n == 2 ? kEdges * kEdges : form.count / 2;
  if (index < edge_tuples && (n != 2 || index < form.count * 3 / 4)) {
    // Of two operands, an order that meets most pairs also where not all have room
    std::size_t at = n == 2 ? std::size_t{index} * 5 % (kEdges * kEdges) : index;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t pick = n <= 2 ? at % kEdges : random.below(kEdges);
      at /= kEdges;
      values[k] = has_edges(form.operands[k]) ? edges_of(form.operands[k])[pick]
                                              : random_of(form.operands[k], random);
    }
    return values;
  }
  for (std::size_t k = 0; k < n; ++k) values[k] = random_of(form.operands[k], random);
  bool same = true;
  for (const Values kind : form.operands) same &= kind == form.operands[0];
  if (same && random.below(4) == 0) relate(values, form.operands[0], random);
  return values;
}

} // namespace

std::vector<std::byte> operands_of(const Form& form) {
  std::vector<std::byte> bytes(bytes_of(form.operands, form.count));
  Random random(form.operands.size() + 11);
  for (std::uint32_t i = 0; i < form.count; ++i) {
    const std::vector<u64> values = tuple(form, i, random);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t size = size_of(form.operands[k]);
      std::memcpy(bytes.data() + offset_of(form.operands, form.count, k) + i * size, &values[k],
                  size);
    }
  }
  return bytes;
}

std::uint64_t fingerprint_of(const Form& form, std::span<const std::byte> operands) {
  u64 hash = 0xcbf29ce484222325u; // FNV-1a
  const auto add = [&](u64 byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (const std::byte byte : operands) add(static_cast<u64>(byte));
  for (const char c : kernel_text(form, "form")) add(static_cast<unsigned char>(c));
  return hash;
}

std::uint64_t element(std::span<const std::byte> arrays, const std::vector<Values>& kinds,
                      std::uint32_t count, std::size_t array, std::uint32_t index) {
  u64 value = 0;
  const std::size_t size = size_of(kinds[array]);
  std::memcpy(&value, arrays.data() + offset_of(kinds, count, array) + index * size, size);
  return value;
}

} // namespace gmt::forms
