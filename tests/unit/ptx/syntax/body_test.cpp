// SPDX-License-Identifier: Apache-2.0
// Instructions with all kinds of operands, registers, scopes, labels, tables and calls.
#include <gtest/gtest.h>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

using test::error_of;
using test::Kernel;
using test::kernel_text;

TEST(PtxBody, MnemonicsAreStoredOnce) {
  const Kernel kernel(".reg .f32 %f<4>; .reg .b64 %rd<2>;\n"
                      "ld.global.nc.v2.f32 {%f1, %f2}, [%rd1+-16];\n"
                      "ld.global.nc.v2.f32 {%f1, _}, [%rd1];\n"
                      "cp.async.bulk.shared::cluster.global [%rd1], [%rd1];\n"
                      "add .f32\n %f1, %f2, 0f3F800000;");
  ASSERT_EQ(kernel.body.instructions.size(), 4u);
  EXPECT_EQ(kernel.body.mnemonics.size(), 3u);
  const Mnemonic& load = kernel.body.mnemonic(kernel.body.instructions[0]);
  EXPECT_EQ(load.opcode, "ld");
  EXPECT_EQ(load.modifiers, (std::vector<std::string_view>{"global", "nc", "v2", "f32"}));
  EXPECT_TRUE(load.has("nc"));
  EXPECT_FALSE(load.has("volatile"));
  const Mnemonic& copy = kernel.body.mnemonic(kernel.body.instructions[2]);
  EXPECT_EQ(copy.opcode, "cp");
  EXPECT_EQ(copy.modifiers.at(2), "shared::cluster");
  const Mnemonic& add = kernel.body.mnemonic(kernel.body.instructions[3]);
  EXPECT_EQ(add.opcode, "add");
  EXPECT_EQ(add.modifiers, std::vector<std::string_view>{"f32"});
}

TEST(PtxBody, VectorsAndAddresses) {
  const Kernel kernel(".reg .f32 %f<4>; .reg .b64 %rd<2>; .shared .align 4 .b8 s[64];\n"
                      "ld.global.v2.f32 {%f1, _}, [%rd1+-16];\n"
                      "ld.param.u64 %rd1, [p];\n"
                      "ld.shared.f32 %f1, [s+4*3];\n"
                      "ld.global.f32 %f1, [g+8];\n"
                      "st.f32 [%rd1-4], 0f00000000;\n"
                      "ld.volatile.global.u32 %f1, [0x100];\n"
                      "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [g, {%f1, %f2}];",
                      ".global .u32 g[4];");
  const Body& body = kernel.body;
  const Operand& vector = kernel.operand(0, 0);
  ASSERT_EQ(vector.kind, OperandKind::kVector);
  ASSERT_EQ(vector.count, 2u);
  EXPECT_EQ(body.parts(vector)[0].kind, OperandKind::kRegister);
  EXPECT_EQ(body.parts(vector)[1].kind, OperandKind::kDiscard);
  const Operand& address = kernel.operand(0, 1);
  ASSERT_EQ(address.kind, OperandKind::kAddress);
  EXPECT_EQ(body.parts(address)[0].kind, OperandKind::kRegister);
  EXPECT_EQ(body.parts(address)[0].offset, -16);
  EXPECT_EQ(body.parts(kernel.operand(1, 1))[0].kind, OperandKind::kParameter);
  EXPECT_EQ(body.parts(kernel.operand(1, 1))[0].id, 0u);
  EXPECT_EQ(body.parts(kernel.operand(2, 1))[0].kind, OperandKind::kLocal);
  EXPECT_EQ(body.parts(kernel.operand(2, 1))[0].offset, 12);
  EXPECT_EQ(body.variables.at(0).size, 64u);
  EXPECT_EQ(body.parts(kernel.operand(3, 1))[0].kind, OperandKind::kVariable);
  EXPECT_EQ(body.parts(kernel.operand(3, 1))[0].offset, 8);
  EXPECT_EQ(body.parts(kernel.operand(4, 0))[0].offset, -4);
  EXPECT_EQ(body.parts(kernel.operand(5, 1))[0].kind, OperandKind::kImmediate);
  EXPECT_EQ(body.parts(kernel.operand(5, 1))[0].bits, 256u);
  const Operand& texture = kernel.operand(6, 1);
  ASSERT_EQ(texture.count, 2u);
  EXPECT_EQ(body.parts(texture)[1].kind, OperandKind::kVector);
  EXPECT_EQ(body.parts(texture)[1].count, 2u);
}

TEST(PtxBody, ImmediatesAndSpecialRegisters) {
  const Kernel kernel(
    ".reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .f64 %fd<2>;\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r1, %nctaid.z;\nmov.u32 %r1, WARP_SZ;\n"
    "mov.u64 %rd1, %clock64;\nmov.b32 %r1, %envreg2;\n"
    "mov.u32 %r1, -5;\nmov.f32 %r1, 0fBF800000;\nmov.f64 %fd1, 0d3FF0000000000000;\n"
    "mov.u64 %rd1, 0xffffffffffffffffU;\nmov.f64 %fd1, -1.5;\nmov.u32 %r1, 2*3+1;\n"
    "mov.u64 %rd1, g+12;\nmov.u64 %rd1, k;",
    ".global .u32 g[4];");
  const SpecialRegister specials[] = {SpecialRegister::kTidX, SpecialRegister::kNctaidZ,
                                      SpecialRegister::kWARPSZ, SpecialRegister::kClock64,
                                      SpecialRegister::kEnvreg2};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(kernel.operand(i, 1).kind, OperandKind::kSpecial);
    EXPECT_EQ(kernel.operand(i, 1).id, static_cast<std::uint32_t>(specials[i]));
  }
  EXPECT_EQ(kernel.operand(5, 1).offset, -5);
  EXPECT_EQ(kernel.operand(6, 1).number, Number::kFloat32);
  EXPECT_EQ(kernel.operand(6, 1).bits, 0xbf800000u);
  EXPECT_EQ(kernel.operand(7, 1).number, Number::kFloat64);
  EXPECT_EQ(kernel.operand(7, 1).bits, 0x3ff0000000000000u);
  EXPECT_EQ(kernel.operand(8, 1).bits, ~0ull);
  EXPECT_EQ(kernel.operand(9, 1).bits, 0xbff8000000000000u);
  EXPECT_EQ(kernel.operand(10, 1).bits, 7u);
  EXPECT_EQ(kernel.operand(11, 1).kind, OperandKind::kVariable);
  EXPECT_EQ(kernel.operand(11, 1).offset, 12);
  EXPECT_EQ(kernel.operand(12, 1).kind, OperandKind::kFunction);
}

TEST(PtxBody, PredicatesAndPairs) {
  const Kernel kernel(
    ".reg .pred %p<4>; .reg .b32 %r<4>;\n"
    "setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p3;\n"
    "@%p1 mov.u32 %r1, 1;\n@!%p2 mov.u32 %r1, 2;\n"
    "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;\nmatch.all.sync.b32 _|%p1, %r1, -1;");
  const Operand& pair = kernel.operand(0, 0);
  ASSERT_EQ(pair.kind, OperandKind::kPair);
  EXPECT_EQ(kernel.body.registers[kernel.body.parts(pair)[0].id].name, "%p1");
  EXPECT_EQ(kernel.body.registers[kernel.body.parts(pair)[1].id].name, "%p2");
  EXPECT_TRUE(kernel.operand(0, 3).negated);
  EXPECT_EQ(kernel.body.instructions[0].guard, kNone);
  EXPECT_EQ(kernel.body.instructions[1].guard, kernel.body.parts(pair)[0].id);
  EXPECT_FALSE(kernel.body.instructions[1].guard_negated);
  EXPECT_TRUE(kernel.body.instructions[2].guard_negated);
  EXPECT_EQ(kernel.body.parts(kernel.operand(4, 0))[0].kind, OperandKind::kDiscard);
}

TEST(PtxBody, RegistersAreNumberedByUse) {
  const Kernel kernel(
    ".reg .b32 %r<500000000>; .reg .b32 %r1<9>; .reg .f64 single; .reg .b16 %rs;\n"
    "mov.u32 %r499999999, %r7;\nmov.f64 single, single;\nmov.u32 %r7, %r499999999;\n"
    "mov.b16 %rs, %rs;");
  EXPECT_EQ(kernel.body.registers.size(), 4u);
  EXPECT_EQ(kernel.operand(0, 0).id, 0u);
  EXPECT_EQ(kernel.operand(0, 1).id, 1u);
  EXPECT_EQ(kernel.operand(2, 0).id, 1u);
  EXPECT_EQ(kernel.operand(2, 1).id, 0u);
  EXPECT_EQ(kernel.body.registers[2].type, Type::kF64);
}

TEST(PtxBody, VectorRegistersHaveComponents) {
  const Kernel kernel(
    ".reg .v4 .f32 %v; .reg .v2 .u32 %w<3>; .reg .f32 %f;\n"
    "mov.f32 %f, %v.y;\nmov.f32 %v.r, %f;\nmov.v4.f32 %v, {%f, %f, %f, %f};\nmov.u32 %w2.x, 1;");
  EXPECT_EQ(kernel.operand(0, 1).kind, OperandKind::kRegister);
  const Operand& whole = kernel.operand(2, 0);
  ASSERT_EQ(whole.kind, OperandKind::kVector);
  ASSERT_EQ(whole.count, 4u);
  EXPECT_EQ(kernel.body.parts(whole)[1].id, kernel.operand(0, 1).id);
  EXPECT_EQ(kernel.body.parts(whole)[0].id, kernel.operand(1, 0).id);
  EXPECT_NE(
    error_of(kernel_text(".reg .v2 .u32 %v; mov.u32 %v.z, 1;")).find("has no component '.z'"),
    std::string::npos);
}

TEST(PtxBody, InnerScopesHideNames) {
  const Kernel kernel(".reg .b32 %r<3>; .shared .u32 s;\nmov.u32 %r1, s;\n"
                      "{ .reg .b32 %r<2>; .param .b32 s; mov.u32 %r1, s; { mov.u32 %r1, s; } }\n"
                      "{ .param .b32 s; mov.u32 %r2, s; }\nmov.u32 %r1, s;");
  EXPECT_EQ(kernel.operand(0, 0).id, kernel.operand(4, 0).id);
  EXPECT_NE(kernel.operand(0, 0).id, kernel.operand(1, 0).id);
  EXPECT_EQ(kernel.operand(1, 0).id, kernel.operand(2, 0).id);
  const std::uint32_t ids[] = {0, 1, 1, 2, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(kernel.operand(i, 1).id, ids[i]) << i;
  EXPECT_EQ(kernel.body.variables[1].space, Space::kParam);
}

TEST(PtxBody, TheInnermostScopeDecidesBetweenRangesAndNames) {
  const Kernel kernel(
    ".reg .b32 %r<20>; .reg .b64 %d7; .reg .b32 par<5>;\nmov.u32 %r1, %r12;\n"
    "{ .reg .u32 %r1, %r2; mov.u32 %r1, %r12; { .reg .b32 %r<20>; mov.u32 %r1, %r2; } }\n"
    "{ .reg .b32 %r1<5>; mov.u32 %r1, %r12; }\n"
    "{ .reg .b64 %d<9>; mov.u64 %d7, %d8; }\nmov.u64 %d7, 1;\n"
    "{ .param .b32 par1; mov.u32 %r1, par1; }\nmov.u32 %r1, par1;");
  const auto id = [&](std::size_t instruction, std::size_t operand) {
    return kernel.operand(instruction, operand).id;
  };
  EXPECT_NE(id(1, 0), id(0, 0)); // %r1 of the inner scope
  EXPECT_EQ(id(1, 1), id(0, 1)); // %r12 of the outer range
  EXPECT_NE(id(2, 0), id(1, 0)); // the range of the innermost scope hides the name around it
  EXPECT_NE(id(2, 0), id(0, 0));
  EXPECT_EQ(id(3, 0), id(0, 0)); // "%r1<5>" declares %r10 to %r14, and no %r1
  EXPECT_NE(id(3, 1), id(0, 1));
  EXPECT_NE(id(4, 0), id(5, 0));
  EXPECT_EQ(kernel.operand(6, 1).kind, OperandKind::kLocal);
  const Kernel ranges(
    ".reg .b32 %r<20>;\nmov.u32 %r3, %r12;\n{ .reg .b32 %r<5>; mov.u32 %r3, %r12; }\nmov.u32 %r3, 1;");
  EXPECT_NE(ranges.operand(1, 0).id, ranges.operand(0, 0).id);
  EXPECT_EQ(ranges.operand(1, 1).id, ranges.operand(0, 1).id); // not in the inner range
  EXPECT_EQ(ranges.operand(2, 0).id, ranges.operand(0, 0).id);
  EXPECT_EQ(kernel.operand(7, 1).kind, OperandKind::kRegister);
}

TEST(PtxBody, LabelsBelongToScopes) {
  const Kernel kernel("bra DONE;\n"
                      "{ WAIT: bra WAIT; bra OUT; OUT: }\n"
                      "{ WAIT: bra OUT; bra DONE; bra WAIT; OUT: exit; }\n"
                      "DONE: ret;");
  const Body& body = kernel.body;
  const auto target = [&](std::size_t i) {
    return body.labels[kernel.operand(i, 0).id].instruction;
  };
  EXPECT_EQ(target(0), 7u);
  EXPECT_EQ(target(1), 1u);
  EXPECT_EQ(target(2), 3u);
  EXPECT_EQ(target(3), 6u);
  EXPECT_EQ(target(4), 7u);
  EXPECT_EQ(target(5), 3u);
  EXPECT_EQ(error_of(kernel_text("bra IN; { IN: }")), "line 7: 'IN' is not declared");
  EXPECT_EQ(error_of(kernel_text("A: ret;\nA: ret;")), "line 8: 'A' is declared more than once");
}

TEST(PtxBody, TablesOfTargets) {
  const Kernel kernel(
    ".reg .b32 %r; .reg .b64 %rd;\nL0: ret;\n$L_brx_0: .branchtargets\n\tL0,\n\tL1;\n"
    "brx.idx %r, $L_brx_0;\nL1: call %rd, C;\nC: .calltargets f, k;",
    ".func f() { ret; }");
  ASSERT_EQ(kernel.body.tables.size(), 2u);
  EXPECT_TRUE(kernel.body.tables[0].of_labels);
  ASSERT_EQ(kernel.body.tables[0].targets.size(), 2u);
  EXPECT_EQ(kernel.body.labels[kernel.body.tables[0].targets[1]].name, "L1");
  EXPECT_EQ(kernel.operand(1, 1).kind, OperandKind::kTable);
  EXPECT_EQ(kernel.operand(1, 1).id, 0u);
  EXPECT_FALSE(kernel.body.tables[1].of_labels);
  EXPECT_EQ(kernel.body.tables[1].targets, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(kernel.operand(2, 1).kind, OperandKind::kTable);
}

TEST(PtxBody, Calls) {
  const Kernel kernel(
    R"(.reg .b64 %rd<3>; .reg .b32 %r<3>;
{
.param .b64 param0;
.param .b32 retval0;
call.uni (retval0), f, (param0, 5);
}
call.uni g;
{
.param .b32 retval0;
prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[12]) .noreturn;
call (retval0), %rd1, (%rd2, 1), prototype_0;
}
call g, (%r1);
call (_), f, (%rd2, %r2);
)",
    ".func (.param .b32 r) f(.param .b64 a, .param .b32 b) { ret; }\n.func g() { ret; }");
  const Body& body = kernel.body;
  ASSERT_EQ(body.instructions.size(), 5u);
  const Call first = call_of(body, body.instructions[0]);
  ASSERT_NE(first.returns, nullptr);
  EXPECT_EQ(body.parts(*first.returns)[0].kind, OperandKind::kLocal);
  EXPECT_EQ(first.target->kind, OperandKind::kFunction);
  ASSERT_EQ(first.arguments->count, 2u);
  EXPECT_EQ(body.parts(*first.arguments)[1].bits, 5u);
  EXPECT_EQ(first.prototype, nullptr);
  const Call second = call_of(body, body.instructions[1]);
  EXPECT_EQ(second.returns, nullptr);
  EXPECT_EQ(second.arguments, nullptr);
  EXPECT_EQ(second.target->id, 1u);
  const Call third = call_of(body, body.instructions[2]);
  EXPECT_EQ(third.target->kind, OperandKind::kRegister);
  ASSERT_NE(third.prototype, nullptr);
  ASSERT_EQ(third.prototype->kind, OperandKind::kPrototype);
  const Prototype& prototype = body.prototypes[third.prototype->id];
  EXPECT_TRUE(prototype.noreturn);
  ASSERT_EQ(prototype.parameters.size(), 2u);
  EXPECT_EQ(prototype.parameters[1].size, 12u);
  EXPECT_EQ(prototype.returns.size(), 1u);
  EXPECT_EQ(call_of(body, body.instructions[3]).arguments->count, 1u);
  EXPECT_EQ(body.parts(*call_of(body, body.instructions[4]).returns)[0].kind,
            OperandKind::kDiscard);
}

TEST(PtxBody, InstructionsKnowTheirText) {
  const Kernel kernel(".reg .b32 %r<3>; .reg .pred %p;\n  @%p  add.s32 %r1,\t%r2, 1 ;\nret;");
  const Instruction& add = kernel.body.instructions[0];
  EXPECT_EQ(kernel.module.text().substr(add.text_offset, add.text_size),
            "@%p  add.s32 %r1,\t%r2, 1 ");
  EXPECT_EQ(kernel.module.text_line(add.text_offset), 8u);
}

} // namespace
} // namespace gmt::ptx
