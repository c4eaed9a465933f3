// SPDX-License-Identifier: Apache-2.0
// Conversions between integers, and from floating-point to integers. Values of 8 bits lie in wider
// registers, whose other bits a conversion does not read and does write.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr Type kAllIntegers[] = {{"u8", Values::kBits16},  {"s8", Values::kBits16},
                                 {"u16", Values::kBits16}, {"s16", Values::kBits16},
                                 {"u32", Values::kBits32}, {"s32", Values::kBits32},
                                 {"u64", Values::kBits64}, {"s64", Values::kBits64}};
constexpr Type kFloats[] = {
  {"f16", Values::kF16}, {"bf16", Values::kBf16}, {"f32", Values::kF32}, {"f64", Values::kF64}};

int bits_of(const Type& type) { return std::stoi(type.name + 1); }

// Whether each value of `from` is one of `to`: PTX has no .sat there.
bool holds(const Type& to, const Type& from) {
  if (is_signed(to) == is_signed(from)) return bits_of(to) >= bits_of(from);
  return is_signed(to) && bits_of(to) > bits_of(from);
}

} // namespace

std::vector<Form> convert_forms() {
  List list;
  for (const Type& to : kAllIntegers) {
    const std::string end = std::string(".") + to.name + ".";
    for (const Type& from : kAllIntegers) {
      list.add("cvt" + end + from.name, to.values, {from.values}).count = 2048;
      if (!holds(to, from))
        list.add("cvt.sat" + end + from.name, to.values, {from.values}).count = 2048;
    }
    for (const Type& from : kFloats) {
      const bool brain = from.values == Values::kBf16; // not to 8 bits, and not saturated
      if (brain && bits_of(to) == 8) continue;
      for (const char* mode : {".rni", ".rzi", ".rmi", ".rpi"}) {
        for (const std::string flush : {"", ".ftz"}) {
          if (!flush.empty() && from.values != Values::kF32) continue;
          const std::string start = "cvt" + (mode + flush);
          list.add(start + end + from.name, to.values, {from.values});
          if (!brain)
            list.add(start + ".sat" + end + from.name, to.values, {from.values}).count = 2048;
        }
      }
    }
  }
  // Results of fewer bits in a wider register are extended.
  for (const char* to : {"u8", "s8", "u16", "s16"}) {
    for (const Type& from : {kAllIntegers[4], kAllIntegers[5], kAllIntegers[6], kFloats[2]}) {
      const std::string name =
        std::string(from.name[0] == 'f' ? "cvt.rzi." : "cvt.") + to + "." + from.name;
      list.add_body(name + " to 32 bits", name + " %d, %a;", {Values::kBits32}, {from.values})
        .count = 2048;
    }
  }
  for (const char* form : {"cvt.pack.sat.u16.s32", "cvt.pack.sat.s16.s32"})
    list.add(form, Values::kBits32, {Values::kBits32, Values::kBits32});
  for (const char* form :
       {"cvt.pack.sat.u8.s32.b32", "cvt.pack.sat.s8.s32.b32", "cvt.pack.sat.u4.s32.b32",
        "cvt.pack.sat.s4.s32.b32", "cvt.pack.sat.u2.s32.b32", "cvt.pack.sat.s2.s32.b32"})
    list.add(form, Values::kBits32, {Values::kBits32, Values::kBits32, Values::kBits32});
  return list.take();
}

} // namespace gmt::forms
