// SPDX-License-Identifier: Apache-2.0
// Video instructions. A form's name is the instruction and its operands, with the parts of them:
// "vadd.s32.u32.u32.sat d.h1 a.b1 b c".
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr Values kWord = Values::kBits32;
constexpr const char* kSigns[] = {".u32", ".s32"};

// `operands` as in the name. Shifts read counts as their second operand.
void add(List& list, const std::string& instruction, const std::string& operands) {
  std::string body = instruction + " ";
  for (const char c : operands) {
    if (c == ' ') body += ", ";
    else if (c == 'a' || (c == 'b' && body.back() != '.') || c == 'c' || c == 'd')
      body += std::string("%") + c;
    else body += c;
  }
  const bool is_shift = instruction.starts_with("vshl") || instruction.starts_with("vshr");
  list
    .add_body(instruction + " " + operands, body + ";", {kWord},
              {kWord, is_shift ? Values::kCount : kWord, kWord})
    .count = 256;
}

// What all scalar instructions may have behind their types: a sum, parts of operands.
void add_variants(List& list, const std::string& start) {
  add(list, start + ".add", "d a b c");
  add(list, start, "d a.b3 b.h1");
  add(list, start + ".add", "d a.h0 b.b2 c");
}

void add_arithmetic(List& list) {
  for (const char* opcode : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    for (unsigned signs = 0; signs < 8; ++signs) {
      const std::string types =
        std::string(kSigns[signs & 1]) + kSigns[signs >> 1 & 1] + kSigns[signs >> 2];
      add(list, opcode + types, "d a b");
    }
    for (const char* sign : kSigns) add_variants(list, opcode + std::string(sign) + ".s32.u32");
  }
}

void add_shifts(List& list) {
  for (const char* opcode : {"vshl", "vshr"}) {
    for (const char* mode : {".clamp", ".wrap"}) {
      for (const char* sign : kSigns) {
        const std::string start = opcode + std::string(sign) + ".s32.u32" + mode;
        add(list, start, "d a b");
        add_variants(list, start);
      }
    }
  }
}

void add_products(List& list) {
  for (unsigned signs = 0; signs < 8; ++signs) {
    const std::string start =
      std::string("vmad") + kSigns[signs & 1] + kSigns[signs >> 1 & 1] + kSigns[signs >> 2];
    add(list, start, "d a b c");
  }
  for (const char* types : {".u32.u32.u32", ".s32.s32.s32"}) {
    const std::string start = std::string("vmad") + types;
    add(list, start + ".po", "d a b c");
    for (const char* negated : {"d -a b c", "d a -b c", "d a b -c", "d -a.h1 b.b0 c"})
      add(list, start, negated);
  }
}

void add_comparisons(List& list) {
  for (const char* compare : {".eq", ".ne", ".lt", ".le", ".gt", ".ge"}) {
    for (unsigned signs = 0; signs < 4; ++signs)
      add(list, std::string("vset") + kSigns[signs & 1] + kSigns[signs >> 1] + compare, "d a b");
    add(list, std::string("vset.s32.u32") + compare, "d a.b3 b.h1");
  }
  add_variants(list, "vset.s32.s32.lt");
}

void add_parts_at_once(List& list) {
  for (const char* opcode : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
    for (const char* sign : kSigns) {
      const std::string four = opcode + std::string("4") + sign + ".s32.u32";
      const std::string two = opcode + std::string("2") + sign + ".u32.s32";
      add(list, four, "d a b c");
      add(list, four + ".sat", "d.b20 a.b7610 b.b0123 c");
      add(list, four + ".add", "d.b310 a.b4567 b.b3333 c");
      add(list, two, "d a b c");
      add(list, two + ".sat", "d.h1 a.h02 b.h31 c");
      add(list, two + ".add", "d.h0 a.h30 b.h12 c");
    }
  }
  add(list, "vset4.s32.u32.le", "d.b21 a.b0123 b.b4444 c");
  add(list, "vset4.s32.u32.gt.add", "d.b210 a.b0123 b.b7040 c");
  add(list, "vset2.u32.s32.lt", "d.h1 a.h20 b.h13 c");
}

} // namespace

std::vector<Form> video_forms() {
  List list;
  add_arithmetic(list);
  add_shifts(list);
  add_products(list);
  add_comparisons(list);
  add_parts_at_once(list);
  return list.take();
}

} // namespace gmt::forms
