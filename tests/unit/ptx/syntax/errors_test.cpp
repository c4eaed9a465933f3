// SPDX-License-Identifier: Apache-2.0
// Bad text gives one error with its line and what was expected; nothing else happens.
#include <gtest/gtest.h>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

using test::error_of;
using test::kernel_text;
using test::module_text;

TEST(PtxErrors, Modules) {
  EXPECT_EQ(error_of(""), "line 1: expected '.version' at the begin of PTX, found the end");
  EXPECT_EQ(error_of("\x7f"
                     "ELF"),
            "line 1: expected '.version' at the begin of PTX, found '?'");
  EXPECT_EQ(error_of(".version 8\n"), "line 1: a version must be like 8.3");
  EXPECT_EQ(error_of(module_text("mov.u32 a, b;")), "line 4: expected a directive, found 'mov'");
  EXPECT_EQ(error_of(module_text(".visible .frob x;")),
            "line 4: expected a function or a variable, found '.frob'");
  EXPECT_EQ(error_of(module_text(".entry k() {\n ret;\n")), "line 4: a \"{\" that has no \"}\"");
  EXPECT_EQ(error_of(module_text(".entry k() { ret; }\n.entry k() { ret; }")),
            "line 5: 'k' is defined more than once");
  EXPECT_EQ(error_of(module_text(".global .u32 k;\n.entry k() { ret; }")),
            "line 5: 'k' is defined more than once");
  EXPECT_EQ(error_of(module_text(".func f(.param .u32 a);\n.func f() { ret; }")),
            "line 5: 'f' was declared with other parameters");
  EXPECT_EQ(error_of(module_text(".global .align 3 .b8 x;")),
            "line 4: an alignment must be a power of two");
  EXPECT_EQ(error_of(module_text(".global .frob x;")), "line 4: expected a type, found '.frob'");
  EXPECT_EQ(error_of(module_text(".global .pred x;")), "line 4: only registers can be .pred");
  EXPECT_EQ(error_of(module_text("/* no end")), "line 4: a comment that does not end");
  EXPECT_EQ(error_of(module_text(".file 1 \"no end\n")), "line 4: a string that does not end");
  EXPECT_EQ(error_of(module_text(".alias a, b;")),
            "line 4: the alias 'a' is not declared as a function");
  EXPECT_EQ(error_of(module_text(".entry k(.global .u32 x) { ret; }")),
            "line 4: expected .param or .reg, found '.'");
}

TEST(PtxErrors, Bodies) {
  const auto error = [](const std::string& statements) {
    return error_of(kernel_text(statements));
  };
  EXPECT_EQ(error("mov.u32 %r1, 1;"), "line 7: the register '%r1' is not declared");
  EXPECT_EQ(error(".reg .b32 %r<4>; mov.u32 %r4, 1;"),
            "line 7: the register '%r4' is not declared");
  EXPECT_EQ(error(".reg .b32 %r<4>; mov.u32 %r01, 1;"),
            "line 7: the register '%r01' is not declared");
  EXPECT_EQ(error(".reg .b32 %r<4>; mov.u32 %r, 1;"), "line 7: '%r' needs a number");
  EXPECT_EQ(error(".reg .b32 %r;\nmov.u32 %r, %frob.x;"),
            "line 8: the register '%frob.x' is not declared");
  EXPECT_EQ(error("\n\nbra NOWHERE;"), "line 9: 'NOWHERE' is not declared");
  EXPECT_EQ(error("ret"), "line 8: expected ';' behind the operands of 'ret', found the end");
  EXPECT_EQ(error(".reg .b32 %r; mov.u32 %r 1;"),
            "line 7: expected ';' behind the operands of 'mov.u32', found '1'");
  EXPECT_EQ(error(".reg .b32 %r; mov.u32 %r, ;"), "line 7: expected an operand, found ';'");
  EXPECT_EQ(error(".reg .b32 %r; @%r ret;"), "line 7: a guard that is no predicate");
  EXPECT_EQ(error(".reg .b32 %r, %r;"), "line 7: '%r' is declared more than once");
  EXPECT_EQ(error(".frob;"), "line 7: expected an instruction, found '.frob'");
  EXPECT_EQ(error(".global .u32 x;"),
            "line 7: a variable of the whole module is declared inside a function");
  EXPECT_EQ(error("mov.f32 p, 0f12; add.u32 p, p, p;"),
            "line 7: a floating-point constant needs 8 digits");
  EXPECT_EQ(error("mov.f32 p, 99999999999999999999;"), "line 7: an integer of more than 64 bits");
  EXPECT_EQ(error("mov.f32 p, 0x;"), "line 7: a number without digits");
  EXPECT_EQ(error("mov.f32 p, 12ab;"), "line 7: expected the end of a number, found 'ab'");
  EXPECT_EQ(error("T: .calltargets nothing;"), "line 7: 'nothing' is not declared as a function");
  EXPECT_EQ(error("A: .branchtargets A;"), "line 7: 'A' is no label");
}

TEST(PtxErrors, DepthIsBounded) {
  EXPECT_NE(error_of(kernel_text(std::string(1000, '{') + std::string(1000, '}')))
              .find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(error_of(kernel_text("mov.u32 " + std::string(500, '{') + "1;")).find("\"{\""),
            std::string::npos);
  EXPECT_NE(
    error_of(kernel_text("mov.u32 " + std::string(500, '[') + "1;")).find("nested too deeply"),
    std::string::npos);
  EXPECT_NE(
    error_of(kernel_text("mov.u32 " + std::string(500, '-') + "1;")).find("nested too deeply"),
    std::string::npos);
}

TEST(PtxErrors, AnOperandListIsBounded) {
  std::string list = "{1";
  for (int i = 0; i < 70000; ++i) list += ",1";
  EXPECT_EQ(error_of(kernel_text("mov.u32 " + list + "};")), "line 7: a list that is too long");
}

TEST(PtxErrors, EachPrefixOfAModuleIsHarmless) {
  const std::string text = kernel_text(
    ".reg .b32 %r<4>; .reg .pred %p1;\n.loc 1 2 3, function_name $L+1, inlined_at 1 2 3\n"
    "L: @!%p1 bra L;\n{ call.uni (_), k, (%r1), P; } P: .callprototype _ (.param .b8 _[3]);\n"
    "tex.2d.v4.f32.f32 {%r1, _}, [g, {%r1, 0f3F800000}]; // \n mov.u32 %r1, (1 + 2) * -3;",
    ".global .u64 g[3] = {generic(g)+4, 0xff(g), 1 ? 2 : 3};\n.section .debug_str { L: .b8 1,2,0 }");
  EXPECT_EQ(error_of(text), "");
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string error = error_of(text.substr(0, size));
    if (!error.empty()) {
      EXPECT_TRUE(error.starts_with("line ")) << error;
    }
  }
}

TEST(PtxErrors, ADeclarationHasNoCode) {
  const Module module = parse_module(module_text(".extern .func f();"));
  EXPECT_THROW(parse_body(module, *module.find_function("f")), ParseError);
}

} // namespace
} // namespace gmt::ptx
