// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, fields of bits, permutations, choices and moves.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr Values kWord = Values::kBits32;

void add_logic(List& list) {
  for (const Type& type : kBitTypes) {
    const std::string end = std::string(".") + type.name;
    const Values v = type.values;
    for (const char* opcode : {"and", "or", "xor"}) list.add(opcode + end, v, {v, v});
    list.add("not" + end, v, {v});
    list.add("cnot" + end, v, {v});
    list.add("shl" + end, v, {v, Values::kCount});
    list.add("shr" + end, v, {v, Values::kCount});
    if (v == Values::kBits16) continue;
    list.add("popc" + end, kWord, {v});
    list.add("clz" + end, kWord, {v});
    list.add("brev" + end, v, {v});
    list.add("bfi" + end, v, {v, v, Values::kCount, Values::kCount});
  }
  for (const Type& type : kIntegers) {
    const std::string end = std::string(".") + type.name;
    const Values v = type.values;
    list.add("shr" + end, v, {v, Values::kCount});
    if (v == Values::kBits16) continue;
    list.add("bfe" + end, v, {v, Values::kCount, Values::kCount});
    list.add("bfind" + end, kWord, {v});
    list.add("bfind.shiftamt" + end, kWord, {v});
  }
  const char* test = "setp.ne.u32 %p, %a, 0;\nsetp.ne.u32 %q, %b, 0;\n";
  for (const char* opcode : {"and", "or", "xor"}) {
    list
      .add_body(std::string(opcode) + ".pred",
                std::string(test) + opcode + ".pred %r, %p, %q;\nselp.u32 %d, 1, 0, %r;", {kWord},
                {Values::kFlag, Values::kFlag})
      .count = kBlock;
  }
  list
    .add_body("not.pred", std::string(test) + "not.pred %r, %p;\nselp.u32 %d, 1, 0, %r;", {kWord},
              {Values::kFlag, Values::kFlag})
    .count = kBlock;
  list
    .add_body("mov.pred", std::string(test) + "mov.pred %r, %p;\nselp.u32 %d, 1, 0, %r;", {kWord},
              {Values::kFlag, Values::kFlag})
    .count = kBlock;
}

void add_fields(List& list) {
  for (const char* mode : {".clamp", ".wrap"}) {
    const std::string m = mode;
    list.add("bmsk" + m + ".b32", kWord, {Values::kCount, Values::kCount});
    list.add("szext" + m + ".u32", kWord, {kWord, Values::kCount});
    list.add("szext" + m + ".s32", kWord, {kWord, Values::kCount});
    list.add("shf.l" + m + ".b32", kWord, {kWord, kWord, Values::kCount});
    list.add("shf.r" + m + ".b32", kWord, {kWord, kWord, Values::kCount});
  }
  for (const char* mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"})
    list.add(std::string("prmt.b32") + mode, kWord, {kWord, kWord, kWord});
  list.add("fns.b32", kWord, {kWord, Values::kCount, kWord});
  list.add_body("fns.b32 small",
                "and.b32 %b, %b, 31;\nbfe.s32 %t, %c, 0, 4;\nfns.b32 %d, %a, %b, %t;", {kWord},
                {kWord, kWord, kWord});
  for (unsigned table = 0; table < 256; ++table) {
    const std::string immediate = std::to_string(table);
    list
      .add_body("lop3.b32 " + immediate, "lop3.b32 %d, %a, %b, %c, " + immediate + ";", {kWord},
                {kWord, kWord, kWord})
      .count = kBlock;
  }
  for (const char* join : {"and", "or"}) {
    list.add_body(std::string("lop3.") + join + ".b32",
                  std::string("setp.ne.u32 %q, %e, 0;\nlop3.") + join +
                    ".b32 %d|%p, %a, %b, %c, 0x96, %q;\nselp.u32 %f, 1, 0, %p;",
                  {kWord, kWord}, {kWord, kWord, kWord, Values::kFlag});
  }
}

void add_choices(List& list) {
  constexpr Type kTypes[] = {
    {"b16", Values::kBits16}, {"u16", Values::kBits16}, {"s16", Values::kBits16},
    {"b32", Values::kBits32}, {"u32", Values::kBits32}, {"s32", Values::kBits32},
    {"f32", Values::kF32},    {"b64", Values::kBits64}, {"u64", Values::kBits64},
    {"s64", Values::kBits64}, {"f64", Values::kF64}};
  for (const Type& type : kTypes) {
    const Values v = type.values;
    const std::string end = std::string(".") + type.name;
    list
      .add_body("selp" + end, "setp.ne.u32 %p, %c, 0;\nselp" + end + " %d, %a, %b, %p;", {v},
                {v, v, Values::kFlag})
      .count = kBlock;
    list.add("slct" + end + ".s32", v, {v, v, kWord}).count = 1024;
    list.add("slct" + end + ".f32", v, {v, v, Values::kF32}).count = 1024;
    list.add("slct.ftz" + end + ".f32", v, {v, v, Values::kF32}).count = 1024;
  }
}

void add_moves(List& list) {
  const Values half = Values::kBits16, wide = Values::kBits64;
  list.add_body("mov.b32 of halves", "mov.b32 %d, {%a, %b};", {kWord}, {half, half}).count = 1024;
  list.add_body("mov.b32 to halves", "mov.b32 {%d, %f}, %a;", {half, half}, {kWord}).count = 1024;
  list.add_body("mov.b64 of words", "mov.b64 %d, {%a, %b};", {wide}, {kWord, kWord}).count = 1024;
  list.add_body("mov.b64 to words", "mov.b64 {%d, %f}, %a;", {kWord, kWord}, {wide}).count = 1024;
  list
    .add_body("mov.b64 of halves", "mov.b64 %d, {%a, %b, %c, %e};", {wide},
              {half, half, half, half})
    .count = 1024;
  list.add_body("mov.b64 to halves", "mov.b64 {%d, %f, %g, %h}, %a;", {half, half, half}, {wide})
    .count = 1024;
}

void add_wide_move(List& list) {
  const Values v = Values::kBits64;
  Form& form = list.add_body("mov.b128",
                             "{ .reg .b128 %o, %s;\nmov.b128 %o, {%a, %b};\nmov.b128 %s, %o;\n"
                             "mov.b128 {%f, %d}, %s; }",
                             {v, v}, {v, v});
  form.count = 1024;
}

} // namespace

std::vector<Form> bit_forms() {
  List list;
  add_logic(list);
  add_fields(list);
  add_choices(list);
  add_moves(list);
  add_wide_move(list);
  return list.take();
}

} // namespace gmt::forms
