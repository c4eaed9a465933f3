// SPDX-License-Identifier: Apache-2.0
// Integer code as nvcc 13 compiles it for sm_90. What it computes in whole kernels is compared with
// real registers in core_dump_test.cpp.

#include <gtest/gtest.h>

#include "analyzer/device_code/sass.h"

namespace gmt {
namespace {

using Op = SassArithmetic::Op;
using Kind = SassArithmetic::Operand::Kind;

SassArithmetic decoded(std::uint64_t low, std::uint64_t high) {
  const auto made = decode_arithmetic(low, high, 90);
  EXPECT_TRUE(made);
  return made.value_or(SassArithmetic{});
}
void expect_operand(const SassArithmetic::Operand& operand, Kind kind, std::uint32_t value) {
  EXPECT_EQ(operand.kind, kind);
  EXPECT_EQ(operand.value, value);
}

TEST(SassArithmetic, LoadsOfParameters) {
  const SassArithmetic wide = decoded(0x00008800ff047b82, 0x000e280000000a00);
  EXPECT_EQ(wide.op, Op::kMove); // LDC.64 R4, c[0x0][0x220]
  EXPECT_EQ(wide.result, 4u);
  EXPECT_TRUE(wide.is_wide);
  expect_operand(wide.third, Kind::kConstant, 0x220);
  const SassArithmetic uniform = decoded(0x0000840000047ab9, 0x000fe20000000a00);
  EXPECT_TRUE(uniform.is_uniform); // ULDC.64 UR4, c[0x0][0x210]
  expect_operand(uniform.third, Kind::kConstant, 0x210);
}

TEST(SassArithmetic, LoadsNameTheirBank) {
  EXPECT_EQ(decoded(0x00008800ff047b82, 0x000e280000000a00).third.bank, 0u);
  EXPECT_EQ(decoded(0x00c08800ff047b82, 0x000e280000000a00).third.bank, 3u);
}

TEST(SassArithmetic, IndexesOfThreadAndBlock) {
  const SassArithmetic thread = decoded(0x0000000000047919, 0x000ea20000002200);
  EXPECT_EQ(thread.result, 4u); // S2R R4, SR_TID.Y
  expect_operand(thread.third, Kind::kSpecial, SassArithmetic::kThreadIndex + 1);
  const SassArithmetic block = decoded(0x00000000000479c3, 0x000e300000002500);
  EXPECT_TRUE(block.is_uniform); // S2UR UR4, SR_CTAID.X
  expect_operand(block.third, Kind::kSpecial, SassArithmetic::kBlockIndex);
}

TEST(SassArithmetic, ProductsOfAnIndex) {
  const SassArithmetic made = decoded(0x0000000407027825, 0x001fc800078e0202);
  EXPECT_EQ(made.op, Op::kMultiplyAndAdd); // IMAD.WIDE R2, R7, 0x4, R2
  EXPECT_TRUE(made.is_wide);
  EXPECT_TRUE(made.is_signed);
  expect_operand(made.first, Kind::kGeneral, 7);
  expect_operand(made.second, Kind::kImmediate, 4);
  expect_operand(made.third, Kind::kGeneral, 2);
}

TEST(SassArithmetic, SumsWithCarries) {
  const SassArithmetic low = decoded(0x0000000400047c11, 0x000fe4000f8210ff);
  EXPECT_EQ(low.op, Op::kShiftAndAdd); // LEA R4, P1, R0, UR4, 0x2
  EXPECT_EQ(low.shift, 2u);
  EXPECT_EQ(low.carry_out, 1u);
  EXPECT_EQ(low.carry_in, SassArithmetic::kNone);
  expect_operand(low.first, Kind::kGeneral, 0);
  expect_operand(low.second, Kind::kUniform, 4);
  const SassArithmetic high = decoded(0x0000000500057c11, 0x000fe200088f1403);
  EXPECT_EQ(high.op, Op::kShiftAndAddUpper); // LEA.HI.X R5, R0, UR5, R3, 0x2, P1
  EXPECT_EQ(high.carry_in, 1u);
  expect_operand(high.third, Kind::kGeneral, 3);
  const SassArithmetic sum = decoded(0x0000000805077810, 0x000fe200007fe4ff);
  EXPECT_EQ(sum.op, Op::kAdd); // IADD3.X R7, R5, 0x8, RZ, P0, !PT
  EXPECT_EQ(sum.carry_in, 0u);
  expect_operand(sum.second, Kind::kImmediate, 8);
}

TEST(SassArithmetic, UniformRegistersHaveSumsToo) {
  const SassArithmetic low = decoded(0x000000043f047290, 0x000fc8000ff1e03f);
  EXPECT_TRUE(low.is_uniform); // UIADD3 UR4, UP0, URZ, UR4, URZ
  EXPECT_EQ(low.carry_out, 0u);
  expect_operand(low.first, Kind::kUniform, SassArithmetic::kZeroUniform);
  expect_operand(low.second, Kind::kUniform, 4);
  const SassArithmetic high = decoded(0x0000000805057890, 0x000fe400087fe43f);
  EXPECT_EQ(high.result, 5u); // UIADD3.X UR5, UR5, 0x8, URZ, UP0, !UPT
  EXPECT_EQ(high.carry_in, 0u);
  expect_operand(high.second, Kind::kImmediate, 8);
}

TEST(SassArithmetic, WhatIsNotKnownIsNothing) {
  constexpr std::uint64_t kLow = 0x0000000407027825, kHigh = 0x001fc800078e0202;
  EXPECT_FALSE(decode_arithmetic(kLow, kHigh, 100));
  EXPECT_FALSE(decode_arithmetic(kLow & ~std::uint64_t{0x7000}, kHigh, 90));            // @P0
  EXPECT_FALSE(decode_arithmetic(kLow, kHigh | std::uint64_t{1} << 11, 90));            // -R2
  EXPECT_FALSE(decode_arithmetic(0x0000000400047c11, 0x000fe4000f8210ff | 1 << 9, 90)); // .SX32
  EXPECT_FALSE(decode_arithmetic(0x0000000404047981, 0x000ea2000c1e1900, 90));          // LDG
  EXPECT_FALSE(decode_arithmetic(0x00008800ff047b82, 0x000e280000000800 | 6 << 9, 90)); // 128 bits
  EXPECT_FALSE(decode_arithmetic(0x0000880003047b82, 0x000e280000000a00, 90)); // indexed by R3
}

TEST(SassArithmetic, BranchesGoBothWays) {
  EXPECT_EQ(branch_distance(0x0000000800048947, 0, 90), 0x8f0 - 0xd0);
  EXPECT_EQ(branch_distance(0x0000000400c08947, 0, 90), 0x840 - 0x130);
  EXPECT_EQ(branch_distance(0x0000000000d89947, 0, 90), 0x530 - 0x1c0);
  EXPECT_EQ(branch_distance(0xfffffffc00fc7947, 0x000fc0000383ffff, 90), 0); // to itself
  EXPECT_FALSE(branch_distance(0x0000000800048947, 0, 80));
  EXPECT_FALSE(branch_distance(0x0000000404047981, 0, 90));
  EXPECT_TRUE(is_branch(0x0000000800048947));
  EXPECT_FALSE(is_branch(0x0000000404047981));
}

} // namespace
} // namespace gmt
