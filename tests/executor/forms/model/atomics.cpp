// SPDX-License-Identifier: Apache-2.0
// Atomics of a cell that one thread alone has: the old value, and the operation's result.
#include "tests/executor/forms/model/floats.h"

#include <algorithm>

namespace gmt::forms::model {
namespace {

using u64 = std::uint64_t;

u64 integer_result(const std::string& o, const std::string& type, u64 a, u64 b) {
  const int bits = bits_of(type);
  const bool smaller = type[0] == 's' ? as_signed(b, bits) < as_signed(a, bits) : b < a;
  if (o == "add") return a + b;
  if (o == "min") return smaller ? b : a;
  if (o == "max") return smaller ? a : b;
  if (o == "and") return a & b;
  if (o == "or") return a | b;
  if (o == "xor") return a ^ b;
  if (o == "inc") return a >= b ? 0 : a + 1;
  if (o == "dec") return a == 0 || a > b ? b : a - 1;
  return b; // exch
}

// f32 in global memory flushes subnormal values, in shared memory it does not.
u64 float_sum(const Format& format, bool flush, u64 a, u64 b, u64 found, bool any_nan) {
  const Exact total =
    sum(decode(a, format, flush).exact(), decode(b, format, flush).exact(), Rounding::kNearest);
  const u64 result = finished(encode(total, format, Rounding::kNearest), format, {flush});
  return with_found_nan(result, found, format, any_nan);
}

} // namespace

Evaluate atomic_model(const Form& form, const Words& words) {
  if (words.opcode() != "atom" && words.opcode() != "red") return nullptr;
  if (words.last() == "warp") return nullptr;
  std::string type = words.last();
  const bool pair = type.ends_with("x2"), is_red = words.opcode() == "red";
  if (pair) type.resize(type.size() - 2);
  const Format* format = format_named(type);
  const std::string& operation = words[2];
  const bool half_cas = type == "b16", flush = type == "f32" && words.has("global");
  return [=, compares = form.operands.size() == 3](Thread& t) {
    const u64 a = half_cas ? t.in[0] & 1 : t.in[0], b = half_cas ? t.in[1] & 1 : t.in[1];
    t.out[0] = is_red ? b : a;
    if (compares) {
      t.out[1] = a == b ? t.in[2] : a;
    } else if (format == nullptr) {
      t.out[1] = integer_result(operation, type, a, b);
    } else if (!pair) {
      t.out[1] = float_sum(*format, flush, a, b, t.found[1], type == "f64");
    } else {
      t.out[1] = float_sum(*format, flush, a & 0xffff, b & 0xffff, 0, false) |
                 float_sum(*format, flush, a >> 16, b >> 16, 0, false) << 16;
    }
  };
}

} // namespace gmt::forms::model
