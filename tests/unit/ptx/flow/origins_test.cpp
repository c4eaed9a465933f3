// SPDX-License-Identifier: Apache-2.0
// From which parameter an address comes.
#include "ptx/flow/origins.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

// The origin of the address of the last instruction. `p` and `q` are pointers, `n` is a number.
std::string origin_of(const std::string& statements) {
  const Module module = parse_module(test::module_text(
    ".global .b8 g[64];\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, "
    ".param .align 8 .b8 s[32])\n{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<20>;\n"
    "ld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\nld.param.u32 %r1, [n];\n"
    "mul.wide.s32 %d3, %r1, 4;\n" +
    statements + "\n}\n"));
  const Function& function = *module.find_function("k");
  const Body body = parse_body(module, function);
  const std::vector<Origin> origins = origins_of(function, body);
  const Instruction& last = body.instructions.back();
  const Operand& address = body.operand(last, body.mnemonic(last).opcode == "ld" ? 1 : 0);
  const Origin& origin = origins[body.parts(address)->id];
  switch (origin.kind) {
  case OriginKind::kUnwritten: return "unwritten";
  case OriginKind::kNumber: return "number";
  case OriginKind::kLoaded: return "loaded";
  case OriginKind::kSeveral: return "several";
  case OriginKind::kVariable:
    return std::string(origin.is_of_body ? body.variables[origin.variable].name
                                         : module.variables()[origin.variable].name);
  case OriginKind::kParameter: break;
  }
  const std::string name(function.parameters[origin.parameter].name);
  return origin.offset == 0 ? name : name + "+" + std::to_string(origin.offset);
}

TEST(PtxOrigins, SumsWithNumbersStayInTheBlock) {
  EXPECT_EQ(origin_of("ld.u32 %r2, [%d1];"), "p");
  EXPECT_EQ(origin_of("cvta.to.global.u64 %d4, %d2; add.s64 %d5, %d4, %d3; st.u32 [%d5], %r1;"),
            "q");
  EXPECT_EQ(origin_of("mad.wide.u32 %d4, %r1, 8, %d1; add.s64 %d5, %d4, -16; ld.u32 %r2, [%d5];"),
            "p");
  EXPECT_EQ(origin_of("sub.s64 %d4, %d1, %d3; ld.u32 %r2, [%d4];"), "p");
  EXPECT_EQ(origin_of("and.b64 %d4, %d1, -16; ld.u32 %r2, [%d4];"), "p");
  EXPECT_EQ(origin_of("ld.param.v2.u64 {%d4, %d5}, [s+8]; ld.u32 %r2, [%d5];"), "s+16");
}

TEST(PtxOrigins, AScaledParameterIsAnIndex) {
  EXPECT_EQ(origin_of("shl.b64 %d4, %d2, 3; add.s64 %d5, %d1, %d4; ld.u32 %r2, [%d5];"), "p");
  EXPECT_EQ(origin_of("cvt.u32.u64 %r3, %d2; mad.wide.s32 %d5, %r3, 4, %d1; ld.u32 %r2, [%d5];"),
            "p");
}

TEST(PtxOrigins, TwoPointersAreSeveral) {
  EXPECT_EQ(origin_of("add.s64 %d4, %d1, %d2; ld.u32 %r2, [%d4];"), "several");
  EXPECT_EQ(origin_of("sub.s64 %d4, %d2, %d1; add.s64 %d5, %d1, %d4; ld.u32 %r2, [%d5];"),
            "several");
  EXPECT_EQ(origin_of("selp.b64 %d4, %d1, %d2, %p1; ld.u32 %r2, [%d4];"), "several");
  EXPECT_EQ(origin_of("selp.b64 %d4, %d1, %d1, %p1; ld.u32 %r2, [%d4];"), "p");
  EXPECT_EQ(origin_of("shr.u64 %d4, %d1, 1; shl.b64 %d5, %d4, 1; ld.u32 %r2, [%d5];"), "several");
  EXPECT_EQ(origin_of("mov.b64 {%r2, %r3}, %d1; mov.b64 %d4, {%r2, %r3}; ld.u32 %r2, [%d4];"),
            "several");
}

// Such as ptrs[i] + offset.
TEST(PtxOrigins, ALoadedPointerMayBeWhatAParameterIsAddedTo) {
  const std::string use = "add.s64 %d5, %d4, %d2; ld.u32 %r2, [%d5];";
  EXPECT_EQ(origin_of("ld.u64 %d4, [%d1]; " + use), "several");
  EXPECT_EQ(origin_of("ld.v2.b64 {%d6, %d4}, [%d1]; " + use), "several");
  EXPECT_EQ(origin_of("atom.exch.b64 %d4, [%d1], %d3; " + use), "several");
  EXPECT_EQ(origin_of("ld.v2.u32 {%r2, %r3}, [%d1]; mov.b64 %d4, {%r2, %r3}; " + use), "several");
  EXPECT_EQ(origin_of("ld.u64 %d6, [%d1]; selp.b64 %d4, %d6, 0, %p1; " + use), "several");
  EXPECT_EQ(origin_of("ld.u64 %d6, [%d1]; add.s64 %d4, %d6, 16; " + use), "several");
  EXPECT_EQ(origin_of("ld.u64 %d6, [%d1]; shl.b64 %d4, %d6, 2; " + use), "q");
  EXPECT_EQ(origin_of("ld.f64 %d6, [%d1]; cvt.rzi.s64.f64 %d4, %d6; " + use), "q");
  EXPECT_EQ(origin_of("ld.u32 %r3, [%d1]; cvt.u64.u32 %d4, %r3; " + use), "q");
}

TEST(PtxOrigins, OtherValues) {
  EXPECT_EQ(origin_of("ld.u64 %d4, [%d1]; ld.u32 %r2, [%d4];"), "loaded");
  EXPECT_EQ(origin_of("ld.u32 %r3, [%d1]; cvt.u64.u32 %d4, %r3; ld.u32 %r2, [%d4];"), "number");
  EXPECT_EQ(origin_of("ld.u32 %r2, [%d9];"), "unwritten");
}

TEST(PtxOrigins, AddressesOfVariables) {
  EXPECT_EQ(origin_of("mov.u64 %d4, g; add.s64 %d5, %d4, %d3; ld.u32 %r2, [%d5];"), "g");
  EXPECT_EQ(origin_of("mov.u64 %d4, g; add.s64 %d5, %d4, %d1; ld.u32 %r2, [%d5];"), "several");
  EXPECT_EQ(origin_of(".shared .b8 t[64]; mov.u64 %d4, t; cvta.shared.u64 %d5, %d4;"
                      "cvta.to.shared.u64 %d6, %d5; cvt.u32.u64 %r3, %d6; add.s32 %r4, %r3, %r1;"
                      "ld.shared.u32 %r2, [%r4];"),
            "t");
  EXPECT_EQ(origin_of("mov.u64 %d4, g; cvt.u16.u64 %r3, %d4; ld.shared.u32 %r2, [%r3];"), "number");
  EXPECT_EQ(origin_of(".shared .b8 t[64]; .shared .b8 o[64]; mov.u32 %r3, t; mov.u32 %r4, o;"
                      "selp.b32 %r5, %r3, %r4, %p1; ld.shared.u32 %r2, [%r5];"),
            "several");
}

TEST(PtxOrigins, LoopsThatMoveAPointer) {
  EXPECT_EQ(origin_of("bra MIDDLE;\nAGAIN: add.s64 %d5, %d4, 4; mov.u64 %d4, %d5; bra LAST;\n"
                      "MIDDLE: mov.u64 %d4, %d1; @%p1 bra AGAIN;\nLAST: ld.u32 %r2, [%d4];"),
            "p");
  EXPECT_EQ(origin_of("mov.u64 %d4, %d1;\nAGAIN: add.s64 %d4, %d4, 4; @%p1 bra AGAIN;\n"
                      "mov.u64 %d4, %d2;\nld.u32 %r2, [%d4];"),
            "several");
}

} // namespace
} // namespace gmt::ptx
