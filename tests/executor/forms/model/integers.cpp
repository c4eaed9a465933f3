// SPDX-License-Identifier: Apache-2.0
// Integers: values of any width lie in 128 bits, and a result is their lowest bits.
#include "tests/executor/forms/model/model.h"

#include <algorithm>
#include <map>

namespace gmt::forms::model {
namespace {

__extension__ using Signed = __int128;
using u64 = std::uint64_t;

Signed value_of(u64 pattern, bool is_signed, int bits) {
  if (is_signed) return as_signed(pattern, bits);
  return static_cast<Signed>(low_bits(pattern, bits));
}

struct Shape {
  bool is_signed;
  int bits;
  Signed least() const { return is_signed ? -(Signed{1} << (bits - 1)) : 0; }
  Signed most() const { return (Signed{1} << (is_signed ? bits - 1 : bits)) - 1; }
  Signed clamp(Signed v) const { return std::clamp(v, least(), most()); }
};

// PTX leaves a divisor of 0 open. An H200 gives all ones.
void divide(const Shape& shape, bool remainder, Thread& t) {
  const Signed a = value_of(t.in[0], shape.is_signed, shape.bits);
  const Signed b = value_of(t.in[1], shape.is_signed, shape.bits);
  if (b == 0) t.out[0] = ~u64{0};
  else t.out[0] = static_cast<u64>(remainder ? a % b : a / b);
}

// 128 bits hold no product of unsigned words of 64 bits beside a sign: so the high half is taken
// from an unsigned product and mended for negative factors.
u64 high_of_64(u64 a, u64 b, bool is_signed) {
  __extension__ using Unsigned = unsigned __int128;
  auto high = static_cast<u64>((Unsigned{a} * b) >> 64);
  if (is_signed && a >> 63 != 0) high -= b;
  if (is_signed && b >> 63 != 0) high -= a;
  return high;
}

using Binary = Signed (*)(Signed, Signed);
const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> all = {
    {"add", [](Signed a, Signed b) { return a + b; }},
    {"sub", [](Signed a, Signed b) { return a - b; }},
    {"min", [](Signed a, Signed b) { return std::min(a, b); }},
    {"max", [](Signed a, Signed b) { return std::max(a, b); }},
  };
  return all;
}

Evaluate pair_model(const Words& words) {
  const auto found = binaries().find(words.opcode());
  if (found == binaries().end()) return nullptr;
  const Binary f = found->second;
  const bool is_signed = words.last() == "s16x2", relu = words.has("relu");
  return [=](Thread& t) {
    t.out[0] = 0;
    for (int half = 0; half < 2; ++half) {
      const int shift = 16 * half;
      Signed v =
        f(value_of(t.in[0] >> shift, is_signed, 16), value_of(t.in[1] >> shift, is_signed, 16));
      if (relu) v = std::max(v, Signed{0});
      t.out[0] |= low_bits(static_cast<u64>(v), 16) << shift;
    }
  };
}

Evaluate dot_model(const Words& words) {
  const bool a_signed = words.last(1) == "s32", b_signed = words.last() == "s32";
  const bool four = words.opcode() == "dp4a";
  const int first = words.has("hi") ? 2 : 0;
  return [=](Thread& t) {
    Signed total = static_cast<Signed>(t.in[2]);
    for (int i = 0; i < (four ? 4 : 2); ++i) {
      const int width = four ? 8 : 16;
      const Signed a = value_of(t.in[0] >> (width * i), a_signed, width);
      total += a * value_of(t.in[1] >> (8 * (first + i)), b_signed, 8);
    }
    t.out[0] = static_cast<u64>(total);
  };
}

// mul and mad of the low, high or whole product; of 24 bits, the high part begins at bit 16.
Evaluate product_model(const Words& words, const Shape& shape) {
  const bool narrow = words.opcode().ends_with("24"), adds = words.opcode().starts_with("mad");
  const bool high = words.has("hi"), saturates = words.has("sat");
  return [=](Thread& t) {
    const int bits = narrow ? 24 : shape.bits;
    u64 part = 0;
    if (shape.bits == 64) {
      part = high ? high_of_64(t.in[0], t.in[1], shape.is_signed) : t.in[0] * t.in[1];
    } else {
      const Signed product =
        value_of(t.in[0], shape.is_signed, bits) * value_of(t.in[1], shape.is_signed, bits);
      part = static_cast<u64>(high ? product >> (narrow ? 16 : shape.bits) : product);
    }
    if (saturates)
      t.out[0] =
        static_cast<u64>(shape.clamp(value_of(part, true, 32) + value_of(t.in[2], true, 32)));
    else t.out[0] = part + (adds ? t.in[2] : 0);
  };
}

Evaluate unary_model(const Words& words, const Shape& shape) {
  const bool negates = words.opcode() == "neg";
  return [=](Thread& t) {
    const Signed v = value_of(t.in[0], true, shape.bits);
    t.out[0] = static_cast<u64>(negates || v < 0 ? -v : v);
  };
}

} // namespace

Evaluate integer_model(const Form& form, const Words& words) {
  const std::string& type = words.last();
  const std::string& opcode = words.opcode();
  if (form.body.find(';') + 1 != form.body.size()) return nullptr; // more than one instruction
  if (opcode == "dp4a" || opcode == "dp2a") return dot_model(words);
  if (type == "u16x2" || type == "s16x2") return pair_model(words);
  if ((type[0] != 's' && type[0] != 'u') || words.size() < 2) return nullptr;
  const Shape shape{type[0] == 's', bits_of(type)};
  if (shape.bits == 0) return nullptr;
  if (opcode == "div" || opcode == "rem")
    return [=, remainder = opcode == "rem"](Thread& t) { divide(shape, remainder, t); };
  if (opcode == "abs" || opcode == "neg") return unary_model(words, shape);
  if (opcode.starts_with("mul") || opcode.starts_with("mad")) return product_model(words, shape);
  if (opcode == "sad") {
    return [=](Thread& t) {
      const Signed a = value_of(t.in[0], shape.is_signed, shape.bits);
      const Signed b = value_of(t.in[1], shape.is_signed, shape.bits);
      t.out[0] = t.in[2] + static_cast<u64>(a < b ? b - a : a - b);
    };
  }
  const auto found = binaries().find(opcode);
  if (found == binaries().end()) return nullptr;
  return [=, f = found->second, saturates = words.has("sat"), relu = words.has("relu")](Thread& t) {
    Signed v = f(value_of(t.in[0], shape.is_signed, shape.bits),
                 value_of(t.in[1], shape.is_signed, shape.bits));
    if (saturates) v = shape.clamp(v);
    if (relu) v = std::max(v, Signed{0});
    t.out[0] = static_cast<u64>(v);
  };
}

// Chains: the carry is the part of a sum that its width does not hold.
Evaluate carry_model(const Form& form, const Words& words) {
  if (form.name.find(".cc") == std::string::npos) return nullptr;
  const std::string& type = words.last();
  const Shape shape{type[0] == 's', bits_of(type)};
  struct Step {
    std::string opcode;
    bool high = false, sets = false;
  };
  std::vector<Step> steps;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "cc") steps.back().sets = true;
    else if (word == "hi") steps.back().high = true;
    else if (word != "lo") steps.push_back({word});
  }
  const bool three = steps.size() == 3;
  return [=](Thread& t) {
    u64 carry = 0;
    const auto run = [&](const Step& step, u64 a, u64 b, u64 c) {
      const bool multiplies = step.opcode.starts_with("mad");
      const bool takes = step.opcode == "addc" || step.opcode == "subc" || step.opcode == "madc";
      u64 x = a, y = b;
      if (multiplies) {
        x = a * b;
        if (step.high && shape.bits == 64) x = high_of_64(a, b, shape.is_signed);
        else if (step.high)
          x = static_cast<u64>(
            (value_of(a, shape.is_signed, 32) * value_of(b, shape.is_signed, 32)) >> 32);
        y = c;
      }
      Signed whole = static_cast<Signed>(low_bits(x, shape.bits));
      const Signed other =
        static_cast<Signed>(low_bits(y, shape.bits)) + (takes ? static_cast<Signed>(carry) : 0);
      whole = step.opcode.starts_with("sub") ? whole - other : whole + other;
      if (step.sets) carry = static_cast<u64>(whole >> shape.bits) & 1;
      return static_cast<u64>(whole);
    };
    const auto multiplies = [&](std::size_t i) { return steps[i].opcode.starts_with("mad"); };
    t.out[0] = run(steps[0], t.in[0], t.in[1], t.in[2]);
    if (three) { // as the list writes it: c, e and a; then b and c, or zeros
      t.out[1] = run(steps[1], t.in[2], t.in[3], t.in[0]);
      t.out[2] = multiplies(1) ? run(steps[2], t.in[1], t.in[2], 0) : run(steps[2], 0, 0, 0);
      return;
    }
    t.out[1] =
      multiplies(1) ? run(steps[1], t.in[1], t.in[2], t.in[3]) : run(steps[1], t.in[2], t.in[3], 0);
    const Step last{steps[0].opcode.starts_with("sub") ? "subc" : "addc"};
    t.out[2] = run(last, 0, 0, 0);
  };
}

} // namespace gmt::forms::model
