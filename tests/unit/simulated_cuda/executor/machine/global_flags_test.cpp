// SPDX-License-Identifier: Apache-2.0
// What locks and flags in global memory order: the blocks that use them, and those that learn of
// these by other flags.
#include "tests/unit/simulated_cuda/executor/support/global_race_runner.h"

namespace gmt::executor {
namespace {

class GlobalFlags : public GlobalRaceRunner {};

// The first thread of each block adds to a word under a lock, which %x4 points to.
std::string added_under(const std::string& lock) {
  return "@!%p0 bra E; " + lock +
         "\nL: atom.global.cas.b32 %r5, [%x4], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;\n"
         "membar.gl; ld.global.u32 %r6, [%x1]; add.u32 %r6, %r6, 1; st.global.u32 [%x1], %r6;\n"
         "membar.gl; atom.global.exch.b32 %r7, [%x4], 0;";
}

TEST_F(GlobalFlags, AnotherLockOrdersNothing) {
  expect_silent(added_under("mov.u64 %x4, %x0;"));
  EXPECT_EQ(races(added_under("and.b32 %r8, %r1, 1; mad.wide.u32 %x4, %r8, 4, %x0;")).errors, 2u);
  EXPECT_EQ(races(added_under("mad.wide.u32 %x4, %r1, 256, %x0;")).errors, 2u);
}

// A flag that is stored behind a fence, and a loop that waits for it.
std::string raised(const std::string& flag) {
  return "membar.gl; st.volatile.global.u32 [%x0 + " + flag + "], 1;";
}
std::string waits(const std::string& name, const std::string& flag) {
  return name + ": ld.volatile.global.u32 %r5, [%x0 + " + flag +
         "]; setp.eq.u32 %p2, %r5, 0; @%p2 bra " + name + "; membar.gl;\n";
}

TEST_F(GlobalFlags, WhatABlockLearntGoesOn) {
  const std::string begin =
    "@!%p0 bra E; setp.eq.u32 %p3, %r1, 1; @%p3 bra B; setp.eq.u32 %p4, %r1, 2; @%p4 bra C;\n";
  const std::string first = "st.global.u32 [%x1], %r4; " + raised("0") + "bra E;\n";
  const std::string third = "ld.global.u32 %r6, [%x1]; st.global.u32 [%x3], %r6;";
  // By way of the second block, and of a flag with another width
  expect_silent(begin + first + "B: " + waits("D", "0") + raised("64") +
                  "bra E;\nC: " + waits("F", "64") + third,
                {3});
  expect_silent(
    begin + first + "B: " + waits("D", "0") +
      "st.volatile.global.v2.u32 [%x0 + 64], {%r4, %r4}; bra E;\nC: " + waits("F", "68") + third,
    {3});
  // The second one does not wait before it raises its own flag
  EXPECT_EQ(
    races(begin + first + "B: " + raised("64") + "bra E;\nC: " + waits("F", "64") + third, {3})
      .errors,
    1u);
}

// Of three blocks in a row, the one in the middle: what an acquiring load learnt goes on by a
// releasing store or behind a fence, and that of a relaxed load behind a fence alone.
TEST_F(GlobalFlags, ARelaxedAccessHandsNothingOn) {
  const auto middle = [](const std::string& load, const std::string& between,
                         const std::string& store) {
    return "@!%p0 bra E; setp.eq.u32 %p3, %r1, 1; @%p3 bra B; setp.eq.u32 %p4, %r1, 2; @%p4 bra C;\n"
           "st.global.u32 [%x1], %r4; st.release.gpu.global.u32 [%x0], 1; bra E;\n"
           "B: ld." +
           load + ".gpu.global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra B; " + between +
           " st." + store +
           ".gpu.global.u32 [%x0 + 64], 1; bra E;\n"
           "C: ld.acquire.gpu.global.u32 %r5, [%x0 + 64]; setp.eq.u32 %p2, %r5, 0; @%p2 bra C;\n"
           "ld.global.u32 %r6, [%x1]; st.global.u32 [%x3], %r6;";
  };
  expect_silent(middle("acquire", "", "release"), {3});
  expect_silent(middle("relaxed", "membar.gl;", "relaxed"), {3});
  EXPECT_EQ(races(middle("acquire", "", "relaxed"), {3}).errors, 1u);
  EXPECT_EQ(races(middle("relaxed", "", "release"), {3}).errors, 1u);
  EXPECT_EQ(races(middle("relaxed", "", "relaxed"), {3}).errors, 1u);
}

// Programs that poll a volatile flag often have no fence behind that. Those that write
// memory_order_relaxed ask for no order.
TEST_F(GlobalFlags, ARelaxedPollLearnsNothing) {
  const auto polled = [](const std::string& load, const std::string& behind) {
    return "@!%p0 bra E; @!%p1 bra C; st.global.u32 [%x1], %r4;\n"
           "st.release.gpu.global.u32 [%x0], 1; bra E;\n"
           "C: ld." +
           load + ".global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra C; " + behind +
           "ld.global.u32 %r6, [%x1]; st.global.u32 [%x3 + 64], %r6;";
  };
  expect_silent(polled("acquire.gpu", ""), {2});
  expect_silent(polled("relaxed.gpu", "membar.gl;"), {2});
  expect_silent(polled("relaxed.gpu", "atom.acquire.gpu.global.or.b32 %r7, [%x0], 0;"), {2});
  expect_silent(polled("volatile", ""), {2});
  EXPECT_EQ(races(polled("relaxed.gpu", ""), {2}).errors, 1u);
}

// A flag lets others know what was done before a fence, also where each thread has its own fence
// and a barrier stands between them and the flag.
TEST_F(GlobalFlags, AFenceIsBehindTheData) {
  const auto handed = [](const std::string& before, const std::string& behind) {
    return "@!%p1 bra C; " + before + " st.global.u32 [%x3], %r0; " + behind +
           " bar.sync 0; @%p0 st.relaxed.gpu.global.u32 [%x0], 1; bra E;\n"
           "C: @!%p0 bra F; " +
           waits("D", "0") +
           "F: bar.sync 0; sub.u32 %r5, 63, %r0; mad.wide.u32 %x4, %r5, 4, %x1;\n"
           "ld.global.u32 %r6, [%x4]; st.global.u32 [%x3], %r6;";
  };
  expect_silent(handed("", "membar.gl;"), {2});
  EXPECT_EQ(races(handed("membar.gl;", ""), {2}).errors, 1u);
}

// A loaded flag may take the place of its address.
TEST_F(GlobalFlags, AFlagThatIsLoadedOverItsAddress) {
  expect_silent("@!%p0 bra E; @!%p1 bra C; st.global.u32 [%x1], %r4; membar.gl;\n"
                "st.volatile.global.u64 [%x0], 1; bra E;\n"
                "C: mov.u64 %x4, %x0; ld.volatile.global.u64 %x4, [%x4];\n"
                "setp.eq.u64 %p2, %x4, 0; @%p2 bra C; membar.gl;\n"
                "ld.global.u32 %r6, [%x1]; st.global.u32 [%x3 + 64], %r6;",
                {2});
}

// More words than are kept apart are as one.
TEST_F(GlobalFlags, ManyLocks) {
  expect_silent("@!%p0 bra E; mov.u64 %x5, %x0; mov.u32 %r9, 0;\n"
                "N: mov.u64 %x4, %x5; sub.u64 %x7, %x5, %x0;\n"
                "add.u64 %x7, %x7, %x1;\n"
                "L: atom.global.cas.b32 %r5, [%x4], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;\n"
                "membar.gl; ld.global.u32 %r6, [%x7]; add.u32 %r6, %r6, 1;\n"
                "st.global.u32 [%x7], %r6; membar.gl; atom.global.exch.b32 %r7, [%x4], 0;\n"
                "add.u64 %x5, %x5, 4; add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 600; @%p3 bra N;");
}

} // namespace
} // namespace gmt::executor
