// SPDX-License-Identifier: Apache-2.0
// Atomics and reductions in global and shared memory. Each thread has a cell of its own, which
// starts with %a; results are the old and the new value. Sums of a warp in one cell depend on the
// order of its lanes.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

void add_operation(List& list, const std::string& operation, const Type& type,
                   bool compares = false) {
  const Values v = type.values;
  const std::string bits = ".b" + std::to_string(8 * size_of(v));
  for (const std::string space : {".global", ".shared"}) {
    const std::string cell = space == ".global" ? "[%cell]" : "[%own]";
    const std::string end = space + "." + operation + "." + type.name;
    const std::string start = "st" + space + bits + " " + cell + ", %a;\n";
    const std::string load = "\nld" + space + bits + " %f, " + cell + ";";
    std::vector<Values> operands = {v, v};
    if (compares) operands.push_back(v);
    const std::string values = compares ? ", %b, %c;" : ", %b;";
    Form& atom = list.add_body("atom" + end, start + "atom" + end + " %d, " + cell + values + load,
                               {v, v}, operands);
    atom.uses_shared = true;
    atom.count = 2048;
    if (compares || operation == "exch") continue;
    // Its first result is the second operand, so that both kinds have two.
    Form& red = list.add_body(
      "red" + end, start + "red" + end + " " + cell + values + load + "\nmov" + bits + " %d, %b;",
      {v, v}, operands);
    red.uses_shared = true;
    red.count = 2048;
  }
}

// Equal operands happen often enough for cas if they are taken from few values.
void add_exchanges(List& list) {
  for (const Type& type : {Type{"b32", Values::kFew}, Type{"b64", Values::kFew64}})
    add_operation(list, "cas", type, true);
  const std::string half = "and.b16 %a, %a, 1;\nand.b16 %b, %b, 1;\n";
  for (const std::string space : {".global", ".shared"}) {
    const std::string cell = space == ".global" ? "[%cell]" : "[%own]";
    Form& form = list.add_body(
      "atom" + space + ".cas.b16",
      half + "st" + space + ".b16 " + cell + ", %a;\natom" + space + ".cas.b16 %d, " + cell +
        ", %b, %c;\nld" + space + ".b16 %f, " + cell + ";",
      {Values::kBits16, Values::kBits16}, {Values::kBits16, Values::kBits16, Values::kBits16});
    form.uses_shared = true;
    form.count = 2048;
  }
  add_operation(list, "exch", {"b32", Values::kBits32});
  add_operation(list, "exch", {"b64", Values::kBits64});
}

// All lanes of a warp add to the cell of its first lane.
void add_contended(List& list, const Type& type, double ulps) {
  const Values v = type.values;
  const std::string bits = ".b" + std::to_string(8 * size_of(v));
  const std::string size = std::to_string(size_of(v));
  Form& form =
    list.add_body(std::string("red.global.add.") + type.name + " of a warp",
                  "and.b32 %u, %lane, 31;\nmul.wide.u32 %w, %u, " + size +
                    ";\nsub.u64 %w, %cell, %w;\nst.global" + bits +
                    " [%cell], 0;\nbar.warp.sync 0xffffffff;\nred.global.add." + type.name +
                    " [%w], %a;\nbar.warp.sync 0xffffffff;\nld.volatile.global" + bits +
                    " %d, [%w];\nbar.warp.sync 0xffffffff;",
                  {v}, {type.values == Values::kF32 ? Values::kPositive : v});
  form.ulps = ulps;
  form.count = 1024;
}

} // namespace

std::vector<Form> atomic_forms() {
  List list;
  const Type u32{"u32", Values::kBits32}, s32{"s32", Values::kBits32};
  const Type u64{"u64", Values::kBits64}, s64{"s64", Values::kBits64};
  for (const Type& type : {u32, s32, u64, s64}) {
    for (const char* operation : {"min", "max"}) add_operation(list, operation, type);
  }
  for (const Type& type : {u32, s32, u64, Type{"f32", Values::kF32}, Type{"f64", Values::kF64}})
    add_operation(list, "add", type);
  for (const Type& type : {Type{"f16", Values::kF16}, Type{"bf16", Values::kBf16},
                           Type{"f16x2", Values::kF16x2}, Type{"bf16x2", Values::kBf16x2}})
    add_operation(list, "add.noftz", type);
  for (const char* operation : {"and", "or", "xor"}) {
    add_operation(list, operation, {"b32", Values::kBits32});
    add_operation(list, operation, {"b64", Values::kBits64});
  }
  add_operation(list, "inc", u32);
  add_operation(list, "dec", u32);
  add_exchanges(list);
  add_contended(list, u32, 0);
  add_contended(list, {"f32", Values::kF32}, 8);
  return list.take();
}

} // namespace gmt::forms
