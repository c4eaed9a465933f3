// SPDX-License-Identifier: Apache-2.0
// Each form of a statement and of an operand as it is printed, and code that was changed.
#include <gtest/gtest.h>

#include "ptx/print/insert.h"
#include "ptx/print/print.h"
#include "tests/unit/ptx/support/ptx_text.h"
#include "tests/unit/ptx/support/syntax_difference.h"

namespace gmt::ptx {
namespace {

using test::Kernel;

std::string printed(const Kernel& kernel) {
  std::string out;
  print_body(kernel.module, *kernel.module.find_function("k"), kernel.body, out);
  return out;
}

// What is printed of statements that are read; it must also be read as the same.
std::string printed(const std::string& statements, const std::string& before = "") {
  const Kernel kernel(statements, before);
  EXPECT_EQ(test::difference_when_printed(kernel.module), "");
  return printed(kernel);
}

TEST(PtxPrint, Declarations) {
  EXPECT_EQ(printed(".reg .pred %p<3>, %q; .reg .v2 .b32 %v;"),
            "\t.reg .pred %p<3>;\n\t.reg .pred %q;\n\t.reg .v2 .b32 %v;\n");
  EXPECT_EQ(printed(".local .align 16 .b8 depot[2][8]; .shared .v4 .f32 tile[3];\n"
                    ".param .b64 one; .shared .align 8 .b64 natural;"),
            "\t.local .align 16 .b8 depot[16];\n\t.shared .v4 .f32 tile[3];\n"
            "\t.param .b64 one;\n\t.shared .b64 natural;\n");
  EXPECT_EQ(printed("P: .callprototype (.param .b32 _) _ (.param .u64 .ptr .global .align 8 _,\n"
                    ".reg .b32 _) .noreturn .abi_preserve 8;\n"
                    "Q: .callprototype _ ();"),
            "P: .callprototype (.param .b32 _) _ (.param .u64 .ptr .global .align 8 _, .reg .b32 "
            "_) .noreturn .abi_preserve 8;\n"
            "Q: .callprototype _ ();\n");
  EXPECT_EQ(printed("T: .branchtargets L, M; L: M: U: .calltargets f, g;",
                    ".func f() { ret; } .func g() { ret; }"),
            "T: .branchtargets L, M;\nL:\nM:\nU: .calltargets f, g;\n");
  EXPECT_EQ(printed(".pragma \"nounroll\", \"a\\\"b\";"),
            "\t.pragma \"nounroll\";\n\t.pragma \"a\\\"b\";\n");
}

TEST(PtxPrint, Constants) {
  EXPECT_EQ(printed(".reg .b64 %d; mov.b64 %d, 010; mov.b64 %d, 0xffffffffffffffff;\n"
                    "mov.b64 %d, 0x8000000000000000; mov.b64 %d, 1 << 4 | 3; mov.b64 %d, !5;\n"
                    "mov.b64 %d, 0fff800001; mov.b64 %d, 1.5; mov.b64 %d, -0d7FF0000000000001;"),
            "\t.reg .b64 %d;\n\tmov.b64 %d, 8;\n\tmov.b64 %d, -1;\n"
            "\tmov.b64 %d, -9223372036854775808;\n\tmov.b64 %d, 19;\n\tmov.b64 %d, 0;\n"
            "\tmov.b64 %d, 0fFF800001;\n\tmov.b64 %d, 0d3FF8000000000000;\n"
            "\tmov.b64 %d, 0dFFF0000000000001;\n");
}

TEST(PtxPrint, Operands) {
  EXPECT_EQ(printed(".reg .b64 %d<3>; .reg .pred %p<3>; .reg .v4 .f32 %v; .shared .b8 s[8];\n"
                    "@!%p1 ld.shared.v4.f32 %v, [s + 4];\n"
                    "@%p0 st.global.v2.f32 [%d1+0], {%v.y, %v.r};\n"
                    "st.b64 [%d1], %d2; st.b64 [%d1-8], _; mov.u64 %d1, g+16;\n"
                    "setp.eq.and.s64 %p1|%p2, %d1, 0, !%p0;\n"
                    "tex.2d.v4.f32.f32 {%v.x, %v.y, %v.z, %v.w}, [g, {%v.x, %v.y}];\n"
                    "mov.u32 %d1, %tid.x; mov.u64 %d1, k; ld.param.u64 %d1, [p]; ret;",
                    ".global .b8 g[32];"),
            "\t.reg .b64 %d<3>;\n\t.reg .pred %p<3>;\n\t.reg .v4 .f32 %v;\n\t.shared .b8 s[8];\n"
            "\t@!%p1 ld.shared.v4.f32 %v, [s+4];\n"
            "\t@%p0 st.global.v2.f32 [%d1+0], {%v.y, %v.x};\n"
            "\tst.b64 [%d1], %d2;\n\tst.b64 [%d1+-8], _;\n\tmov.u64 %d1, g+16;\n"
            "\tsetp.eq.and.s64 %p1|%p2, %d1, 0, !%p0;\n"
            "\ttex.2d.v4.f32.f32 %v, [g, {%v.x, %v.y}];\n"
            "\tmov.u32 %d1, %tid.x;\n\tmov.u64 %d1, k;\n\tld.param.u64 %d1, [p];\n\tret;\n");
}

TEST(PtxPrint, ScopesKeepTheirNames) {
  const std::string text =
    "\t.reg .b32 %r<2>;\n{\n\t.reg .b64 %r<2>;\n\t.param .b32 param0;\nL:\n"
    "\tst.param.b32 [param0+0], %r1;\n\tbra L;\n}\n{\n\t.param .b64 param0;\n"
    "L:\n\tst.param.b64 [param0], %r1;\n\tcall (_), f, (param0), P;\n}\nL:\n"
    "P: .callprototype (.param .b32 _) _ (.param .b64 _);\n";
  EXPECT_EQ(printed(text, ".extern .func (.param .b32 r) f(.param .b64 x);"), text);
}

TEST(PtxPrint, Lines) {
  const std::string text = "\t.loc 1 2 3\n\t.loc 1 2 3\n\tret;\n"
                           "\t.loc 1 8 0, function_name $L__info+16, inlined_at 1 2 3\n"
                           "\t.loc 2 9 1, function_name .debug_str, inlined_at 1 8 0\n\tret;\n";
  EXPECT_EQ(printed(text), text);
  // The last of several is the one that counts; the others leave no line.
  EXPECT_EQ(printed("\t.loc 1 2 3, inlined_at 1 5 0, inlined_at 1 6 0\n"),
            "\t.loc 1 2 3, inlined_at 1 6 0\n");
}

TEST(PtxPrint, WhatIsNotGivenStaysAsItIsInTheText) {
  const std::string text = test::module_text(".func f()  {  ret ;/* } */ }\n.func g() { ret ; }\n");
  const Module module = parse_module(text);
  const auto none = [](const Function&) { return std::optional<Body>(); };
  EXPECT_EQ(print_module(module, none), text);
  const auto second = [&module](const Function& function) {
    return function.name == "g" ? std::optional(parse_body(module, function)) : std::nullopt;
  };
  EXPECT_EQ(print_module(module, second),
            test::module_text(".func f()  {  ret ;/* } */ }\n.func g() {\n\tret;\n}\n"));
}

TEST(PtxPrint, FunctionsThatAreDeclaredInAnotherOrder) {
  const Module module =
    parse_module(test::module_text(".func f(); .func g() { ret; } .func f() { trap; }"));
  EXPECT_EQ(test::difference_when_printed(module), "");
}

TEST(PtxInsert, BeforeAndBehindInstructionsWithLabelsAndLines) {
  Kernel kernel(".loc 1 5 0\n.reg .b64 %d<2>;\nbra L;\n.loc 1 6 0\nL: { st.b64 [%d1], 1; } M:");
  Body& body = kernel.body;
  const std::string_view names[] = {"%new0", "%new1"};
  const std::uint32_t first = add_registers(body, Type::kB32, {names[0], names[1]});
  Instruction move;
  move.mnemonic = static_cast<std::uint32_t>(body.mnemonics.size());
  body.mnemonics.push_back(mnemonic_of("mov.b32"));
  move.operand_count = 2;
  move.first_operand = static_cast<std::uint32_t>(body.operands.size());
  move.line = body.instructions[1].line;
  Operand operand;
  operand.kind = OperandKind::kRegister;
  for (const std::uint32_t id : {first, first + 1}) {
    operand.id = id;
    body.operands.push_back(operand);
  }
  Instruction leave = move;
  leave.mnemonic = static_cast<std::uint32_t>(body.mnemonics.size());
  body.mnemonics.push_back(mnemonic_of("ret"));
  leave.operand_count = 0;
  insert(
    body,
    {{1, true, leave}, {0, false, move}, {1, false, move}, {1, false, leave}, {2, false, leave}});
  EXPECT_EQ(printed(kernel),
            "\t.reg .b32 %new0;\n\t.reg .b32 %new1;\n\t.loc 1 5 0\n"
            "\t.reg .b64 %d<2>;\n\t.loc 1 6 0\n\tmov.b32 %new0, %new1;\n"
            "\t.loc 1 5 0\n\tbra L;\n\t.loc 1 6 0\nL:\n{\n"
            "\tmov.b32 %new0, %new1;\n\tret;\n\tst.b64 [%d1], 1;\n\tret;\n}\nM:\n\tret;\n");
  EXPECT_EQ(body.labels[0].instruction, 2u);
  EXPECT_EQ(body.labels[1].instruction, 6u);
  EXPECT_EQ(body.mnemonic(body.instructions[4]).opcode, "st");
}

} // namespace
} // namespace gmt::ptx
