// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f16, bf16 and of pairs of them.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

void add_f16(List& list, const Type& type) {
  const Values v = type.values;
  const std::string end = std::string(".") + type.name;
  for (const std::string flush : {"", ".ftz"}) {
    for (const std::string saturate : {"", ".sat"}) {
      for (const char* opcode : {"add", "sub", "mul"}) {
        list.add(opcode + flush + saturate + end, v, {v, v}).count = 8192;
        list.add(opcode + (".rn" + flush) + saturate + end, v, {v, v});
      }
      list.add("fma.rn" + flush + saturate + end, v, {v, v, v}).count = 8192;
    }
    list.add("fma.rn" + flush + ".relu" + end, v, {v, v, v});
  }
}

void add_bf16(List& list, const Type& type) {
  const Values v = type.values;
  const std::string end = std::string(".") + type.name;
  for (const char* opcode : {"add", "sub", "mul"}) {
    list.add(opcode + end, v, {v, v}).count = 8192;
    list.add(std::string(opcode) + ".rn" + end, v, {v, v});
  }
  list.add("fma.rn" + end, v, {v, v, v}).count = 8192;
  list.add("fma.rn.relu" + end, v, {v, v, v});
}

void add_both(List& list, const Type& type, bool flushes) {
  const Values v = type.values;
  const std::string end = std::string(".") + type.name;
  list.add("fma.rn.oob" + end, v, {v, v, v});
  list.add("fma.rn.oob.relu" + end, v, {v, v, v});
  for (const std::string flush : {"", ".ftz"}) {
    if (!flush.empty() && !flushes) continue;
    list.add("abs" + flush + end, v, {v}).count = 8192;
    list.add("neg" + flush + end, v, {v}).count = 8192;
    for (const char* opcode : {"min", "max"}) {
      for (const char* words : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
        list.add(opcode + flush + words + end, v, {v, v});
    }
  }
}

} // namespace

std::vector<Form> half_forms() {
  List list;
  for (const Type& type : {Type{"f16", Values::kF16}, Type{"f16x2", Values::kF16x2}}) {
    add_f16(list, type);
    add_both(list, type, true);
  }
  for (const Type& type : {Type{"bf16", Values::kBf16}, Type{"bf16x2", Values::kBf16x2}}) {
    add_bf16(list, type);
    add_both(list, type, false);
  }
  return list.take();
}

} // namespace gmt::forms
