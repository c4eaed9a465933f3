// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f32 and f64 in all rounding modes.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr std::uint32_t kMany = 8192; // rounding has many cases

void add_arithmetic(List& list, const std::string& words, const std::string& end, Values v) {
  for (const char* opcode : {"add", "sub", "mul"})
    list.add(opcode + words + end, v, {v, v}).count = kMany;
}

void add_single_roundings(List& list, const std::string& flush, const std::string& saturate) {
  const Values v = Values::kF32;
  for (const char* rounding : kRoundings) {
    const std::string words = rounding + flush + saturate;
    add_arithmetic(list, words, ".f32", v);
    list.add("fma" + words + ".f32", v, {v, v, v}).count = kMany;
    list.add("mad" + words + ".f32", v, {v, v, v}).count = kMany;
    if (!saturate.empty()) continue;
    list.add("div" + words + ".f32", v, {v, v}).count = kMany;
    list.add("rcp" + words + ".f32", v, {v}).count = kMany;
    list.add("sqrt" + words + ".f32", v, {v}).count = kMany;
  }
  add_arithmetic(list, flush + saturate, ".f32", v);
}

} // namespace

std::vector<Form> single_forms() {
  List list;
  const Values v = Values::kF32;
  for (const std::string flush : {"", ".ftz"}) {
    for (const std::string saturate : {"", ".sat"}) add_single_roundings(list, flush, saturate);
    list.add("abs" + flush + ".f32", v, {v});
    list.add("neg" + flush + ".f32", v, {v});
    for (const char* opcode : {"min", "max"}) {
      for (const char* words : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
        list.add(opcode + flush + words + ".f32", v, {v, v});
    }
  }
  list.add("copysign.f32", v, {v, v});
  return list.take();
}

std::vector<Form> double_forms() {
  List list;
  const Values v = Values::kF64;
  for (const std::string rounding : kRoundings) {
    add_arithmetic(list, rounding, ".f64", v);
    list.add("fma" + rounding + ".f64", v, {v, v, v}).count = kMany;
    list.add("mad" + rounding + ".f64", v, {v, v, v}).count = kMany;
    list.add("div" + rounding + ".f64", v, {v, v}).count = kMany;
    list.add("rcp" + rounding + ".f64", v, {v}).count = kMany;
    list.add("sqrt" + rounding + ".f64", v, {v}).count = kMany;
  }
  add_arithmetic(list, "", ".f64", v);
  for (const char* opcode : {"min", "max", "copysign"})
    list.add(std::string(opcode) + ".f64", v, {v, v});
  list.add("abs.f64", v, {v});
  list.add("neg.f64", v, {v});
  return list.take();
}

} // namespace gmt::forms
