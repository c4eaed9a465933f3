// SPDX-License-Identifier: Apache-2.0
// Conversions to floating-point: from integers, and between its formats.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr Type kSources[] = {{"u8", Values::kBits16},  {"s8", Values::kBits16},
                             {"u16", Values::kBits16}, {"s16", Values::kBits16},
                             {"u32", Values::kBits32}, {"s32", Values::kBits32},
                             {"u64", Values::kBits64}, {"s64", Values::kBits64}};
constexpr Type kF16{"f16", Values::kF16}, kBf16{"bf16", Values::kBf16}, kF32{"f32", Values::kF32},
  kF64{"f64", Values::kF64};

void add_from_integers(List& list, const Type& to) {
  for (const Type& from : kSources) {
    if (to.values == Values::kBf16 && from.name[1] == '8') continue;
    const std::string end = std::string(".") + to.name + "." + from.name;
    for (const std::string rounding : kRoundings) {
      list.add("cvt" + rounding + end, to.values, {from.values});
      if (to.values != Values::kBf16)
        list.add("cvt" + rounding + ".sat" + end, to.values, {from.values}).count = 1024;
    }
  }
}

// All modes of a conversion that loses bits.
void add_narrowing(List& list, const Type& to, const Type& from, bool flushes, bool saturates) {
  const std::string end = std::string(".") + to.name + "." + from.name;
  for (const std::string rounding : kRoundings) {
    for (const std::string flush : {"", ".ftz"}) {
      if (!flush.empty() && !flushes) continue;
      list.add("cvt" + rounding + flush + end, to.values, {from.values}).count = 8192;
      if (saturates) list.add("cvt" + rounding + flush + ".sat" + end, to.values, {from.values});
    }
  }
}

void add_exact(List& list, const Type& to, const Type& from, bool flushes, bool saturates) {
  const std::string end = std::string(".") + to.name + "." + from.name;
  for (const std::string flush : {"", ".ftz"}) {
    if (!flush.empty() && !flushes) continue;
    list.add("cvt" + flush + end, to.values, {from.values}).count = 8192;
    if (saturates) list.add("cvt" + flush + ".sat" + end, to.values, {from.values});
  }
}

void add_integral(List& list, const Type& type, bool flushes, bool saturates) {
  const std::string end = std::string(".") + type.name + "." + type.name;
  for (const std::string mode : {"", ".rni", ".rzi", ".rmi", ".rpi"}) {
    for (const std::string flush : {"", ".ftz"}) {
      if (!flush.empty() && !flushes) continue;
      list.add("cvt" + mode + flush + end, type.values, {type.values});
      if (saturates) list.add("cvt" + mode + flush + ".sat" + end, type.values, {type.values});
    }
  }
}

void add_pairs(List& list) {
  const Values f = Values::kF32;
  for (const Type& half : {kF16, kBf16}) {
    const Values pair = half.values == Values::kF16 ? Values::kF16x2 : Values::kBf16x2;
    const std::string end = std::string(".") + half.name;
    for (const std::string mode : {".rn", ".rz"}) {
      for (const std::string words : {"", ".relu", ".satfinite", ".relu.satfinite"}) {
        if (!words.empty()) list.add("cvt" + mode + words + end + ".f32", half.values, {f});
        list.add("cvt" + mode + words + end + "x2.f32", pair, {f, f});
      }
    }
  }
}

// Formats of 8 bits come in pairs.
void add_bytes(List& list) {
  for (const std::string format : {".e4m3x2", ".e5m2x2"}) {
    for (const std::string relu : {"", ".relu"}) {
      list.add("cvt.rn.satfinite" + relu + format + ".f32", Values::kBits16,
               {Values::kF32, Values::kF32});
      list.add("cvt.rn.satfinite" + relu + format + ".f16x2", Values::kBits16, {Values::kF16x2});
      list.add("cvt.rn" + relu + ".f16x2" + format, Values::kF16x2, {Values::kBits16}).count = 8192;
    }
  }
}

} // namespace

std::vector<Form> convert_float_forms() {
  List list;
  for (const Type& to : {kF16, kBf16, kF32, kF64}) add_from_integers(list, to);
  add_narrowing(list, kF32, kF64, true, true);
  add_narrowing(list, kF16, kF32, true, true);
  add_narrowing(list, kF16, kF64, false, true);
  add_narrowing(list, kBf16, kF32, false, false);
  add_narrowing(list, kBf16, kF64, false, false);
  add_narrowing(list, kBf16, kF16, false, false);
  add_narrowing(list, kF16, kBf16, false, false);
  add_exact(list, kF32, kF16, true, true);
  add_exact(list, kF64, kF16, false, true);
  add_exact(list, kF64, kF32, true, true);
  add_exact(list, kF32, kBf16, true, false);
  add_exact(list, kF64, kBf16, false, false);
  add_integral(list, kF16, false, true);
  add_integral(list, kBf16, false, false);
  add_integral(list, kF32, true, true);
  add_integral(list, kF64, false, true);
  add_pairs(list);
  for (const char* mode : {".rna", ".rn", ".rz", ".rn.relu", ".rz.relu", ".rna.satfinite"})
    list.add(std::string("cvt") + mode + ".tf32.f32", Values::kBits32, {Values::kF32}).count = 8192;
  add_bytes(list);
  return list.take();
}

} // namespace gmt::forms
