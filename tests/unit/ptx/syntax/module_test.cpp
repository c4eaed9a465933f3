// SPDX-License-Identifier: Apache-2.0
// What a module declares: settings, functions, parameters, files, names of .debug_str.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

using test::module_text;

TEST(PtxModule, Settings) {
  const Module module = parse_module(".version 7.8 // of CUDA 11.8\n.target sm_90a, debug\n"
                                     ".address_size 64\n");
  EXPECT_EQ(module.version(), 78u);
  EXPECT_EQ(module.target(), 90u);
  EXPECT_EQ(module.target_name(), "sm_90a");
  EXPECT_TRUE(module.debug());
  EXPECT_EQ(module.address_size(), 64u);
  EXPECT_EQ(parse_module(".version 9.0\n.target sm_120\n").target(), 120u);
  EXPECT_FALSE(parse_module(".version 9.0\n.target sm_75").debug());
}

TEST(PtxModule, NulsBehindTheTextAreNoText) {
  EXPECT_EQ(parse_module(std::string(".version 8.0\n.target sm_75\n\0\0\0", 30)).target(), 75u);
}

TEST(PtxModule, KernelWithTuning) {
  const Module module = parse_module(module_text(R"(
.visible .entry tuned(
  .param .u64 .ptr .global .align 16 tuned_param_0,
  .param .align 8 .b8 tuned_param_1[24],
  .param .v4 .f32 tuned_param_2,
  .param .b64 .ptr tuned_param_3
)
.maxntid 128, 2
.reqntid 64
.minnctapersm 3
.maxnreg 40
.reqnctapercluster 2, 1, 1
.explicitcluster
.later_than_this_parser 5, 6, 7, 8
{
  ret;
}
)"));
  const Function* function = module.find_function("tuned");
  ASSERT_NE(function, nullptr);
  EXPECT_TRUE(function->is_entry && function->has_body);
  EXPECT_EQ(function->linkage, Linkage::kVisible);
  EXPECT_EQ(function->max_threads[0], 128u);
  EXPECT_EQ(function->max_threads[1], 2u);
  EXPECT_EQ(function->max_threads[2], 1u);
  EXPECT_EQ(function->required_threads[0], 64u);
  EXPECT_EQ(function->min_blocks, 3u);
  EXPECT_EQ(function->max_registers, 40u);
  EXPECT_EQ(function->required_cluster[0], 2u);
  ASSERT_EQ(function->parameters.size(), 4u);
  const Variable& pointer = function->parameters[0];
  EXPECT_TRUE(pointer.is_pointer);
  EXPECT_EQ(pointer.pointer_space, Space::kGlobal);
  EXPECT_EQ(pointer.pointer_alignment, 16u);
  EXPECT_EQ(pointer.alignment, 8u);
  EXPECT_EQ(pointer.size, 8u);
  const Variable& structure = function->parameters[1];
  EXPECT_EQ(structure.size, 24u);
  EXPECT_EQ(structure.alignment, 8u);
  EXPECT_TRUE(structure.is_array);
  EXPECT_EQ(function->parameters[2].size, 16u);
  EXPECT_EQ(function->parameters[2].alignment, 16u);
  EXPECT_EQ(function->parameters[3].pointer_space, Space::kNone);
  EXPECT_TRUE(function->parameters[3].is_pointer);
}

TEST(PtxModule, FunctionsAreDeclaredBeforeTheyAreDefined) {
  const Module module = parse_module(module_text(R"(
.func (.param .b32 func_retval0) _Z3recv(.param .b32 a)
;
.extern .func vprintf_like (.param .b64 f, .param .b64 x);
.weak .func stops () .noreturn;
.func (.reg .f32 result) old(.reg .f32 x) { mov.f32 result, x; ret; }
.func (.param .b32 func_retval0) _Z3recv(
	.param .b32 _Z3recv_param_0
)
.pragma "abi_param_reg all";
{ ret; }
)"));
  ASSERT_EQ(module.functions().size(), 4u);
  const Function& recursive = module.functions()[0];
  EXPECT_TRUE(recursive.has_body);
  EXPECT_EQ(recursive.linkage, Linkage::kStatic);
  EXPECT_EQ(recursive.parameters[0].name, "_Z3recv_param_0");
  EXPECT_EQ(recursive.returns[0].name, "func_retval0");
  EXPECT_FALSE(module.functions()[1].has_body);
  EXPECT_EQ(module.functions()[1].linkage, Linkage::kExtern);
  EXPECT_TRUE(module.functions()[2].noreturn);
  EXPECT_EQ(module.functions()[3].parameters[0].space, Space::kRegister);
  const Body body = parse_body(module, module.functions()[3]);
  ASSERT_EQ(body.parameter_registers.size(), 1u);
  EXPECT_EQ(body.operand(body.instructions[0], 0).id, body.return_registers[0]);
  EXPECT_EQ(body.operand(body.instructions[0], 1).id, body.parameter_registers[0]);
}

TEST(PtxModule, Variables) {
  const Module module = parse_module(module_text(R"(
.extern .shared .align 16 .b8 dynamic[];
.global .attribute(.managed) .align 4 .b8 managed_one[16];
.visible .global .attribute(.unified(19, 95), .managed) .u32 two_attributes;
.weak .const .align 8 .b8 table[8];
.common .global .f64 shared_by_all[3];
.global .texref tex;
.global .v2 .f64 pair[2][3];
.const[2] .f32 banked;
.global .u16 one, two[4];
.extern .global .u32 later[];
.visible .global .u32 later[5];
)"));
  const Variable* dynamic = module.find_variable("dynamic");
  EXPECT_TRUE(dynamic->unsized);
  EXPECT_EQ(dynamic->alignment, 16u);
  EXPECT_EQ(dynamic->space, Space::kShared);
  EXPECT_EQ(dynamic->linkage, Linkage::kExtern);
  EXPECT_TRUE(module.find_variable("managed_one")->managed);
  EXPECT_TRUE(module.find_variable("two_attributes")->managed);
  EXPECT_EQ(module.find_variable("table")->linkage, Linkage::kWeak);
  EXPECT_EQ(module.find_variable("table")->space, Space::kConst);
  EXPECT_EQ(module.find_variable("shared_by_all")->linkage, Linkage::kCommon);
  EXPECT_EQ(module.find_variable("tex")->type, Type::kTexref);
  EXPECT_EQ(module.find_variable("pair")->size, 96u);
  EXPECT_EQ(module.find_variable("pair")->alignment, 16u);
  EXPECT_EQ(module.find_variable("banked")->size, 4u);
  EXPECT_EQ(module.find_variable("one")->size, 2u);
  EXPECT_EQ(module.find_variable("two")->size, 8u);
  EXPECT_EQ(module.find_variable("later")->size, 20u);
  EXPECT_EQ(module.find_variable("later")->linkage, Linkage::kVisible);
  EXPECT_EQ(module.find_function("later"), nullptr);
}

TEST(PtxModule, FilesAndNamesOfSections) {
  const Module module = parse_module(module_text(R"(
.file 1 "/a b/c.cu"
.file 2 "d.h", 1700000000, 4096
.section .debug_info { .b32 4491 .b64 $L__tmp1-$L__func0 .b32 .debug_abbrev }
.section .debug_str
{
$L__info_string0:
.b8 95,90,49
.b8 97,0
$L__info_string1:
.b8 98,99
.b8 0
}
)"));
  EXPECT_EQ(module.file(1), "/a b/c.cu");
  EXPECT_EQ(module.file(2), "d.h");
  EXPECT_EQ(module.file(3), "");
  EXPECT_EQ(module.debug_name("$L__info_string0", 0), "_Z1a");
  EXPECT_EQ(module.debug_name("$L__info_string0", 5), "bc");
  EXPECT_EQ(module.debug_name("$L__info_string1", 1), "c");
  EXPECT_EQ(module.debug_name(".debug_str", 5), "bc");
  EXPECT_EQ(module.debug_name("$L__info_string1", 3), "");
  EXPECT_EQ(module.debug_name("elsewhere", 0), "");
}

TEST(PtxModule, BracesInCommentsAndStringsEndNoBody) {
  const Module module = parse_module(module_text(R"(
.entry k() { // }
  /* } */ .pragma "}";
  { ret; }
}
.global .u32 behind;
)"));
  EXPECT_NE(module.find_variable("behind"), nullptr);
  EXPECT_EQ(parse_body(module, *module.find_function("k")).instructions.size(), 1u);
}

TEST(PtxModule, AnAliasHasTheBodyOfItsFunction) {
  const Module module = parse_module(module_text(R"(
.visible .func name(.param .b32 a);
.func real(.param .b32 a) { ret; }
.alias name, real;
)"));
  EXPECT_EQ(module.find_function("name")->alias_of, "real");
}

TEST(PtxModule, LinesOfTheText) {
  const Module module = parse_module(module_text(".global .u32 x;\n\n.global .u32 y;\n"));
  EXPECT_EQ(module.text_line(module.find_variable("x")->text_offset), 4u);
  EXPECT_EQ(module.text_line(module.find_variable("y")->text_offset), 6u);
}

// A module of a library for language models has 200,000 instructions; counting lines for each took
// minutes.
TEST(PtxModule, LinesOfALongTextAreNotCountedForEachQuestion) {
  constexpr std::uint32_t kVariables = 100'000;
  std::string text;
  for (std::uint32_t i = 0; i < kVariables; ++i)
    text += ".global .u32 variable" + std::to_string(i) + ";\n";
  const Module module = parse_module(module_text(text));
  const auto begun = std::chrono::steady_clock::now();
  std::uint32_t line = 4;
  for (const Variable& variable : module.variables())
    ASSERT_EQ(module.text_line(variable.text_offset), line++);
  EXPECT_EQ(line, 4 + kVariables);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
}

TEST(PtxModule, DwarfOfOldAndPreprocessorLines) {
  const Module module = parse_module("# 1 \"a.ptx\"\n.version 1.4\n.target sm_13\n"
                                     "@@DWARF .section .debug_info\n.global .u32 x;\n");
  EXPECT_EQ(module.address_size(), 32u);
  EXPECT_NE(module.find_variable("x"), nullptr);
}

} // namespace
} // namespace gmt::ptx
