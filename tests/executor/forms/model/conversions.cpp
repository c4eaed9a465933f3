// SPDX-License-Identifier: Apache-2.0
// cvt: any value becomes an exact one, and that is rounded to the format of the result.
#include "tests/executor/forms/model/floats.h"

namespace gmt::forms::model {
namespace {

using u64 = std::uint64_t;

bool is_integer(const std::string& type) { return type[0] == 'u' || type[0] == 's'; }

Stored stored_integer(u64 pattern, const std::string& type) {
  const int bits = bits_of(type);
  if (type[0] == 'u') return integer(low_bits(pattern, bits), false);
  const std::int64_t value = as_signed(pattern, bits);
  return integer(value < 0 ? -static_cast<u64>(value) : static_cast<u64>(value), value < 0);
}

// To an integer: what is outside its range becomes the nearest end. NaN is left open where a result
// or a source has 64 bits, which GPUs answer otherwise than 0.
u64 to_integer(const Exact& value, const std::string& to, Rounding rounding, u64 found, bool wide) {
  if (value.kind == Kind::kNan) return wide ? found : 0;
  const int bits = bits_of(to);
  bool overflows = false;
  const u64 magnitude = rounded_integer(value, rounding, &overflows);
  if (to[0] == 'u') {
    if (value.negative) return 0;
    const u64 most = low_bits(~u64{0}, bits);
    return overflows || magnitude > most ? most : magnitude;
  }
  const u64 limit = u64{1} << (bits - 1);
  if (value.negative) return overflows || magnitude > limit ? -limit : -magnitude;
  return overflows || magnitude >= limit ? limit - 1 : magnitude;
}

struct Conversion {
  std::string to, from;
  Rounding rounding;
  Finish finish;
  bool finite, integral, away;
};

// What becomes of a NaN where PTX leaves it open, as a GPU has it. Formats that share their
// exponent move its bits; a double gives its upper bits and becomes quiet; flushing makes it f32's
// one NaN.
u64 nan_of(const Conversion& c, u64 pattern, const Format& source, const Format& target) {
  const bool plain = !c.finish.flush && !c.finish.saturate && !c.integral;
  const bool moves = plain && ((c.to == "f32" && (c.from == "f32" || c.from == "bf16")) ||
                               (c.to == "f64" && c.from == "f64"));
  const bool cuts = c.to == "tf32" && c.away;
  if (c.finish.saturate) return 0;
  if (c.to == "f64" && c.finish.flush) pattern = source.nan;
  if (c.from != "f64" && c.to != "f64" && !moves && !cuts) return target.nan;
  const int more = target.fraction_bits - source.fraction_bits;
  const u64 fraction = pattern & ((u64{1} << source.fraction_bits) - 1);
  u64 nan = target.infinity() | (more >= 0 ? fraction << more : fraction >> -more);
  if ((pattern & source.sign()) != 0) nan |= target.sign();
  if (!moves && !cuts) nan |= u64{1} << (target.fraction_bits - 1);
  return cuts && c.finite ? nan - 1 : nan;
}

u64 convert(const Conversion& c, u64 pattern, u64 found) {
  const Format* source = format_named(c.from);
  const Format* target = format_named(c.to);
  const bool flush_in = c.finish.flush && c.from == "f32" && c.to != "f16"; // as GPUs do
  const Stored stored =
    source != nullptr ? decode(pattern, *source, flush_in) : stored_integer(pattern, c.from);
  if (target == nullptr && source == nullptr) {
    if (c.finish.saturate) return to_integer(stored.exact(), c.to, c.rounding, 0, false);
    return stored.negative ? -stored.mantissa : stored.mantissa;
  }
  if (target == nullptr)
    return to_integer(stored.exact(), c.to, c.rounding, found,
                      bits_of(c.to) == 64 || bits_of(c.from) == 64);
  Exact value = stored.exact();
  if (c.integral && value.kind == Kind::kFinite) {
    bool overflows = false;
    const u64 whole = rounded_integer(value, c.rounding, &overflows);
    if (!overflows) value.magnitude = Big::of(whole, 0); // else it has no fraction
  }
  u64 result = encode(value, *target, c.rounding, c.finite);
  const Finish finish{c.finish.flush && c.to == "f32", c.finish.saturate, c.finish.relu};
  result = finished(result, *target, finish);
  return value.kind == Kind::kNan ? nan_of(c, pattern, *source, *target) : result;
}

std::string halved(std::string type) {
  if (type.ends_with("x2")) type.resize(type.size() - 2);
  return type;
}

// Two sources of one value each, or one of two values; the first is the upper part.
Evaluate pair_model(const Conversion& c, bool two_sources, int from_bits, int to_bits) {
  return [=](Thread& t) {
    const u64 low = two_sources ? t.in[1] : low_bits(t.in[0], from_bits);
    const u64 high = two_sources ? t.in[0] : low_bits(t.in[0] >> from_bits, from_bits);
    t.out[0] = convert(c, high, t.found[0] >> to_bits) << to_bits |
               low_bits(convert(c, low, low_bits(t.found[0], to_bits)), to_bits);
  };
}

Evaluate pack_model(const Words& words) {
  const std::string& type = words[3];
  const int bits = bits_of(type);
  const bool three = words.last() == "b32";
  return [=](Thread& t) {
    const auto part = [&](u64 pattern) {
      const Exact value = stored_integer(pattern, "s32").exact();
      return low_bits(to_integer(value, type, Rounding::kZero, 0, false), bits);
    };
    t.out[0] = part(t.in[0]) << bits | part(t.in[1]);
    if (three) t.out[0] |= t.in[2] << (2 * bits);
  };
}

} // namespace

Evaluate convert_model(const Form& form, const Words& words) {
  if (words.opcode() != "cvt") return nullptr;
  if (words.has("pack")) return pack_model(words);
  const bool widened = words.last() == "bits"; // "... to 32 bits"
  const std::size_t last = words.size() - 1 - (widened ? 3 : 0);
  const std::string& to = words[last - 1];
  const std::string& from = words[last];
  Conversion c{halved(to),
               halved(from),
               rounding_of(words),
               {words.has("ftz"), words.has("sat"), words.has("relu")},
               words.has("satfinite"),
               false,
               words.has("rna")};
  for (const char* mode : {"rni", "rzi", "rmi", "rpi"}) c.integral |= words.has(mode);
  if (to.ends_with("x2"))
    return pair_model(c, form.operands.size() == 2,
                      bits_of(c.from) == 32 ? 32
                      : c.from[0] == 'e'    ? 8
                                            : 16,
                      c.to[0] == 'e' ? 8 : 16);
  if (to == "tf32") {
    return [=](Thread& t) { t.out[0] = convert(c, t.in[0], t.found[0] >> 13) << 13; };
  }
  const int bits = bits_of(to);
  return [=](Thread& t) {
    const u64 result = convert(c, t.in[0], t.found[0]);
    // A register that is wider than the integer gets its sign, or zeros.
    if (!is_integer(c.to)) t.out[0] = result;
    else
      t.out[0] =
        c.to[0] == 's' ? static_cast<u64>(as_signed(result, bits)) : low_bits(result, bits);
  };
}

} // namespace gmt::forms::model
