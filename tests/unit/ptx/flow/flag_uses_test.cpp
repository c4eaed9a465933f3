// SPDX-License-Identifier: Apache-2.0
// Loads that only ask, and stores that only say that it is so.
#include "ptx/flow/flag_uses.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

// A letter for each load and store: t for a test, p for another poll, l for another one that is
// looked at, r for one that raises, - for others.
std::string flags_of(const std::string& statements) {
  const Module module = parse_module(test::module_text(
    ".global .u32 g;\n.visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; "
    ".reg .b32 %r<9>; .reg .b64 %d<9>;\n" +
    statements + "\n}\n"));
  const Body body = parse_body(module, *module.find_function("k"));
  const FlagUses uses = flag_uses_of(body);
  std::string letters;
  for (std::size_t i = 0; i < body.instructions.size(); ++i) {
    const std::string_view opcode = body.mnemonic(body.instructions[i]).opcode;
    const char looked = uses.is_looked_at[i] ? 'l' : '-';
    if (opcode == "ld") letters += uses.is_test[i] ? 't' : uses.is_poll[i] ? 'p' : looked;
    if (opcode == "st") letters += uses.is_raise[i] ? 'r' : '-';
  }
  return letters;
}

TEST(PtxFlagUses, WhatIsOnlyComparedIsATest) {
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; setp.ne.s32 %p1, %r1, 0; @%p1 ret;"), "t");
  EXPECT_EQ(flags_of("ld.u8 %h1, [%d1]; and.b16 %h2, %h1, 255; setp.eq.s16 %p1, %h2, 0;"), "t");
  EXPECT_EQ(flags_of("ld.v2.u32 {%r1, %r2}, [%d1]; setp.eq.u32 %p1, %r1, %r2;"), "t");
}

TEST(PtxFlagUses, WhatGoesOnIsAValue) {
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1];"), "p") << "nothing compares it";
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; setp.ne.s32 %p1, %r1, 0; add.s32 %r2, %r1, 1;"), "l");
  EXPECT_EQ(flags_of("ld.u64 %d2, [%d1]; setp.ne.u64 %p1, %d2, 0; ld.u32 %r1, [%d2];"), "lp");
  EXPECT_EQ(flags_of("ld.u8 %h1, [%d1]; cvt.u32.u16 %r1, %h1; setp.eq.u32 %p1, %r1, 0;\n"
                     "xor.b32 %r2, %r1, 1;"),
            "l");
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; add.s32 %r2, %r2, %r1; st.u32 [%d2], %r2;"), "--");
}

TEST(PtxFlagUses, WaitsForAValueLookAtIt) {
  const std::string use = " st.u64 [%d4], %d1;";
  EXPECT_EQ(flags_of("ld.u64 %d1, [%d2]; shr.u64 %d3, %d1, 32; setp.eq.u64 %p1, %d3, 0;" + use),
            "l-");
  EXPECT_EQ(flags_of("ld.f64 %d1, [%d2]; setp.eq.f64 %p1, %d1, 0d0000000000000000;" + use), "l-");
  EXPECT_EQ(flags_of("ld.f64 %d1, [%d2]; setp.gt.f64 %p1, %d1, %d3;" + use), "--") << "a maximum";
  EXPECT_EQ(flags_of("ld.u64 %d1, [%d2]; add.u64 %d3, %d3, %d1;" + use), "--");
  EXPECT_EQ(flags_of("ld.u64 %d1, [%d2]; st.local.u64 [%d3], %d1;"), "l-") << "not known";
}

TEST(PtxFlagUses, AnAtomicLooksAgain) {
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; add.s32 %r2, %r1, 1;\n"
                     "atom.global.cas.b32 %r3, [%d1], %r1, %r2;"),
            "p");
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; add.s32 %r2, %r1, 1; red.global.min.u32 [%d2], %r2;"),
            "p");
  EXPECT_EQ(flags_of("ld.u64 %d2, [%d1]; red.global.min.u32 [%d2], 1;"), "-") << "an address";
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; add.s32 %r2, %r1, 1; st.u32 [%d2], %r2;"), "--");
}

TEST(PtxFlagUses, ConstantsRaise) {
  EXPECT_EQ(flags_of("st.u32 [%d1], 1;"), "r");
  EXPECT_EQ(flags_of("mov.u32 %r1, 1; st.u32 [%d1], %r1;"), "r");
  EXPECT_EQ(flags_of("st.u32 [%d1], 0;"), "-") << "memory begins so";
  EXPECT_EQ(flags_of("mov.u32 %r1, 1; @%p1 mov.u32 %r1, %r2; st.u32 [%d1], %r1;"), "-");
  EXPECT_EQ(flags_of("mov.u32 %r1, 1; L: st.u32 [%d1], %r1;"), "r") << "nothing else writes it";
  EXPECT_EQ(flags_of("mov.u32 %r1, 1; L: st.u32 [%d1], %r1; mov.u32 %r1, 2; bra L;"), "-");
  EXPECT_EQ(flags_of("st.v2.u32 [%d1], {%r1, %r2};"), "-");
}

// Compilers keep what was loaded in the register in which they put what they know of it.
TEST(PtxFlagUses, ATestIsOneThoughItsRegisterIsStored) {
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; L: setp.ne.s32 %p1, %r1, 0; @%p1 ret; mov.u32 %r1, 0;\n"
                     "@%p2 bra M; mov.u32 %r1, 1; st.u32 [%d1], %r1; M: @%p3 bra L;"),
            "tr");
}

TEST(PtxFlagUses, WhatIsTestedBeforeIsRaised) {
  const std::string test = "ld.u32 %r1, [%d1+4]; setp.ne.s32 %p1, %r1, 0; @%p1 ret;\n";
  EXPECT_EQ(flags_of(test + "st.u32 [%d1+4], %r2;"), "tr");
  EXPECT_EQ(flags_of(test + "st.u32 [%d1], %r2;"), "t-");
  EXPECT_EQ(flags_of(test + "st.u32 [%d1+4], 0;"), "t-") << "it goes down";
  EXPECT_EQ(flags_of("st.u32 [%d1+4], %r2;" + test), "-t");
  EXPECT_EQ(flags_of("ld.u32 %r1, [g]; setp.ne.s32 %p1, %r1, 0; @%p1 ret; st.u32 [g], %r2;"), "tr");
  EXPECT_EQ(flags_of("ld.u32 %r1, [%d1]; setp.ge.s32 %p1, %r1, %r2; @%p1 ret;\n"
                     "add.s32 %r3, %r1, %r2; st.u32 [%d1], %r3;"),
            "l-");
}

} // namespace
} // namespace gmt::ptx
