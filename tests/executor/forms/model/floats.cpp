// SPDX-License-Identifier: Apache-2.0
// Arithmetic of floating-point: exact, then rounded once, flushed and saturated.
#include "tests/executor/forms/model/floats.h"
#include "tests/executor/forms/model/exact.h"

namespace gmt::forms::model {

using u64 = std::uint64_t;

Rounding rounding_of(const Words& words) {
  if (words.has("rz") || words.has("rzi")) return Rounding::kZero;
  if (words.has("rm") || words.has("rmi")) return Rounding::kDown;
  if (words.has("rp") || words.has("rpi")) return Rounding::kUp;
  return words.has("rna") ? Rounding::kNearestAway : Rounding::kNearest;
}

bool is_nan(u64 pattern, const Format& format) {
  return decode(pattern, format).kind == Kind::kNan;
}

bool is_subnormal(u64 pattern, const Format& format) {
  return (pattern & (format.sign() - 1)) >> format.fraction_bits == 0;
}

std::uint64_t finished(u64 pattern, const Format& format, const Finish& finish) {
  const bool negative = (pattern & format.sign()) != 0;
  if (finish.flush && is_subnormal(pattern, format)) pattern &= format.sign();
  if (finish.saturate) {
    if (is_nan(pattern, format) || negative) return 0;
    return std::min(pattern, format.one());
  }
  if (finish.relu && negative && !is_nan(pattern, format)) return 0;
  return pattern;
}

std::uint64_t with_found_nan(u64 expected, u64 found, const Format& format, bool any_nan) {
  return any_nan && is_nan(expected, format) && is_nan(found, format) ? found : expected;
}

namespace {

struct Operation {
  std::string opcode;
  const Format* format;
  Rounding rounding;
  Finish finish;
  bool keep_nan, sign_of_product, approximate, full, out_of_bounds;
};
constexpr u64 kNoElement = 0x7ff7;

u64 extreme(const Operation& o, u64 a, u64 b) {
  const Format& f = *o.format;
  u64 sign = 0;
  if (o.sign_of_product) {
    sign = (a ^ b) & f.sign();
    a &= f.sign() - 1;
    b &= f.sign() - 1;
  }
  if (o.finish.flush && is_subnormal(a, f)) a &= f.sign();
  if (o.finish.flush && is_subnormal(b, f)) b &= f.sign();
  const bool nan_a = is_nan(a, f), nan_b = is_nan(b, f);
  u64 result = 0;
  if ((nan_a && nan_b) || (o.keep_nan && (nan_a || nan_b))) {
    result = f.nan;
  } else if (nan_a || nan_b) {
    result = nan_a ? b : a;
  } else {
    // Patterns as integers that are ordered as their values are, -0 before +0
    const auto order = [&](u64 p) {
      const auto magnitude = static_cast<std::int64_t>(p & (f.sign() - 1));
      return (p & f.sign()) != 0 ? -magnitude - 1 : magnitude;
    };
    const bool a_first = order(a) <= order(b);
    result = a_first == (o.opcode == "min") ? a : b;
  }
  return o.sign_of_product && !is_nan(result, f) ? (result & (f.sign() - 1)) | sign : result;
}

// div.approx: PTX gives 0 for a divisor whose magnitude lies between 2^126 and 2^128.
bool without_reciprocal(const Operation& o, const Stored& b) {
  if (!o.approximate || o.full || b.kind != Kind::kFinite) return false;
  return b.exact().magnitude.compare(Big::of(1, 126)) > 0;
}

u64 arithmetic(const Operation& o, const u64* in) {
  const Format& f = *o.format;
  const Stored a = decode(in[0], f, o.finish.flush);
  const Stored b = decode(in[1], f, o.finish.flush);
  Exact result;
  if (o.opcode == "add" || o.opcode == "sub") {
    Stored second = b;
    if (o.opcode == "sub") second.negative = !second.negative;
    result = sum(a.exact(), second.exact(), o.rounding);
  } else if (o.opcode == "mul") {
    result = product(a, b);
  } else if (o.opcode == "fma" || o.opcode == "mad") {
    result = sum(product(a, b), decode(in[2], f, o.finish.flush).exact(), o.rounding);
  } else if (o.opcode == "div") {
    result = quotient(a, without_reciprocal(o, b) ? decode(f.infinity(), f) : b);
  } else if (o.opcode == "rcp") {
    result = quotient(decode(f.one(), f), a);
  } else {
    result = root(a);
  }
  u64 pattern = encode(result, f, o.rounding);
  // A GPU flushes what is tiny, though the pattern may be that of the smallest normal number
  if (o.finish.flush && is_tiny(result, f, o.rounding)) pattern &= f.sign();
  return finished(pattern, f, o.finish);
}

// PTX has one NaN of f32 and halves. It leaves open which NaN of f64 remains: a GPU makes one of
// the operands quiet, or gives the default NaN where none is one.
u64 nan_of(const Operation& o, const u64* in) {
  const Format& f = *o.format;
  if (o.format->fraction_bits != 52) return f.nan;
  const u64 quiet = u64{1} << (f.fraction_bits - 1);
  const bool three = o.opcode == "fma" || o.opcode == "mad";
  const bool one =
    o.opcode == "rcp" || o.opcode == "sqrt" || o.opcode == "abs" || o.opcode == "neg";
  std::vector<u64> order = {in[0]};
  if (o.opcode == "div") order = {in[0], in[1]};
  else if (three) order = {in[1], in[2], in[0]};
  else if (!one) order = {in[1], in[0]}; // with one operand there is no second word
  for (const u64 operand : order) {
    if (is_nan(operand, f)) return operand | quiet;
  }
  return f.sign() | f.infinity() | quiet;
}

u64 of_sign(const Operation& o, u64 a, u64 b) {
  const Format& f = *o.format;
  if (o.opcode != "copysign" && is_nan(a, f)) return nan_of(o, &a);
  if (o.finish.flush && is_subnormal(a, f)) a &= f.sign();
  if (o.opcode == "abs") return a & (f.sign() - 1);
  if (o.opcode == "neg") return a ^ f.sign();
  return (a & f.sign()) | (b & (f.sign() - 1)); // copysign
}

u64 compute(const Operation& o, const u64* in, u64 found) {
  const Format& f = *o.format;
  if (o.opcode == "abs" || o.opcode == "neg" || o.opcode == "copysign")
    return of_sign(o, in[0], in[1]);
  // A NaN that the copy of a tensor left where there was no element makes the result 0
  if (o.out_of_bounds && (in[0] == kNoElement || in[1] == kNoElement)) return 0;
  const u64 result =
    o.opcode == "min" || o.opcode == "max" ? extreme(o, in[0], in[1]) : arithmetic(o, in);
  if (o.approximate) return with_found_nan(result, found, f, true);
  return is_nan(result, f) ? nan_of(o, in) : result;
}

} // namespace

Evaluate float_model(const Form& form, const Words& words) {
  static const std::string kOpcodes = " add sub mul fma mad div rcp sqrt min max abs neg copysign ";
  if (kOpcodes.find(" " + words.opcode() + " ") == std::string::npos) return nullptr;
  std::string type = words.last();
  const bool pair = type.ends_with("x2");
  if (pair) type.resize(type.size() - 2);
  const Format* format = format_named(type);
  if (format == nullptr) return nullptr;
  const Operation o{words.opcode(),     format,
                    rounding_of(words), {words.has("ftz"), words.has("sat"), words.has("relu")},
                    words.has("NaN"),   words.has("xorsign"),
                    form.ulps != 0,     words.has("full"),
                    words.has("oob")};
  const std::size_t operands = form.operands.size();
  const bool upper = form.name == "rcp.approx.ftz.f64"; // looks at the upper word alone
  return [=](Thread& t) {
    if (upper) t.in[0] &= 0xffffffff00000000;
    if (!pair) {
      t.out[0] = compute(o, t.in, t.found[0]);
      return;
    }
    for (int half = 0; half < 2; ++half) {
      u64 in[kMostOperands] = {};
      for (std::size_t k = 0; k < operands; ++k) in[k] = t.in[k] >> (16 * half) & 0xffff;
      t.out[0] |= compute(o, in, t.found[0] >> (16 * half) & 0xffff) << (16 * half);
    }
  };
}

} // namespace gmt::forms::model
