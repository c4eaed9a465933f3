// SPDX-License-Identifier: Apache-2.0
// Functions that PTX defines with an error: the true value, computed in more bits and rounded once.
#include "tests/executor/forms/model/floats.h"

#include <cmath>
#include <cstring>
#include <map>

namespace gmt::forms::model {
namespace {

using u64 = std::uint64_t;
using Function = long double (*)(long double);
constexpr long double kPi = 3.141592653589793238462643383279502884L;

Exact exact_of(long double value) {
  Exact exact;
  exact.negative = std::signbit(value);
  if (std::isnan(value)) exact.kind = Kind::kNan;
  else if (std::isinf(value)) exact.kind = Kind::kInfinite;
  if (exact.kind != Kind::kFinite || value == 0) return exact;
  int exponent = 0;
  const long double fraction = std::frexp(std::fabs(value), &exponent);
  if (exponent < -2000) return exact; // far below the smallest double
  if (exponent > 2000) {
    exact.kind = Kind::kInfinite;
    return exact;
  }
  exact.magnitude = Big::of(static_cast<u64>(std::ldexp(fraction, 64)), exponent - 64);
  return exact;
}

// PTX bounds the error of sin and cos within a turn alone. A GPU counts turns in f32, cut off, and
// keeps 25 bits of what is left of one. It does so for the magnitude of the angle.
long double of_turn(long double x, bool cosine) {
  if (!std::isfinite(x)) return NAN;
  const Format& single = *format_named("f32");
  Exact turns = exact_of(std::fabs(x) * 0x1.45f306p-3L); // 1 / (2 pi) as f32
  turns.magnitude = decode(encode(turns, single, Rounding::kZero), single).exact().magnitude;
  const auto left = turns.magnitude.bits_from(Big::kUnit - 25) & 0x1ffffff;
  const long double half = std::ldexp(static_cast<long double>(left & 0xffffff), -24);
  const bool second_half = left >> 24 != 0;
  const long double sine = std::sin(cosine ? kPi * (0.5L - half) : kPi * half);
  return second_half != (!cosine && std::signbit(x)) ? -sine : sine;
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
    {"ex2", [](long double x) { return std::exp2(x); }},
    {"lg2", [](long double x) { return std::log2(x); }},
    {"sin", [](long double x) { return of_turn(x, false); }},
    {"cos", [](long double x) { return of_turn(x, true); }},
    {"tanh", [](long double x) { return std::tanh(x); }},
    {"rsqrt", [](long double x) { return 1 / std::sqrt(x); }},
  };
  return all;
}

long double value_of(const Stored& stored) {
  if (stored.kind == Kind::kNan) return NAN;
  const long double magnitude =
    stored.kind == Kind::kInfinite
      ? static_cast<long double>(INFINITY)
      : std::ldexp(static_cast<long double>(stored.mantissa), stored.exponent);
  return stored.negative ? -magnitude : magnitude;
}

u64 evaluated(Function f, u64 pattern, const Format& format, bool flush) {
  const Exact value = exact_of(f(value_of(decode(pattern, format, flush))));
  return finished(encode(value, format, Rounding::kNearest), format, {flush});
}

} // namespace

Evaluate approximate_model(const Form& form, const Words& words) {
  if (form.ulps == 0) return nullptr;
  std::string type = words.last();
  const bool pair = type.ends_with("x2");
  if (pair) type.resize(type.size() - 2);
  const Format* format = format_named(type);
  const auto found = functions().find(words.opcode());
  if (format == nullptr || found == functions().end()) return nullptr;
  // rsqrt.approx.ftz.f64 looks at the upper word alone.
  const bool upper = words.has("ftz") && type == "f64";
  return [f = found->second, format, pair, upper, flush = words.has("ftz")](Thread& t) {
    if (upper) t.in[0] &= 0xffffffff00000000;
    t.out[0] = evaluated(f, pair ? t.in[0] & 0xffff : t.in[0], *format, flush);
    t.out[0] = with_found_nan(t.out[0], t.found[0], *format, true);
    if (pair) t.out[0] |= evaluated(f, t.in[0] >> 16, *format, flush) << 16;
  };
}

} // namespace gmt::forms::model
