// SPDX-License-Identifier: Apache-2.0
// setp, set and testp: patterns become integers in the order of their values.
#include "tests/executor/forms/model/floats.h"

#include <optional>

namespace gmt::forms::model {
namespace {

using u64 = std::uint64_t;

// Less than 0, 0 or more than 0; nothing if a value is NaN.
std::optional<int> order(u64 a, u64 b, const std::string& type, bool flush) {
  if (const Format* format = format_named(type)) {
    if (is_nan(a, *format) || is_nan(b, *format)) return std::nullopt;
    const auto position = [&](u64 p) {
      if (flush && is_subnormal(p, *format)) return std::int64_t{0};
      const auto magnitude = static_cast<std::int64_t>(p & (format->sign() - 1));
      return (p & format->sign()) != 0 ? -magnitude : magnitude;
    };
    return (position(a) > position(b)) - (position(a) < position(b));
  }
  const int bits = bits_of(type);
  if (type[0] == 's') {
    const std::int64_t x = as_signed(a, bits), y = as_signed(b, bits);
    return (x > y) - (x < y);
  }
  const u64 x = low_bits(a, bits), y = low_bits(b, bits);
  return (x > y) - (x < y);
}

bool holds(const std::string& comparison, const std::optional<int>& order) {
  if (comparison == "num") return order.has_value();
  if (comparison == "nan") return !order.has_value();
  const std::string base = comparison.substr(0, 2);
  if (!order) return comparison.size() == 3; // the unordered ones
  if (base == "eq") return *order == 0;
  if (base == "ne") return *order != 0;
  if (base == "lt" || base == "lo") return *order < 0;
  if (base == "le" || base == "ls") return *order <= 0;
  if (base == "gt" || base == "hi") return *order > 0;
  return *order >= 0;
}

bool joined(const Words& words, bool is, u64 flag) {
  const bool other = (flag != 0) != (words.last() == "!r");
  if (words.has("and")) return is && other;
  if (words.has("or")) return is || other;
  if (words.has("xor")) return is != other;
  return is;
}

std::string single(std::string type, bool* pair) {
  *pair = type.ends_with("x2");
  if (*pair) type.resize(type.size() - 2);
  return type;
}

Evaluate setp_model(const Form& form, const Words& words) {
  std::size_t last = words.size() - 1;
  if (words[last] == "pair" || words[last] == "r" || words[last] == "!r") --last;
  bool pair = false;
  const std::string type = single(words[last], &pair);
  const bool both = form.body.find("%p|%q") != std::string::npos;
  return [=](Thread& t) {
    const auto half = [&](int shift) {
      const u64 mask = pair ? 0xffff : ~u64{0};
      return holds(words[1],
                   order(t.in[0] >> shift & mask, t.in[1] >> shift & mask, type, words.has("ftz")));
    };
    const bool first = half(0);
    const bool second = pair ? half(16) : !first;
    t.out[0] = joined(words, first, t.in[2]) ? 1 : 0;
    if (both && joined(words, second, t.in[2])) t.out[0] |= 2;
  };
}

Evaluate set_model(const Words& words) {
  bool pair = false;
  const std::string type = single(words.last(), &pair);
  const std::string& to = words.last(1);
  bool to_pair = false;
  const Format* format = format_named(single(to, &to_pair));
  return [=](Thread& t) {
    for (int half = 0; half < (pair ? 2 : 1); ++half) {
      const u64 mask = pair ? 0xffff : ~u64{0};
      const bool is = holds(words[1], order(t.in[0] >> (16 * half) & mask,
                                            t.in[1] >> (16 * half) & mask, type, words.has("ftz")));
      const u64 yes = format != nullptr ? format->one() : pair ? 0xffff : ~u64{0};
      if (joined(words, is, t.in[2])) t.out[0] |= yes << (16 * half);
    }
  };
}

Evaluate testp_model(const Words& words) {
  const Format& format = *format_named(words.last());
  return [=](Thread& t) {
    const Stored value = decode(t.in[0], format);
    const bool finite = value.kind == Kind::kFinite;
    const bool small = finite && is_subnormal(t.in[0], format);
    const std::string& what = words[1];
    if (what == "finite") t.out[0] = finite;
    if (what == "infinite") t.out[0] = value.kind == Kind::kInfinite;
    if (what == "number") t.out[0] = value.kind != Kind::kNan;
    if (what == "notanumber") t.out[0] = value.kind == Kind::kNan;
    if (what == "normal") t.out[0] = finite && (!small || value.is_zero());
    if (what == "subnormal") t.out[0] = small && !value.is_zero();
  };
}

} // namespace

Evaluate compare_model(const Form& form, const Words& words) {
  if (words.opcode() == "setp") return setp_model(form, words);
  if (words.opcode() == "set") return set_model(words);
  if (words.opcode() == "testp") return testp_model(words);
  return nullptr;
}

} // namespace gmt::forms::model
