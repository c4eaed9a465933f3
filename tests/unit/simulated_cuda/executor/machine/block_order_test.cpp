// SPDX-License-Identifier: Apache-2.0
// What orders accesses of global memory by two blocks: each pattern with a twin that lacks one
// thing. Right ones are tried in several orders, and by two workers.
#include "tests/unit/simulated_cuda/executor/support/global_race_runner.h"

namespace gmt::executor {
namespace {

class BlockOrderTest : public GlobalRaceRunner {};

// The last block to come sums what all have stored.
std::string last_block(const std::string& fence) {
  return "@!%p0 bra S; mad.wide.u32 %x4, %r1, 4, %x1; st.global.u32 [%x4], 5;\n" + fence +
         "atom.global.inc.u32 %r5, [%x0], 1000; sub.u32 %r6, %r4, 1; setp.eq.u32 %p2, %r5, %r6;\n"
         "selp.u32 %r7, 1, 0, %p2; st.shared.u32 [s], %r7;\n"
         "S: bar.sync 0; ld.shared.u32 %r7, [s]; setp.eq.u32 %p2, %r7, 0; @%p2 bra E;\n"
         "setp.ge.u32 %p2, %r0, %r4; @%p2 bra E; mad.wide.u32 %x4, %r0, 4, %x1;\n"
         "ld.global.u32 %r8, [%x4];";
}

TEST_F(BlockOrderTest, TheLastBlockSumsBehindAFence) {
  expect_silent(last_block("membar.gl;"), {8});
  EXPECT_EQ(races(last_block(""), {8}).errors, 1u);
  EXPECT_EQ(races(last_block("membar.cta;"), {8}).errors, 1u);
}

// Each block waits for the one before it.
std::string look_back(const std::string& release, const std::string& acquire) {
  return "@!%p0 bra E; mad.wide.u32 %x4, %r1, 4, %x1; mad.wide.u32 %x5, %r1, 4, %x0;\n"
         "mov.u32 %r6, 1; @%p1 bra P; W: ld.volatile.global.u32 %r5, [%x5 + -4];\n"
         "setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n" +
         acquire +
         "ld.global.u32 %r6, [%x4 + -4]; add.u32 %r6, %r6, 1;\n"
         "P: st.global.u32 [%x4], %r6;\n" +
         release + "st.volatile.global.u32 [%x5], 1;";
}

TEST_F(BlockOrderTest, LookingBackNeedsAFence) {
  expect_silent(look_back("membar.gl;", "membar.gl;"), {12});
  EXPECT_NE(races(look_back("", ""), {12}).errors, 0u);
}

TEST_F(BlockOrderTest, ReleaseAndAcquireAreFencesThemselves) {
  expect_silent(
    "@!%p0 bra E; @!%p1 bra W; st.global.u32 [%x1], 5; st.release.gpu.global.u32 [%x0], 1;\n"
    "bra E; W: ld.acquire.gpu.global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n"
    "ld.global.u32 %r6, [%x1];",
    {2});
  expect_silent(
    "@!%p0 bra E; @!%p1 bra W; st.global.u32 [%x1], 5;\n"
    "atom.add.release.gpu.global.u32 %r5, [%x0], 1; bra E;\n"
    "W: atom.add.acquire.gpu.global.u32 %r5, [%x0], 0; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n"
    "ld.global.u32 %r6, [%x1];",
    {2});
  EXPECT_EQ(races("@!%p0 bra E; @!%p1 bra W; st.global.u32 [%x1], 5;\n"
                  "st.release.cta.global.u32 [%x0], 1; bra E;\n"
                  "W: ld.acquire.gpu.global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n"
                  "ld.global.u32 %r6, [%x1];",
                  {2})
              .errors,
            2u)
    << "the data and the flag";
}

// A word that a thread of each block counts up under a lock.
std::string locked(const std::string& fence) {
  return "@!%p0 bra E; L: atom.global.cas.b32 %r5, [%x0], 0, 1; setp.ne.u32 %p2, %r5, 0;\n"
         "@%p2 bra L;\n" +
         fence + "ld.global.u32 %r5, [%x1]; add.u32 %r5, %r5, 1; st.global.u32 [%x1], %r5;\n" +
         fence + "atom.global.exch.b32 %r5, [%x0], 0;";
}

TEST_F(BlockOrderTest, ALockNeedsItsFences) {
  expect_silent(locked("membar.gl;"), {8});
  EXPECT_NE(races(locked(""), {8}).errors, 0u);
}

TEST_F(BlockOrderTest, ALockWithinABlock) {
  const std::string all = "and.b32 %r9, %r0, 31; setp.eq.u32 %p0, %r9, 0;\n";
  expect_silent(all + locked("membar.gl;"), {2}, {128});
  EXPECT_NE(races(all + locked(""), {1}, {128}).errors, 0u);
}

// Block 0 fills slots and says so in a flag of each; the others take tickets and read the slots.
TEST_F(BlockOrderTest, AQueueWithTickets) {
  expect_silent(
    "@!%p0 bra E; @!%p1 bra C; mov.u32 %r5, 0;\n"
    "P: mad.wide.u32 %x4, %r5, 4, %x1; st.global.u32 [%x4], %r5; membar.gl;\n"
    "st.volatile.global.u32 [%x4 + 1024], 1; add.u32 %r5, %r5, 1;\n"
    "setp.lt.u32 %p2, %r5, 12; @%p2 bra P; bra E;\n"
    "C: atom.global.add.u32 %r5, [%x0], 1; setp.ge.u32 %p2, %r5, 12; @%p2 bra E;\n"
    "mad.wide.u32 %x4, %r5, 4, %x1;\n"
    "W: ld.volatile.global.u32 %r6, [%x4 + 1024]; setp.eq.u32 %p2, %r6, 0; @%p2 bra W;\n"
    "membar.gl; ld.global.u32 %r6, [%x4]; st.global.u32 [%x4], 0; bra C;");
}

// All threads of block 0 produce, one of them says so.
std::string hand_over(const std::string& between, const std::string& behind = "") {
  return "@!%p1 bra C; st.global.u32 [%x2], %r0;\n" + between +
         "@!%p0 bra E; membar.gl; st.volatile.global.u32 [%x1], 1;\n" + behind +
         "bra E; C: @!%p0 bra D; W: ld.volatile.global.u32 %r5, [%x1];\n"
         "setp.eq.u32 %p2, %r5, 0; @%p2 bra W; membar.gl; D: bar.sync 0;\n"
         "mad.wide.u32 %x4, %r0, 4, %x0; ld.global.u32 %r6, [%x4];";
}

TEST_F(BlockOrderTest, AProducerNeedsABarrierBeforeItsFlag) {
  expect_silent(hand_over("bar.sync 0;"), {3});
  EXPECT_EQ(races(hand_over(""), {2}).errors, 1u);
  EXPECT_EQ(races(hand_over("bar.sync 0;", "st.global.u32 [%x0], 9;"), {2}).errors, 1u)
    << "a store behind the flag";
}

TEST_F(BlockOrderTest, ASequenceLockByTheBook) {
  expect_silent(
    "@!%p0 bra E; @!%p1 bra R; st.relaxed.gpu.global.u32 [%x0], 1; fence.acq_rel.gpu;\n"
    "st.relaxed.gpu.global.u32 [%x1], 7; st.relaxed.gpu.global.u32 [%x1 + 4], 7;\n"
    "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%x0], 2; bra E;\n"
    "R: ld.acquire.gpu.global.u32 %r5, [%x0]; and.b32 %r6, %r5, 1; setp.ne.u32 %p2, %r6, 0;\n"
    "@%p2 bra R; ld.relaxed.gpu.global.u32 %r7, [%x1]; ld.relaxed.gpu.global.u32 %r8, [%x1 + 4];\n"
    "fence.acq_rel.gpu; ld.relaxed.gpu.global.u32 %r9, [%x0]; setp.ne.u32 %p2, %r5, %r9;\n"
    "@%p2 bra R;");
}

// A barrier of all blocks, with a counter; behind it each block reads what another one stored.
std::string grid_barrier(const std::string& fence) {
  return "mov.u32 %r10, 0; G: add.u32 %r10, %r10, %r4; st.global.u32 [%x2 + 64], %r10; bar.sync 0;\n"
         "@!%p0 bra A;\n" +
         fence +
         "atom.global.add.u32 %r5, [%x1], 1; W: ld.volatile.global.u32 %r5, [%x1];\n"
         "setp.lt.u32 %p2, %r5, %r10; @%p2 bra W;\n" +
         fence +
         "A: bar.sync 0; add.u32 %r6, %r1, 1; rem.u32 %r6, %r6, %r4;\n"
         "mad.lo.u32 %r6, %r6, %r3, %r0; mad.wide.u32 %x4, %r6, 4, %x0;\n"
         "ld.global.u32 %r7, [%x4 + 64]; bar.sync 0; @!%p0 bra B;\n" +
         fence +
         "atom.global.add.u32 %r5, [%x1 + 4], 1; V: ld.volatile.global.u32 %r5, [%x1 + 4];\n"
         "setp.lt.u32 %p2, %r5, %r10; @%p2 bra V;\n" +
         fence + "B: bar.sync 0; mul.lo.u32 %r11, %r4, 5; setp.lt.u32 %p2, %r10, %r11; @%p2 bra G;";
}

TEST_F(BlockOrderTest, ABarrierOfTheGrid) {
  cooperative_ = true;
  expect_silent(grid_barrier("membar.gl;"), {4});
  EXPECT_NE(races(grid_barrier(""), {4}).errors, 0u);
}

// A flag that one side uses without volatile is noted, and the data behind it is no error of its
// own, unless no fence lies between.
TEST_F(BlockOrderTest, APolledFlagIsNoted) {
  const auto polled = [&](const std::string& fence, const std::string& store,
                          const std::string& load) {
    return "@!%p0 bra E; @!%p1 bra W; st.global.u32 [%x1], 5;\n" + fence + "st." + store +
           "global.u32 [%x0], 1;\nbra E; W: ld." + load +
           "global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n" + fence +
           "ld.global.u32 %r6, [%x1];";
  };
  EXPECT_EQ(races(polled("membar.gl;", "", "volatile."), {2}), (Found{0, 1}));
  EXPECT_EQ(races(polled("membar.gl;", "volatile.", ""), {2}), (Found{0, 1}));
  EXPECT_EQ(
    races("@!%p0 bra E; @!%p1 bra W; st.global.u32 [%x1], 5; membar.gl;\n"
          "st.global.cg.u32 [%x0], 1; bra E;\n"
          "W: ld.global.cg.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W; membar.gl;\n"
          "ld.global.u32 %r6, [%x1];",
          {2}),
    (Found{0, 1}));
  EXPECT_EQ(races(polled("", "", "volatile."), {2}), (Found{1, 1}));
}

// Block 1 overwrites what block 0 has loaded before its flag. What the flag is to hand over the
// other way, from a store to a load, stays an error.
TEST_F(BlockOrderTest, ALoadInFrontOfARelaxedFlagIsNoted) {
  const auto overwritten = [](const std::string& meet, const std::string& store,
                              const std::string& load) {
    return "mad.wide.u32 %x4, %r0, 4, %x0; @!%p1 bra C; ld.global.u32 %r5, [%x4]; " + meet +
           "st.global.u32 [%x4 + 512], %r5;\n" + store + "bra E; C:" + load +
           "bar.sync 0; st.global.u32 [%x4], %r0;";
  };
  const std::string meet = "bar.sync 0; ";
  const std::string store = "@%p0 st.relaxed.gpu.global.u32 [%x1], 1;\n";
  const std::string load = "W: ld.relaxed.gpu.global.u32 %r6, [%x1]; setp.eq.u32 %p2, %r6, 0;\n"
                           "@%p2 bra W; ";
  EXPECT_EQ(races(overwritten(meet, store, load), {2}), (Found{0, 1}));
  EXPECT_EQ(recorder_.reports[0].message, "relaxed");
  expect_silent(overwritten(meet, "membar.gl;" + store, load + "membar.gl;"), {2});
  EXPECT_EQ(races(overwritten(meet, "", ""), {2}), (Found{1, 0})) << "no flag";
  EXPECT_EQ(races(overwritten(meet, store, ""), {2}), (Found{1, 0})) << "the flag is not looked at";
  EXPECT_EQ(races(overwritten("", store, load), {2}), (Found{1, 0}))
    << "no barrier before the flag";
  EXPECT_EQ(races(overwritten(meet, store, load) + "ld.global.u32 %r7, [%x4 + 512];", {2}),
            (Found{1, 1}))
    << "a store before the flag";
}

} // namespace
} // namespace gmt::executor
