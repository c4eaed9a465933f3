// SPDX-License-Identifier: Apache-2.0
// Video instructions as the pseudo code of PTX has them, from the name of the form: an instruction
// and its operands, "vadd.s32.u32.u32.sat d.h1 a.b1 b c".
#include "tests/executor/forms/model/model.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace gmt::forms::model {
namespace {

__extension__ using Wide = __int128;

struct Operand {
  bool negated = false;
  int bits = 32;     // of a part
  std::string parts; // digits, the highest first
};

Operand operand_of(std::string text) {
  Operand operand;
  operand.negated = text[0] == '-';
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return operand;
  operand.bits = text[point + 1] == 'b' ? 8 : 16;
  operand.parts = text.substr(point + 2);
  return operand;
}

Wide extended(std::uint64_t value, int bits, bool is_signed) {
  return is_signed ? Wide{as_signed(value, bits)} : Wide{low_bits(value, bits)};
}

Wide clamped(Wide value, int bits, bool is_signed) {
  const Wide most = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(value, is_signed ? -most - 1 : Wide{0}, most);
}

struct Instruction {
  std::string name; // without the number of parts
  int parts = 1;
  bool of_result = false, of_first = false, of_second = false; // signed
  Operand d, a, b, c;
};

Wide compute(const Words& words, const std::string& name, Wide x, Wide y) {
  if (name == "vadd") return x + y;
  if (name == "vsub") return x - y;
  if (name == "vmin") return std::min(x, y);
  if (name == "vmax") return std::max(x, y);
  if (name == "vabsdiff") return std::max(x, y) - std::min(x, y);
  if (name == "vavrg") return (x + y + (x + y < 0 ? 0 : 1)) >> 1;
  if (name == "vset") {
    return (words.has("eq") && x == y) || (words.has("ne") && x != y) ||
           (words.has("lt") && x < y) || (words.has("le") && x <= y) ||
           (words.has("gt") && x > y) || (words.has("ge") && x >= y);
  }
  if (words.has("wrap")) y = y % 32;
  y = std::min(y, Wide{32});
  // A right shift rounds down.
  const Wide power = Wide{1} << y;
  if (name == "vshl") return x * power;
  return x >= 0 ? x / power : -((-x + power - 1) / power);
}

std::uint64_t product(const Words& words, const Instruction& i, Wide x, Wide y, std::uint64_t c) {
  const bool negated = i.a.negated != i.b.negated;
  const bool is_signed = i.of_first || i.of_second || negated || i.c.negated;
  Wide value = negated ? -(x * y) : x * y;
  const Wide third = extended(c, 32, is_signed);
  value += i.c.negated ? -third : third;
  if (words.has("po")) value += 1;
  return low_bits(static_cast<std::uint64_t>(value), 32);
}

// The one part of an operand, of an instruction of one.
Wide one(std::uint64_t word, const Operand& operand, bool is_signed) {
  const int at = operand.parts.empty() ? 0 : operand.parts[0] - '0';
  return extended(word >> (at * operand.bits), operand.bits, is_signed);
}

std::uint64_t scalar(const Words& words, const Instruction& i, const Thread& t) {
  const Wide x = one(t.in[0], i.a, i.of_first), y = one(t.in[1], i.b, i.of_second);
  const std::uint64_t c = t.in[2];
  if (i.name == "vmad") return product(words, i, x, y, c);
  Wide value = compute(words, i.name, x, y);
  if (words.has("add")) value += extended(c, 32, false);
  return low_bits(static_cast<std::uint64_t>(value), 32);
}

std::uint64_t each_part(const Words& words, const Instruction& i, const Thread& t) {
  const int bits = 32 / i.parts;
  const std::uint64_t both = t.in[1] << 32 | t.in[0];
  const std::string all = i.parts == 4 ? "76543210" : "3210";
  const auto half = static_cast<std::size_t>(i.parts);
  const std::string first = i.a.parts.empty() ? all.substr(half) : i.a.parts;
  const std::string second = i.b.parts.empty() ? all.substr(0, half) : i.b.parts;
  const std::string written = i.d.parts.empty() ? all.substr(half) : i.d.parts;
  std::uint64_t result = t.in[2];
  for (int part = 0; part < i.parts; ++part) {
    if (written.find(static_cast<char>('0' + part)) == std::string::npos) continue;
    const auto taken = [&](const std::string& from, bool is_signed) {
      const int at = from[half - 1 - static_cast<std::size_t>(part)] - '0';
      return extended(both >> (at * bits), bits, is_signed);
    };
    Wide value = compute(words, i.name, taken(first, i.of_first), taken(second, i.of_second));
    if (words.has("sat")) value = clamped(value, bits, i.of_result);
    const auto pattern = static_cast<std::uint64_t>(value);
    if (words.has("add")) {
      result += pattern;
      continue;
    }
    const std::uint64_t hole = low_bits(~std::uint64_t{0}, bits) << (part * bits);
    result = (result & ~hole) | low_bits(pattern, bits) << (part * bits);
  }
  return low_bits(result, 32);
}

} // namespace

Evaluate video_model(const Form& form, const Words& words) {
  Instruction i;
  i.name = words.opcode();
  if (i.name[0] != 'v' || i.name == "vote") return nullptr;
  const char last = i.name.back();
  if (last == '2' || last == '4') {
    i.parts = last - '0';
    i.name.pop_back();
  }
  const std::size_t types = i.name == "vset" ? 1 : 2;
  i.of_result = i.name != "vset" && words[1] == "s32";
  i.of_first = words[types] == "s32";
  i.of_second = words[types + 1] == "s32";
  std::istringstream text(form.name);
  std::string operand;
  text >> operand; // the instruction
  for (Operand* each : {&i.d, &i.a, &i.b, &i.c}) {
    if (text >> operand) *each = operand_of(operand);
  }
  return [i, words](Thread& t) {
    t.out[0] = i.parts == 1 ? scalar(words, i, t) : each_part(words, i, t);
  };
}

} // namespace gmt::forms::model
