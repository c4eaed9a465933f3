// SPDX-License-Identifier: Apache-2.0
// Forms whose result PTX does not define to the last bit. A bound is the largest difference of the
// executor's results from a recording of an H200, in units of the result's last place. The test of
// recorded forms prints it. PTX bounds sin, cos and lg2 by an absolute error, and so does the test.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

void add(List& list, const std::string& instruction, Values v, double ulps,
         std::vector<Values> operands, double absolute = 0) {
  Form& form = list.add(instruction, v, std::move(operands));
  form.ulps = ulps;
  form.absolute = absolute;
  form.count = 8192;
}

} // namespace

std::vector<Form> approximate_forms() {
  List list;
  const Values f = Values::kF32, d = Values::kF64;
  for (const std::string flush : {"", ".ftz"}) {
    const std::string end = ".approx" + flush + ".f32";
    add(list, "ex2" + end, f, 2, {f});
    add(list, "lg2" + end, f, 2, {f}, 0x1.8p-23);
    add(list, "sin" + end, f, 1, {f}, 0x1.6p-22);
    add(list, "cos" + end, f, 1, {f}, 0x1.6p-22);
    add(list, "rsqrt" + end, f, 1, {f});
    add(list, "rcp" + end, f, 1, {f});
    add(list, "sqrt" + end, f, 1, {f});
    add(list, "div" + end, f, 2, {f, f});
    add(list, "div.full" + flush + ".f32", f, 2, {f, f});
  }
  add(list, "tanh.approx.f32", f, 123, {f}); // PTX: a relative error of 2^-11, 4096 units
  add(list, "rsqrt.approx.f64", d, 1, {d});
  // Results have an upper word alone: the bound is one unit of it.
  add(list, "rcp.approx.ftz.f64", d, 0x1p32, {d});
  add(list, "rsqrt.approx.ftz.f64", d, 0x1p32, {d});
  for (const Type& type : {Type{"f16", Values::kF16}, Type{"f16x2", Values::kF16x2},
                           Type{"bf16", Values::kBf16}, Type{"bf16x2", Values::kBf16x2}}) {
    const std::string end = std::string(".") + type.name;
    const Values v = type.values;
    add(list, "tanh.approx" + end, v, 1, {v});
    add(list, (type.name[0] == 'f' ? "ex2.approx" : "ex2.approx.ftz") + end, v, 1, {v});
  }
  return list.take();
}

} // namespace gmt::forms
