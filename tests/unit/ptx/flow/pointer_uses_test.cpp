// SPDX-License-Identifier: Apache-2.0
// What a kernel does with the memory behind its pointers.
#include "ptx/flow/pointer_uses.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

// Of the pointers `p` and `q`: r read, w written, = by position, - nothing. `n` is a number, `m`
// one of 64 bits; %d3 is four times the thread's number, %d4 the same of `n`.
std::string uses_of_pointers(const std::string& statements) {
  const Module module = parse_module(test::module_text(
    ".func f(.param .b64 a) ;\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, "
    ".param .u64 m, .param .align 8 .b8 s[32])\n{\n.reg .pred %p<9>; .reg .b32 %r<9>; "
    ".reg .b64 %d<20>;\nld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\nld.param.u32 %r1, [n];\n"
    "ld.param.u64 %d9, [m];\nmov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.s32 %r5, %r2, %r3, %r4; mul.wide.s32 %d3, %r5, 4; mul.wide.s32 %d4, %r1, 4;\n" +
    statements + "\n}\n"));
  const Function& function = *module.find_function("k");
  const std::vector<PointerUse> uses =
    pointer_uses_of(module, function, parse_body(module, function));
  EXPECT_EQ(uses.size(), 5u);
  std::string text;
  for (std::size_t i = 0; i < 2; ++i) {
    const PointerUse& use = uses[i];
    std::string one = use.is_read ? "r" : "";
    if (use.is_written) one += "w";
    if (use.is_by_position) one += "=";
    text += (i == 0 ? "" : " ") + (one.empty() ? "-" : one);
  }
  return text;
}

TEST(PtxPointerUses, ReadsAndWritesAreApart) {
  EXPECT_EQ(uses_of_pointers("add.s64 %d5, %d1, %d3; ld.global.u32 %r6, [%d5]; "
                             "add.s64 %d6, %d2, %d3; st.global.u32 [%d6], %r6;"),
            "r= w=");
  EXPECT_EQ(uses_of_pointers("st.shared.u32 [%d1], %r1;"), "- -");
}

TEST(PtxPointerUses, AGuardAndALoopChangeNoPosition) {
  EXPECT_EQ(uses_of_pointers("setp.ge.s32 %p1, %r5, %r1; @%p1 bra E; L: mul.wide.s32 %d5, %r5, 4; "
                             "add.s64 %d6, %d1, %d5; st.global.u32 [%d6], %r5; "
                             "add.s32 %r5, %r5, %r3; setp.lt.s32 %p1, %r5, %r1; @%p1 bra L; "
                             "E: ret;"),
            "w= -");
}

TEST(PtxPointerUses, ASizeInTheAddressMovesTheBeginning) {
  EXPECT_EQ(uses_of_pointers("add.s64 %d5, %d1, %d4; st.global.u32 [%d5], 1;"), "w -");
  EXPECT_EQ(uses_of_pointers("shl.b64 %d5, %d9, 2; add.s64 %d6, %d1, %d5; "
                             "st.global.u32 [%d6], 1;"),
            "w -")
    << "of 64 bits";
  EXPECT_EQ(uses_of_pointers("ld.global.u32 %r6, [%d2]; mul.wide.s32 %d5, %r6, 4; "
                             "add.s64 %d6, %d1, %d5; st.global.u32 [%d6], 1;"),
            "w r=")
    << "of memory";
  EXPECT_EQ(uses_of_pointers("st.global.u32 [%d1], 1; add.s64 %d5, %d1, %d4; "
                             "ld.global.u32 %r6, [%d5];"),
            "rw -")
    << "one of two";
}

TEST(PtxPointerUses, OfAKernelThatMaySynchronizeNothingIsSaid) {
  const std::string plain = "ld.global.u32 %r6, [%d1]; ";
  EXPECT_EQ(uses_of_pointers(plain), "r= -");
  for (const char* more :
       {"atom.global.add.u32 %r6, [%d2], 1;", "red.global.add.u32 [%d2], 1;",
        "ld.volatile.global.u32 %r6, [%d2];", "st.release.gpu.global.u32 [%d2], 1;", "membar.sys;",
        "fence.acq_rel.gpu;", "{ .param .b64 a; st.param.b64 [a], %d2; call.uni f, (a); }"})
    EXPECT_EQ(uses_of_pointers(plain + more), "- -") << more;
  EXPECT_EQ(uses_of_pointers(plain + "atom.shared.add.u32 %r6, [%r5], 1; membar.cta; bar.sync 0;"),
            "r= -");
}

TEST(PtxPointerUses, WhatIsNotFollowedIsNotSaid) {
  EXPECT_EQ(uses_of_pointers("ld.param.u64 %d5, [s+8]; st.global.u32 [%d5], 1;"), "- -");
  EXPECT_EQ(uses_of_pointers("selp.b64 %d5, %d1, %d2, %p1; st.global.u32 [%d5], 1;"), "- -");
}

} // namespace
} // namespace gmt::ptx
