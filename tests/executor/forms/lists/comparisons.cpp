// SPDX-License-Identifier: Apache-2.0
// setp, set and testp in all comparisons, also joined with another predicate.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr Values kWord = Values::kBits32;

std::vector<const char*> comparisons(const Type& type) {
  switch (type.name[0]) {
  case 'b':
    if (type.name[1] == 'f') break;
    return {"eq", "ne"};
  case 's': return {"eq", "ne", "lt", "le", "gt", "ge"};
  case 'u': return {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
  default: break;
  }
  return {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
          "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
}

bool is_pair(Values v) { return v == Values::kF16x2 || v == Values::kBf16x2; }

// %d gets bit 0 from the first predicate, bit 1 from the second.
void add_predicates(List& list, const Type& type, const std::string& comparison,
                    const std::string& flush) {
  const std::string end = flush + "." + type.name;
  const Values v = type.values;
  const std::string store = "selp.u32 %d, 1, 0, %p;\nselp.u32 %t, 2, 0, %q;\nor.b32 %d, %d, %t;";
  const std::string one_store = "selp.u32 %d, 1, 0, %p;";
  const std::string plain = "setp." + comparison + end;
  if (!is_pair(v)) list.add_body(plain, plain + " %p, %a, %b;\n" + one_store, {kWord}, {v, v});
  const bool half = v == Values::kF16 || v == Values::kBf16; // these have one predicate
  const bool all = !half && (comparison == "lt" || is_pair(v));
  if (all) list.add_body(plain + " pair", plain + " %p|%q, %a, %b;\n" + store, {kWord}, {v, v});
  if (comparison != "lt" && comparison != "eq") return;
  for (const char* join : {".and", ".or", ".xor"}) {
    const std::string joined = "setp." + comparison + join + end;
    for (const std::string negated : {"", "!"}) {
      list.add_body(joined + " " + negated + "r",
                    "setp.ne.u32 %r, %c, 0;\n" + joined + (half ? " %p" : " %p|%q") + ", %a, %b, " +
                      negated + "%r;\n" + (half ? one_store : store),
                    {kWord}, {v, v, Values::kFlag});
    }
  }
}

void add_values(List& list, const Type& type, const std::string& comparison,
                const std::string& flush, const Type& to) {
  const std::string end = flush + "." + to.name + "." + type.name;
  const Values v = type.values;
  const std::string plain = "set." + comparison + end;
  list.add(plain, to.values, {v, v});
  if (comparison != "lt") return;
  for (const char* join : {".and", ".or", ".xor"}) {
    const std::string joined = "set." + comparison + join + end;
    list.add_body(joined, "setp.ne.u32 %r, %c, 0;\n" + joined + " %d, %a, %b, %r;", {to.values},
                  {v, v, Values::kFlag});
  }
}

constexpr Type kWordResults[] = {{"u32", kWord}, {"s32", kWord}, {"f32", Values::kF32}};

std::vector<Type> results_of(const Type& type) {
  const Type u16{"u16", Values::kBits16}, s16{"s16", Values::kBits16};
  const Type u32{"u32", kWord}, s32{"s32", kWord};
  switch (type.values) {
  case Values::kF16:
  case Values::kBf16: return {u16, s16, u32, s32, type};
  case Values::kF16x2:
  case Values::kBf16x2: return {u32, s32, type};
  default: return {kWordResults[0], kWordResults[1], kWordResults[2]};
  }
}

void add_tests(List& list) {
  for (const Type& type : {Type{"f32", Values::kF32}, Type{"f64", Values::kF64}}) {
    for (const char* what : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
      const std::string name = std::string("testp.") + what + "." + type.name;
      list.add_body(name, name + " %p, %a;\nselp.u32 %d, 1, 0, %p;", {kWord}, {type.values});
    }
  }
}

} // namespace

std::vector<Form> compare_forms() {
  List list;
  std::vector<Type> types(std::begin(kIntegers), std::end(kIntegers));
  types.insert(types.end(), std::begin(kBitTypes), std::end(kBitTypes));
  for (const Type& type : {Type{"f32", Values::kF32}, Type{"f64", Values::kF64},
                           Type{"f16", Values::kF16}, Type{"f16x2", Values::kF16x2},
                           Type{"bf16", Values::kBf16}, Type{"bf16x2", Values::kBf16x2}})
    types.push_back(type);
  for (const Type& type : types) {
    const Values v = type.values;
    const bool flushes = v == Values::kF32 || v == Values::kF16 || v == Values::kF16x2;
    for (const std::string comparison : comparisons(type)) {
      for (const std::string flush : {"", ".ftz"}) {
        if (!flush.empty() && !flushes) continue;
        add_predicates(list, type, comparison, flush);
        for (const Type& to : results_of(type)) add_values(list, type, comparison, flush, to);
      }
    }
  }
  add_tests(list);
  return list.take();
}

} // namespace gmt::forms
