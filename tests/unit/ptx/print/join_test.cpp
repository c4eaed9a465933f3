// SPDX-License-Identifier: Apache-2.0
// One text of several modules.
#include "ptx/print/join.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx/syntax/link.h"
#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

std::string joined(const std::string& a, const std::string& b) {
  return join_modules({kHead + a, kHead + b});
}

std::string why_not(const std::string& a, const std::string& b) {
  try {
    joined(a, b);
  } catch (const LinkError& error) {
    return error.what();
  }
  return {};
}

TEST(PtxJoin, DeclarationsFindTheirDefinitions) {
  const std::string text = joined(
    ".extern .func (.param .b32 r) f(.param .b32 a);\n.extern .global .align 4 .u32 x;\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".visible .global .u64 table[1] = {f};\n"
    ".visible .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; }\n",
    ".visible .global .align 4 .u32 x = 3;\n.extern .func (.param .b32 r) vprintf(.param .b64 a, "
    ".param .b64 b);\n.visible .func (.param .b32 r) f(.param .b32 a) { ret; }\n");
  const Module module = parse_module(text);
  EXPECT_EQ(module.find_variable("x")->linkage, Linkage::kVisible);
  EXPECT_EQ(module.find_variable("x")->initial.size(), 4u);
  EXPECT_TRUE(module.find_function("f")->has_body);
  EXPECT_FALSE(module.find_function("vprintf")->has_body);
  EXPECT_EQ(module.functions().size(), 3u);
  EXPECT_EQ(parse_body(module, *module.find_function("k")).instructions.size(), 2u);
}

// Each module's code goes on to mean its own.
TEST(PtxJoin, StaticNamesStayApart) {
  const std::string text =
    joined(".global .u32 own = 1;\n.func f() { ret; }\n"
           ".visible .entry a() { .reg .b32 %r<2>; ld.global.u32 %r1, [own]; call f; ret; }\n",
           ".global .u32 own = 2;\n.func f() { ret; }\n"
           ".visible .entry b() { .reg .b32 %r<2>; ld.global.u32 %r1, [own]; call f; ret; }\n");
  const Module module = parse_module(text);
  EXPECT_EQ(module.variables().size(), 2u);
  for (const char* kernel : {"a", "b"}) {
    const Body body = parse_body(module, *module.find_function(kernel));
    const Variable& variable =
      module.variables()[body.parts(body.operand(body.instructions[0], 1))->id];
    EXPECT_EQ(variable.initial[0], *kernel == 'a' ? 1 : 2);
    const Function& called = module.functions()[call_of(body, body.instructions[1]).target->id];
    EXPECT_EQ(called.name, *kernel == 'a' ? "f$unit0" : "f$unit1");
  }
}

TEST(PtxJoin, OneOfSeveralWeakOnesIsKept) {
  const std::string weak = ".weak .func f() { ret; }\n.weak .entry k() { call f; ret; }\n";
  const Module module = parse_module(joined(weak, weak));
  EXPECT_EQ(module.functions().size(), 2u);
  const Module strong = parse_module(joined(weak, ".visible .func f() { trap; ret; }\n"));
  EXPECT_EQ(parse_body(strong, *strong.find_function("f")).instructions.size(), 2u);
}

// The launch says how large it is: one array, with the largest alignment.
TEST(PtxJoin, SharedMemoryOfTheLaunch) {
  const Module module = parse_module(
    joined(".extern .shared .align 4 .b8 s[];\n", ".extern .shared .align 16 .b8 s[];\n"));
  ASSERT_EQ(module.variables().size(), 1u);
  EXPECT_EQ(module.variables()[0].alignment, 16u);
}

TEST(PtxJoin, LinesAndInlinedFunctions) {
  const auto unit = [](const std::string& name) {
    return ".visible .entry " + name +
           "() {\n.loc 1 7 0\n.loc 2 8 0, function_name $L__s, "
           "inlined_at 1 9 0\nret;\n}\n.file 1 \"" +
           name + ".cu\"\n.file 2 \"" + name +
           ".h\"\n.section .debug_str {\n$L__s:\n.b8 102,0\n}\n";
  };
  const Module module = parse_module(joined(unit("a"), unit("b")));
  for (const std::string name : {"a", "b"}) {
    const Body body = parse_body(module, *module.find_function(name));
    const std::vector<SourceFrame> stack = body.lines.stack(module, body.instructions[0].line);
    ASSERT_EQ(stack.size(), 2u);
    EXPECT_EQ(stack[0].file, name + ".h");
    EXPECT_EQ(stack[0].function, "f");
    EXPECT_EQ(stack[1].file, name + ".cu");
  }
}

TEST(PtxJoin, WhatCannotBeJoined) {
  const std::string f = ".visible .func f() { ret; }\n", k = ".entry k() { ret; }\n";
  EXPECT_EQ(why_not(f, f), "f is there twice");
  EXPECT_EQ(why_not(k, k), "two of its files have a kernel k");
  EXPECT_EQ(why_not(f, ".visible .global .u32 f;\n"), "f is a function and a variable");
  EXPECT_NE(why_not(f, ".section .debug_info {\n.b8 1\n}\n"), "");
  EXPECT_THROW(join_modules({kHead + f, ".version 8.0\n.target sm_80\n.address_size 64\n"}),
               LinkError);
  EXPECT_THROW(join_modules(std::vector<std::string>()), LinkError);
  EXPECT_EQ(join_modules(std::vector<std::string>{f}), f);
}

// A text joined with another one has all that it had.
TEST(PtxJoin, WhatCompilersWrite) {
  std::size_t count = 0;
  for (const auto& path : test::fixtures_to_walk()) {
    const std::string text = test::read_fixture(path);
    const Module given = parse_module(text);
    if (given.debug() || text.find(".debug_info") != std::string::npos) continue;
    SCOPED_TRACE(path.filename().string());
    const std::string head =
      text.substr(text.find(".version"), text.find(".address_size") - text.find(".version"));
    const std::string all =
      join_modules({text, head + ".address_size 64\n.visible .entry other_kernel() { ret; }\n"});
    const Module module = parse_module(all);
    EXPECT_EQ(module.functions().size(), given.functions().size() + 1);
    EXPECT_EQ(module.variables().size(), given.variables().size());
    for (const Function& function : given.functions()) {
      if (!function.has_body) continue;
      EXPECT_EQ(parse_body(module, *module.find_function(function.name)).instructions.size(),
                parse_body(given, function).instructions.size());
    }
    ++count;
  }
  EXPECT_GT(count, test::at_least(60));
}

} // namespace
} // namespace gmt::ptx
