// SPDX-License-Identifier: Apache-2.0
// How far an address is aligned for certain.
#include "ptx/flow/zero_bits.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

// Of the address of the last instruction.
unsigned zero_bits(const std::string& statements) {
  const Module module = parse_module(test::module_text(
    ".shared .align 16 .b8 s[64];\n.visible .entry k(.param .u32 n)\n{\n.reg .pred %p<9>; "
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<3>;\nld.param.u32 %r1, [n];\n" +
    statements + "\n}\n"));
  const Body body = parse_body(module, *module.find_function("k"));
  const Instruction& last = body.instructions.back();
  return zero_bits_of(module, body)[body.parts(body.operand(last, 1))->id];
}

TEST(PtxZeroBits, SumsAndProducts) {
  EXPECT_EQ(zero_bits("mov.u32 %r2, s; ld.shared.u32 %r3, [%r2];"), 4u);
  EXPECT_EQ(zero_bits("mov.u32 %r2, s+4; ld.shared.u32 %r3, [%r2];"), 2u);
  EXPECT_EQ(zero_bits("ld.shared.u32 %r3, [%r1];"), 0u);
  EXPECT_EQ(zero_bits("mov.u32 %r2, s; shl.b32 %r3, %r1, 3; add.s32 %r4, %r3, %r2; ld.shared.u32 "
                      "%r5, [%r4];"),
            3u);
  EXPECT_EQ(zero_bits("mov.u64 %d1, s; mad.wide.u32 %d2, %r1, 12, %d1; cvt.u32.u64 %r2, %d2; "
                      "ld.shared.u32 %r5, [%r2];"),
            2u);
  EXPECT_EQ(zero_bits("and.b32 %r2, %r1, -32; ld.shared.u32 %r5, [%r2];"), 5u);
}

TEST(PtxZeroBits, WhatIsNotKnown) {
  EXPECT_EQ(zero_bits("shl.b32 %r3, %r1, 3; mul.hi.u32 %r4, %r3, 8; ld.shared.u32 %r5, [%r4];"),
            0u);
  EXPECT_EQ(zero_bits("shr.u32 %r3, %r1, 3; ld.shared.u32 %r5, [%r3];"), 0u);
  EXPECT_EQ(zero_bits("mov.f32 %f1, 0f00000000; cvt.rzi.u32.f32 %r3, %f1; ld.shared.u32 %r5, "
                      "[%r3];"),
            0u);
}

// All definitions count, those of a loop too.
TEST(PtxZeroBits, SeveralDefinitions) {
  EXPECT_EQ(zero_bits("mov.u32 %r2, s;\nAGAIN: ld.shared.u32 %r3, [%r2]; add.s32 %r2, %r2, 8; @%p1 "
                      "bra AGAIN;\nld.shared.u32 %r4, [%r2];"),
            3u);
  EXPECT_EQ(zero_bits("mov.u32 %r2, s; @%p1 add.s32 %r2, %r2, 1; ld.shared.u32 %r4, [%r2];"), 0u);
}

} // namespace
} // namespace gmt::ptx
