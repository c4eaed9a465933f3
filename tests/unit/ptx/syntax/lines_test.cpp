// SPDX-License-Identifier: Apache-2.0
// Lines of instructions, with the functions that were inlined there.
#include <gtest/gtest.h>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

constexpr const char* kNames = R"(
.file 1 "a.cu"
.file 2 "b.h"
.section .debug_str {
$L__info_string0: .b8 105,110,110,101,114,0
$L__info_string1: .b8 109,105,100,100,108,101,0
}
)";

TEST(PtxLines, AnInstructionHasTheLineAboveIt) {
  const test::Kernel kernel("ret;\n.loc 1 5 3\nret;\nret;\n.loc 2 7 1\nL: ret;", kNames);
  const auto stack = [&](std::size_t i) {
    return kernel.body.lines.stack(kernel.module, kernel.body.instructions[i].line);
  };
  EXPECT_EQ(kernel.body.instructions[0].line, 0u);
  EXPECT_TRUE(stack(0).empty());
  ASSERT_EQ(stack(1).size(), 1u);
  EXPECT_EQ(stack(1)[0].file, "a.cu");
  EXPECT_EQ(stack(1)[0].line, 5u);
  EXPECT_EQ(stack(1)[0].column, 3u);
  EXPECT_EQ(stack(1)[0].function, "");
  EXPECT_EQ(kernel.body.instructions[2].line, kernel.body.instructions[1].line);
  EXPECT_EQ(stack(3)[0].file, "b.h");
}

TEST(PtxLines, InlinedFunctions) {
  const test::Kernel kernel(R"(
.loc 1 10 3
.loc 2 20 5, function_name $L__info_string1, inlined_at 1 10 3
ret;
.loc 2 30 7, function_name .debug_str, inlined_at 2 20 5
ret;
.loc 2 31 7, function_name $L__info_string0+6, inlined_at 1 99 9
ret;
)",
                            kNames);
  const auto middle = kernel.body.lines.stack(kernel.module, kernel.body.instructions[0].line);
  ASSERT_EQ(middle.size(), 2u);
  EXPECT_EQ(middle[0].function, "middle");
  EXPECT_EQ(middle[1].line, 10u);
  const auto inner = kernel.body.lines.stack(kernel.module, kernel.body.instructions[1].line);
  ASSERT_EQ(inner.size(), 3u);
  EXPECT_EQ(inner[0].function, "inner");
  EXPECT_EQ(inner[0].line, 30u);
  EXPECT_EQ(inner[1].function, "middle");
  EXPECT_EQ(inner[2].function, "");
  EXPECT_EQ(inner[2].file, "a.cu");
  const auto unknown_call =
    kernel.body.lines.stack(kernel.module, kernel.body.instructions[2].line);
  ASSERT_EQ(unknown_call.size(), 2u);
  EXPECT_EQ(unknown_call[0].function, "middle");
  EXPECT_EQ(unknown_call[1].line, 99u);
}

TEST(PtxLines, ALineInlinedAtItselfEnds) {
  const test::Kernel kernel(".loc 1 1 1, function_name $L__info_string0, inlined_at 1 1 1\nret;\n"
                            ".loc 1 1 1, function_name $L__info_string0, inlined_at 1 1 1\nret;",
                            kNames);
  const std::uint32_t last = kernel.body.instructions[1].line;
  EXPECT_LE(kernel.body.lines.stack(kernel.module, last).size(), 3u);
}

TEST(PtxLines, EqualLinesHaveOneId) {
  const test::Kernel kernel(".loc 1 1 1\nret;\n.loc 1 2 1\nret;\n.loc 1 1 1\nret;", kNames);
  EXPECT_EQ(kernel.body.instructions[0].line, kernel.body.instructions[2].line);
  EXPECT_EQ(kernel.body.lines.size(), 3u);
}

TEST(PtxLines, DamagedNamesAreEmpty) {
  const Module module =
    parse_module(test::module_text(".section .debug_str { good: .b8 103,0 bad: .b8 frob . 1 }"));
  EXPECT_EQ(module.debug_name("good", 0), "g");
  EXPECT_EQ(module.debug_name("bad", 0), "");
  EXPECT_EQ(module.debug_name("bad", 1000), "");
}

} // namespace
} // namespace gmt::ptx
