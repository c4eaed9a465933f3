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

// PTX leaves open which NaN of f64 remains. In global memory a GPU keeps the operand's bits before
// the cell's. In shared memory it adds as add does, with the cell first.
u64 nan_of_sum(const Format& format, bool is_global, u64 a, u64 b) {
  if (format.fraction_bits != 52) return format.nan;
  const u64 quiet = u64{1} << (format.fraction_bits - 1);
  if (is_global && is_nan(b, format)) return b;
  if (is_nan(a, format)) return is_global ? a : a | quiet;
  return is_nan(b, format) ? b | quiet : format.sign() | format.infinity() | quiet;
}

// f32 in global memory flushes subnormal values, in shared memory it does not.
u64 float_sum(const Format& format, bool flush, bool is_global, u64 a, u64 b) {
  const Exact total =
    sum(decode(a, format, flush).exact(), decode(b, format, flush).exact(), Rounding::kNearest);
  if (total.kind == Kind::kNan) return nan_of_sum(format, is_global, a, b);
  return finished(encode(total, format, Rounding::kNearest), format, {flush});
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
  const bool half_cas = type == "b16", is_global = words.has("global");
  const bool flush = type == "f32" && is_global;
  return [=, compares = form.operands.size() == 3](Thread& t) {
    const u64 a = half_cas ? t.in[0] & 1 : t.in[0], b = half_cas ? t.in[1] & 1 : t.in[1];
    t.out[0] = is_red ? b : a;
    if (compares) {
      t.out[1] = a == b ? t.in[2] : a;
    } else if (format == nullptr) {
      t.out[1] = integer_result(operation, type, a, b);
    } else if (!pair) {
      t.out[1] = float_sum(*format, flush, is_global, a, b);
    } else {
      t.out[1] = float_sum(*format, flush, is_global, a & 0xffff, b & 0xffff) |
                 float_sum(*format, flush, is_global, a >> 16, b >> 16) << 16;
    }
  };
}

} // namespace gmt::forms::model
