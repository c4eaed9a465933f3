// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers in all widths, and sums of products.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

void add_type(List& list, const Type& type) {
  const Values v = type.values;
  const std::string end = std::string(".") + type.name;
  for (const char* opcode : {"add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"})
    list.add(opcode + end, v, {v, v});
  for (const char* opcode : {"mad.lo", "mad.hi", "sad"}) list.add(opcode + end, v, {v, v, v});
  if (size_of(v) < 8) {
    list.add("mul.wide" + end, twice(v), {v, v});
    list.add("mad.wide" + end, twice(v), {v, v, twice(v)});
  }
  if (is_signed(type)) {
    list.add("abs" + end, v, {v});
    list.add("neg" + end, v, {v});
  }
}

void add_dot_products(List& list) {
  const Values v = Values::kBits32;
  for (const char* a : {".u32", ".s32"}) {
    for (const char* b : {".u32", ".s32"}) {
      for (const char* opcode : {"dp4a", "dp2a.lo", "dp2a.hi"})
        list.add(std::string(opcode) + a + b, v, {v, v, v});
    }
  }
}

} // namespace

std::vector<Form> integer_forms() {
  List list;
  const Values v = Values::kBits32;
  for (const Type& type : kIntegers) add_type(list, type);
  list.add("add.sat.s32", v, {v, v});
  list.add("sub.sat.s32", v, {v, v});
  list.add("mad.hi.sat.s32", v, {v, v, v});
  for (const char* end : {".u32", ".s32"}) {
    for (const char* half : {".lo", ".hi"}) {
      list.add(std::string("mul24") + half + end, v, {v, v});
      list.add(std::string("mad24") + half + end, v, {v, v, v});
    }
  }
  list.add("mad24.hi.sat.s32", v, {v, v, v});
  for (const char* opcode : {"add", "min", "max"}) {
    for (const char* end : {".u16x2", ".s16x2"}) list.add(std::string(opcode) + end, v, {v, v});
  }
  for (const char* opcode : {"min.relu", "max.relu"}) {
    list.add(std::string(opcode) + ".s32", v, {v, v});
    list.add(std::string(opcode) + ".s16x2", v, {v, v});
  }
  add_dot_products(list);
  return list.take();
}

} // namespace gmt::forms
