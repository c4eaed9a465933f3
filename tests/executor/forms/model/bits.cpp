// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and fields, bit by bit as PTX's pseudo code has them; choices and moves.
#include "tests/executor/forms/model/model.h"

#include <cmath>
#include <cstring>
#include <map>

namespace gmt::forms::model {
namespace {

using u64 = std::uint64_t;

bool bit(u64 value, u64 index) { return index < 64 && (value >> index & 1) != 0; }

// A bit of each result bit, from the bits of the operands.
template <class Function>
u64 each_bit(int bits, Function function) {
  u64 result = 0;
  for (int i = 0; i < bits; ++i) result |= u64{function(i)} << i;
  return result;
}

u64 shifted(u64 value, int bits, u64 by, bool left, bool is_signed) {
  return each_bit(bits, [&](int i) {
    const auto at = static_cast<u64>(i);
    if (left) return at >= by && bit(value, at - by);
    if (by >= static_cast<u64>(bits) || at + by >= static_cast<u64>(bits))
      return is_signed && bit(value, static_cast<u64>(bits - 1));
    return bit(value, at + by);
  });
}

// PTX has positions and lengths up to 255. Beyond that an H200 takes the lowest 8 bits of them for
// 32 bits, and all of them for 64.
u64 of_field(u64 count, int bits) { return bits == 32 ? count & 0xff : count; }

u64 field(u64 a, int bits, u64 b, u64 c, bool is_signed) {
  const u64 from = of_field(b, bits), count = of_field(c, bits), top = static_cast<u64>(bits - 1);
  bool sign = false;
  if (is_signed && count != 0) sign = bit(a, std::min(from + count - 1, top));
  return each_bit(bits, [&](int i) {
    const auto at = static_cast<u64>(i);
    return at < count && from + at <= top ? bit(a, from + at) : sign;
  });
}

u64 inserted(u64 a, u64 b, int bits, u64 c, u64 e) {
  const u64 from = of_field(c, bits), count = of_field(e, bits);
  return each_bit(bits, [&](int i) {
    const auto at = static_cast<u64>(i);
    return at >= from && at - from < count ? bit(a, at - from) : bit(b, at);
  });
}

u64 found_first(u64 a, int bits, bool is_signed, bool amount) {
  const bool skip = is_signed && bit(a, static_cast<u64>(bits - 1));
  for (int i = bits - 1; i >= 0; --i) {
    if (bit(a, static_cast<u64>(i)) != skip) return static_cast<u64>(amount ? bits - 1 - i : i);
  }
  return 0xffffffff;
}

u64 permuted(u64 a, u64 b, u64 c, const std::string& mode) {
  static const std::map<std::string, std::string> kModes = {
    {"f4e", "0123 1234 2345 3456"}, {"b4e", "0765 1076 2107 3210"},
    {"rc8", "0000 1111 2222 3333"}, {"ecl", "0123 1123 2223 3333"},
    {"ecr", "0000 0111 0122 0123"}, {"rc16", "0101 2323 0101 2323"}};
  const u64 both = b << 32 | a;
  u64 result = 0;
  for (u64 i = 0; i < 4; ++i) {
    u64 selector = c >> (4 * i) & 15;
    const auto found = kModes.find(mode);
    if (found != kModes.end())
      selector = static_cast<u64>(found->second[static_cast<std::size_t>((c & 3) * 5 + i)] - '0');
    u64 byte = both >> (8 * (selector & 7)) & 0xff;
    if (selector >= 8) byte = byte >= 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

u64 nth_set(u64 mask, u64 base, u64 offset) {
  const std::int64_t n = as_signed(offset, 32);
  if (n == -(std::int64_t{1} << 31)) return 0; // an H200's answer: it has no -n in 32 bits
  if (base > 31) return 0xffffffff;
  if (n == 0) return bit(mask, base) ? base : 0xffffffff;
  std::int64_t seen = 0;
  for (auto at = static_cast<std::int64_t>(base); at >= 0 && at < 32; at += n > 0 ? 1 : -1) {
    if (bit(mask, static_cast<u64>(at)) && ++seen == (n > 0 ? n : -n)) return static_cast<u64>(at);
  }
  return 0xffffffff;
}

u64 funnel(u64 a, u64 b, u64 c, bool left, bool wrap) {
  const u64 by = wrap ? c & 31 : std::min<u64>(c, 32);
  const u64 both = b << 32 | a;
  return each_bit(32, [&](int i) {
    const u64 at = static_cast<u64>(i) + (left ? 32 - by : by);
    return bit(both, at);
  });
}

u64 looked_up(u64 a, u64 b, u64 c, u64 table) {
  return each_bit(32, [&](int i) {
    const auto at = static_cast<u64>(i);
    return bit(table, u64{bit(a, at)} << 2 | u64{bit(b, at)} << 1 | u64{bit(c, at)});
  });
}

Evaluate logic_model(const Words& words, int bits) {
  const std::string& o = words.opcode();
  if (o == "and") return [](Thread& t) { t.out[0] = t.in[0] & t.in[1]; };
  if (o == "or") return [](Thread& t) { t.out[0] = t.in[0] | t.in[1]; };
  if (o == "xor") return [](Thread& t) { t.out[0] = t.in[0] ^ t.in[1]; };
  if (o == "not") return [=](Thread& t) { t.out[0] = bits == 0 ? 1 - t.in[0] : ~t.in[0]; };
  if (o == "cnot") return [](Thread& t) { t.out[0] = t.in[0] == 0 ? 1 : 0; };
  if (o == "popc")
    return [](Thread& t) { t.out[0] = static_cast<u64>(__builtin_popcountll(t.in[0])); };
  if (o == "clz")
    return [=](Thread& t) {
      const u64 top = found_first(t.in[0], bits, false, true);
      t.out[0] = t.in[0] == 0 ? static_cast<u64>(bits) : top;
    };
  if (o == "brev")
    return [=](Thread& t) {
      t.out[0] =
        each_bit(bits, [&](int i) { return bit(t.in[0], static_cast<u64>(bits - 1 - i)); });
    };
  return nullptr;
}

Evaluate field_model(const Form& form, const Words& words, int bits, bool is_signed) {
  const std::string& o = words.opcode();
  const bool wrap = words.has("wrap"), amount = words.has("shiftamt");
  if (o == "shl" || o == "shr")
    return [=, left = o == "shl"](Thread& t) {
      t.out[0] = shifted(t.in[0], bits, t.in[1], left, is_signed);
    };
  if (o == "bfe")
    return [=](Thread& t) { t.out[0] = field(t.in[0], bits, t.in[1], t.in[2], is_signed); };
  if (o == "bfi")
    return [=](Thread& t) { t.out[0] = inserted(t.in[0], t.in[1], bits, t.in[2], t.in[3]); };
  if (o == "bfind")
    return [=](Thread& t) { t.out[0] = found_first(t.in[0], bits, is_signed, amount); };
  if (o == "shf")
    return [=, left = words.has("l")](Thread& t) {
      t.out[0] = funnel(t.in[0], t.in[1], t.in[2], left, wrap);
    };
  if (o == "prmt")
    return
      [=, mode = words.last()](Thread& t) { t.out[0] = permuted(t.in[0], t.in[1], t.in[2], mode); };
  if (o == "bmsk")
    return [=](Thread& t) {
      const u64 from = wrap ? t.in[0] & 31 : t.in[0], count = wrap ? t.in[1] & 31 : t.in[1];
      t.out[0] = each_bit(32, [&](int i) {
        const auto at = static_cast<u64>(i);
        return at >= from && at - from < count;
      });
    };
  if (o == "szext")
    return [=](Thread& t) {
      const u64 count = wrap ? t.in[1] & 31 : std::min<u64>(t.in[1], 32);
      t.out[0] = field(t.in[0], 32, 0, count, is_signed);
    };
  if (o == "fns" && words.last() == "small")
    return [](Thread& t) {
      t.out[0] = nth_set(t.in[0], t.in[1] & 31, static_cast<u64>(as_signed(t.in[2], 4)));
    };
  if (o == "fns") return [](Thread& t) { t.out[0] = nth_set(t.in[0], t.in[1], t.in[2]); };
  if (o == "lop3" && form.results.size() == 2)
    return [is_and = words.has("and")](Thread& t) {
      t.out[0] = looked_up(t.in[0], t.in[1], t.in[2], 0x96);
      const bool any = t.out[0] != 0, joined = t.in[3] != 0;
      t.out[1] = is_and ? any && joined : any || joined;
    };
  if (o == "lop3")
    return [table = std::stoull(words.last())](Thread& t) {
      t.out[0] = looked_up(t.in[0], t.in[1], t.in[2], table);
    };
  return nullptr;
}

// slct takes the second value for a negative number or a NaN; -0 is no negative number.
bool is_not_negative(u64 pattern, const std::string& type) {
  if (type == "s32") return as_signed(pattern, 32) >= 0;
  const u64 magnitude = pattern & 0x7fffffff;
  return magnitude == 0 || (pattern >> 31 == 0 && magnitude <= 0x7f800000);
}

Evaluate choice_model(const Words& words) {
  const std::string& o = words.opcode();
  if (o == "selp") return [](Thread& t) { t.out[0] = t.in[2] != 0 ? t.in[0] : t.in[1]; };
  if (o != "slct") return nullptr;
  return [type = words.last(), flushes = words.has("ftz")](Thread& t) {
    u64 c = t.in[2];
    if (flushes && (c & 0x7f800000) == 0) c &= 0x80000000;
    t.out[0] = is_not_negative(c, type) ? t.in[0] : t.in[1];
  };
}

Evaluate move_model(const Form& form, const Words& words) {
  if (words.opcode() != "mov") return nullptr;
  if (words.has("pred")) return [](Thread& t) { t.out[0] = t.in[0]; };
  if (words.has("b128"))
    return [](Thread& t) {
      t.out[0] = t.in[1];
      t.out[1] = t.in[0];
    };
  const int part = words.has("words") ? 32 : 16;
  return [=, parts = form.operands.size(), results = form.results.size()](Thread& t) {
    u64 whole = t.in[0];
    for (std::size_t k = 1; k < parts; ++k) whole |= t.in[k] << (part * static_cast<int>(k));
    t.out[0] = whole;
    for (std::size_t k = 1; k < results; ++k) t.out[k] = whole >> (part * static_cast<int>(k));
  };
}

} // namespace

Evaluate bit_model(const Form& form, const Words& words) {
  std::string type = words.last();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (bits_of(words[i]) >= 8 && std::string("bus").find(words[i][0]) != std::string::npos)
      type = words[i];
  }
  const int bits = bits_of(type);
  if (words.opcode() == "fma" || words.opcode() == "mad") return nullptr;
  if (Evaluate found = logic_model(words, bits)) return found;
  if (Evaluate found = field_model(form, words, bits, type[0] == 's')) return found;
  if (Evaluate found = choice_model(words)) return found;
  return move_model(form, words);
}

} // namespace gmt::forms::model
