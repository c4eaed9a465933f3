// SPDX-License-Identifier: Apache-2.0
// Chains of instructions that pass a carry on. The last one turns the carry into a result.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

// FIRST %d; NEXT %f; and, if it has another carry, ADD %g of zeros.
void chain(List& list, const Type& type, const std::string& first, const std::string& next) {
  const std::string end = std::string(".") + type.name;
  const Values v = type.values;
  const bool first_multiplies = first.starts_with("mad"), next_multiplies = next.starts_with("mad");
  std::string body = first + end + " %d, %a, %b" + (first_multiplies ? ", %c;\n" : ";\n");
  body += next + end + (next_multiplies ? " %f, %b, %c, %e;\n" : " %f, %c, %e;\n");
  const char* last = first.starts_with("sub") ? "subc" : "addc";
  body += std::string(last) + end + " %g, 0, 0;";
  list.add_body(first + " " + next + end, body, {v, v, v}, {v, v, v, v});
}

} // namespace

std::vector<Form> carry_forms() {
  List list;
  constexpr Type kTypes[] = {{"u32", Values::kBits32},
                             {"s32", Values::kBits32},
                             {"u64", Values::kBits64},
                             {"s64", Values::kBits64}};
  for (const Type& type : kTypes) {
    chain(list, type, "add.cc", "addc.cc");
    chain(list, type, "sub.cc", "subc.cc");
    for (const char* half : {".lo", ".hi"}) {
      const std::string part = half;
      chain(list, type, "mad" + part + ".cc", "addc.cc");
      chain(list, type, "add.cc", "madc" + part + ".cc");
      chain(list, type, "mad.lo.cc", "madc" + part + ".cc");
    }
  }
  // Without .cc the carry stays as it was.
  for (const Type& type : kTypes) {
    const std::string end = std::string(".") + type.name;
    const Values v = type.values;
    list.add_body("add.cc addc addc" + end,
                  "add.cc" + end + " %d, %a, %b;\naddc" + end + " %f, %c, %e;\naddc" + end +
                    " %g, 0, 0;",
                  {v, v, v}, {v, v, v, v});
    for (const std::string half : {".lo", ".hi"}) {
      const std::string next = "madc" + half;
      list.add_body("add.cc " + next + " addc" + end,
                    "add.cc" + end + " %d, %a, %b;\n" + next + end + " %f, %c, %e, %a;\naddc" +
                      end + " %g, %b, %c;",
                    {v, v, v}, {v, v, v, v});
    }
  }
  return list.take();
}

} // namespace gmt::forms
