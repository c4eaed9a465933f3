// SPDX-License-Identifier: Apache-2.0
// The PTX around a form's body: loads of the operands, stores of the results.
#include "tests/executor/forms/form.h"

namespace gmt::forms {
namespace {

constexpr const char* kOperandNames[kMostOperands] = {"%a", "%b", "%c", "%e"};
constexpr const char* kResultNames[kMostResults] = {"%d", "%f", "%g"};

std::string bits_of(Values values) { return ".b" + std::to_string(8 * size_of(values)); }

std::string address(const std::string& to, const char* base, Values values) {
  return "mad.wide.u32 " + to + ", %i, " + std::to_string(size_of(values)) + ", " + base + ";\n";
}

} // namespace

std::size_t size_of(Values values) {
  switch (values) {
  case Values::kBits16:
  case Values::kF16:
  case Values::kBf16: return 2;
  case Values::kBits64:
  case Values::kFew64:
  case Values::kF64: return 8;
  default: return 4;
  }
}

std::size_t offset_of(const std::vector<Values>& arrays, std::uint32_t count, std::size_t index) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < index; ++i) offset += (size_of(arrays[i]) * count + 255) / 256 * 256;
  return offset;
}

std::size_t bytes_of(const std::vector<Values>& arrays, std::uint32_t count) {
  return offset_of(arrays, count, arrays.size());
}

std::string_view text_head() { return ".version 8.6\n.target sm_90\n.address_size 64\n"; }

std::string kernel_text(const Form& form, std::string_view name) {
  std::string text = ".visible .entry " + std::string(name) + "(.param .u64 pin, .param .u64 pout)";
  text += "\n{\n.reg .pred %p, %q, %r;\n.reg .b16 %h;\n.reg .b32 %i, %t, %u, %lane;\n";
  text += ".reg .b64 %w, %in, %out, %x, %cell, %own;\n";
  if (form.uses_shared) text += ".shared .align 8 .b8 cells[1024];\n";
  for (std::size_t k = 0; k < form.operands.size(); ++k)
    text += ".reg " + bits_of(form.operands[k]) + " " + kOperandNames[k] + ";\n";
  for (std::size_t k = 0; k < form.results.size(); ++k)
    text += ".reg " + bits_of(form.results[k]) + " " + kResultNames[k] + ";\n";
  text += "ld.param.u64 %in, [pin];\nld.param.u64 %out, [pout];\n";
  text += "mov.u32 %i, %ctaid.x;\nmov.u32 %t, %tid.x;\nand.b32 %lane, %t, 31;\n";
  text += "mad.lo.u32 %i, %i, " + std::to_string(kBlock) + ", %t;\n";
  if (form.uses_shared) text += "mov.u64 %own, cells;\nmad.wide.u32 %own, %t, 8, %own;\n";
  for (std::size_t k = 0; k < form.operands.size(); ++k) {
    text += address("%x", "%in", form.operands[k]);
    text += "ld.global" + bits_of(form.operands[k]) + " " + kOperandNames[k] + ", [%x+" +
            std::to_string(offset_of(form.operands, form.count, k)) + "];\n";
  }
  const std::size_t last = form.results.size() - 1;
  text += address("%cell", "%out", form.results[last]);
  text +=
    "add.u64 %cell, %cell, " + std::to_string(offset_of(form.results, form.count, last)) + ";\n";
  text += form.body;
  text += "\n";
  for (std::size_t k = 0; k < form.results.size(); ++k) {
    text += address("%x", "%out", form.results[k]);
    text += "st.global" + bits_of(form.results[k]) + " [%x+" +
            std::to_string(offset_of(form.results, form.count, k)) + "], " + kResultNames[k] +
            ";\n";
  }
  return text + "ret;\n}\n";
}

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
    {"integer", integer_forms},
    {"carry", carry_forms},
    {"bits", bit_forms},
    {"single", single_forms},
    {"double", double_forms},
    {"half", half_forms},
    {"compare", compare_forms},
    {"convert", convert_forms},
    {"convert_float", convert_float_forms},
    {"approximate", approximate_forms},
    {"warp", warp_forms},
    {"atomic", atomic_forms},
    {"video", video_forms},
  };
  return all;
}

} // namespace gmt::forms
