// SPDX-License-Identifier: Apache-2.0
// Which accesses of global memory race: by threads of a block, by blocks that nothing orders, by
// atomics, of bytes of one word, of equal values.
#include "tests/unit/simulated_cuda/executor/support/global_race_runner.h"

#include <algorithm>
#include <numeric>

namespace gmt::executor {
namespace {

class GlobalRacesTest : public GlobalRaceRunner {};

// Each thread loads the word of the thread 63 - t of its block.
const std::string kLoadReversed = "sub.u32 %r5, 63, %r0; mad.lo.u32 %r5, %r1, 64, %r5;\n"
                                  "mad.wide.u32 %x4, %r5, 4, %x0; ld.global.u32 %r6, [%x4];\n";

TEST_F(GlobalRacesTest, ThreadsOfABlockNeedABarrier) {
  EXPECT_EQ(races("st.global.u32 [%x2], %r0;" + kLoadReversed).errors, 1u);
  expect_silent("st.global.u32 [%x2], %r0; bar.sync 0;" + kLoadReversed);
  EXPECT_EQ(races("ld.global.u32 %r6, [%x2]; sub.u32 %r5, 63, %r0; mad.wide.u32 %x4, %r5, 4, %x0;\n"
                  "st.global.u32 [%x4], %r0;",
                  {1})
              .errors,
            1u);
}

TEST_F(GlobalRacesTest, AWarpsBarrierOrdersItsLanes) {
  const std::string load = "xor.b32 %r5, %r2, 1; mad.wide.u32 %x4, %r5, 4, %x0;\n"
                           "ld.global.u32 %r6, [%x4];";
  expect_silent("st.global.u32 [%x2], %r0; bar.warp.sync -1;" + load);
  EXPECT_EQ(races("st.global.u32 [%x2], %r0;" + load).errors, 1u);
}

TEST_F(GlobalRacesTest, BothSidesAreNamed) {
  load_kernel("@%p1 st.global.u32 [%x2], %r0; @!%p1 ld.global.u32 %r6, [%x2 + -256];");
  EXPECT_EQ(launch({2}, {64}), (Found{1, 0}));
  const Report& report = only();
  EXPECT_EQ(report.location.instruction, "@%p1 st.global.u32 [%x2], %r0");
  EXPECT_EQ(report.access, Access::kStore);
  EXPECT_EQ(report.other.instruction, "@!%p1 ld.global.u32 %r6, [%x2 + -256]");
  EXPECT_EQ(report.other_access, Access::kLoad);
  EXPECT_EQ(report.location.block.x, 0u);
  EXPECT_EQ(report.other.block.x, 1u);
  EXPECT_EQ(report.location.thread.x, report.other.thread.x);
  EXPECT_EQ(report.space, Space::kGlobal);
  EXPECT_EQ(report.bytes, 4u);
  EXPECT_EQ(report.count, 64u);
}

// The last of the blocks race, and the memory is used up before.
TEST_F(GlobalRacesTest, WhatWasNotLookedAtIsSaid) {
  load_kernel("st.global.u32 [%x2], %r0; setp.lt.u32 %p2, %r1, 30; @%p2 bra E;\n"
              "st.global.u32 [%x0], %r1;");
  const std::uint64_t a = put(std::vector<std::uint32_t>(4096));
  EXPECT_EQ(run({32}, {64}, {a, a}).races_left_out, "");
  EXPECT_FALSE(recorder_.reports.empty());
  recorder_.reports.clear();
  limits_.race_bytes = 16 * 512;
  EXPECT_EQ(run({32}, {64}, {a, a}).races_left_out,
            "the memory for that was used up before all blocks had begun");
  expect_no_reports();
  limits_.race_bytes = std::uint64_t{1} << 30;
  load_kernel("trap;"); // or a million blocks would run
  EXPECT_EQ(run({1'048'576}, {1}, {a, a}).races_left_out,
            "the launch has a million blocks or more");
}

TEST_F(GlobalRacesTest, DataThatAllReadIsNoRace) {
  expect_silent(
    "mad.wide.u32 %x4, %r0, 4, %x0; ld.global.u32 %r5, [%x4]; ld.global.u32 %r6, [%x0];\n"
    "add.u32 %r5, %r5, %r6; st.global.u32 [%x3], %r5;");
}

// Data that is moved within an array may come to where it is. In an array of one value that proves
// nothing.
TEST_F(GlobalRacesTest, AStoreThatKeepsAnElementAmidOthersIsNone) {
  std::vector<std::uint32_t> numbers(4096);
  std::iota(numbers.begin(), numbers.end(), 5);
  const auto errors = [&](const std::string& statements, const std::vector<std::uint32_t>& memory) {
    load_kernel("ld.global.u32 %r5, [%x2];" + statements);
    std::size_t most = 0;
    for (seed_ = 0; seed_ < 4; ++seed_) {
      recorder_.reports.clear();
      const std::uint64_t a = put(memory);
      EXPECT_EQ(run({2}, {64}, {a, a}).end, End::kDone);
      most = std::max(most, recorder_.reports.size());
    }
    seed_ = 0;
    return most;
  };
  for (const std::string who : {"@%p1", "@%p0"}) {
    const std::string kept = who + " st.global.u32 [%x2], %r5;",
                      loaded = "@!%p1 ld.global.u32 %r6, [%x2 + -256];";
    EXPECT_EQ(errors(kept + loaded, numbers), 0u) << who;
    EXPECT_EQ(errors(kept + loaded, std::vector<std::uint32_t>(4096, 5)), 1u) << who;
    EXPECT_EQ(errors("add.u32 %r5, %r5, 1;" + kept + loaded, numbers), 1u) << who;
    EXPECT_NE(errors(kept + "@!%p1 st.global.u32 [%x2 + -256], %r5;", numbers), 0u) << who;
  }
}

TEST_F(GlobalRacesTest, AStoreToWhatManyReadIsOne) {
  EXPECT_EQ(races("ld.global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r1, 3; and.pred %p2, %p2, %p0;\n"
                  "@%p2 st.global.u32 [%x0], 5;")
              .errors,
            1u);
}

TEST_F(GlobalRacesTest, OwnWordsAreNoRace) {
  expect_silent("ld.global.u32 %r5, [%x2]; add.u32 %r5, %r5, 1; st.global.u32 [%x2], %r5;\n"
                "ld.global.u32 %r5, [%x2]; st.global.u32 [%x3], %r5;");
}

TEST_F(GlobalRacesTest, AnotherLaunchIsOrdered) {
  load_kernel("@%p1 st.global.u32 [%x2], %r0; @!%p1 ld.global.u32 %r6, [%x2];");
  const std::uint64_t a = put(std::vector<std::uint32_t>(4096));
  for (const std::uint64_t shift : {0u, 256u, 512u}) {
    run({2}, {64}, {a + shift, a});
    expect_no_reports();
  }
}

TEST_F(GlobalRacesTest, ACounterNeedsAnAtomic) {
  EXPECT_NE(
    races("ld.global.u32 %r5, [%x0]; add.u32 %r5, %r5, 1; st.global.u32 [%x0], %r5;").errors, 0u);
  expect_silent("red.global.add.u32 [%x0], 1; atom.global.add.u32 %r5, [%x0 + 4], 1;\n"
                "atom.global.cas.b64 %x5, [%x0 + 8], 0, 1;");
}

TEST_F(GlobalRacesTest, AtomicsRaceWithPlainAccesses) {
  EXPECT_EQ(
    races("and.pred %p2, %p0, %p1; @%p2 st.global.u32 [%x0], 0; red.global.add.u32 [%x0], 1;"),
    (Found{1, 0}));
  EXPECT_EQ(races("red.global.add.u32 [%x0], 1; and.pred %p2, %p0, %p1;\n"
                  "@%p2 st.global.u32 [%x0], 0;"),
            (Found{1, 0}));
  EXPECT_EQ(races("red.global.add.u32 [%x0], 1; bar.sync 0; @%p0 ld.global.u32 %r5, [%x0];"),
            (Found{0, 1}))
    << "a poll of what only grows";
  EXPECT_EQ(recorder_.reports[0].message, "poll");
}

TEST_F(GlobalRacesTest, AScopeThatIsTooSmallIsARace) {
  EXPECT_EQ(races("@%p0 red.relaxed.cta.global.add.u32 [%x0], 1;").errors, 1u);
  expect_silent("red.relaxed.cta.global.add.u32 [%x0], 1;", {1});
  expect_silent("red.relaxed.gpu.global.add.u32 [%x0], 1;");
}

TEST_F(GlobalRacesTest, EqualValuesAreNoted) {
  EXPECT_EQ(races("st.global.u32 [%x0], 7;"), (Found{0, 1}));
  EXPECT_EQ(recorder_.reports[0].message, "same value");
  EXPECT_EQ(races("@%p0 st.global.u32 [%x0], 7;"), (Found{0, 1}));
  EXPECT_EQ(races("@%p0 st.global.u32 [%x0], %r1;").errors, 1u);
  EXPECT_EQ(races("shr.u32 %r5, %r1, 1; @%p0 st.global.u32 [%x0], %r5;", {8}), (Found{1, 0}))
    << "some stores are equal";
}

// Whether it is done already is asked, and said, by plain accesses.
TEST_F(GlobalRacesTest, FlagsThatAreRaisedAreNoted) {
  const std::string test = "ld.global.u32 %r5, [%x0]; setp.ne.u32 %p2, %r5, 0; @%p2 bra E;\n";
  EXPECT_EQ(races(test + "@%p0 st.global.u32 [%x0], 1;").errors, 0u);
  const std::string own = "setp.eq.u32 %p3, %r2, 70; @%p3 st.global.u32 [%x0], ";
  EXPECT_EQ(races(test + own + "1;"), (Found{0, 1}));
  EXPECT_EQ(recorder_.reports[0].message, "flag");
  EXPECT_EQ(races(test + own + "%r1;"), (Found{0, 1})) << "tested before it is stored";
  EXPECT_EQ(races(own + "%r1;" + test).errors, 1u) << "a value, and not tested before";
  EXPECT_EQ(races("ld.global.u32 %r5, [%x0]; st.global.u32 [%x3], %r5;" + own + "1;").errors, 1u);
}

// A flag of plain accesses orders nothing: what it is to hand over is a race.
TEST_F(GlobalRacesTest, WhatAPlainFlagHandsOver) {
  EXPECT_EQ(races("@!%p0 bra E; @!%p1 bra C; st.global.u32 [%x1], %r4; membar.gl;\n"
                  "st.global.u32 [%x0], 1; bra E;\n"
                  "C: ld.global.u32 %r5, [%x0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra C;\n"
                  "ld.global.u32 %r6, [%x1]; st.global.u32 [%x3 + 64], %r6;",
                  {2}),
            (Found{1, 1}));
}

TEST_F(GlobalRacesTest, NeighbouringBytesAreNoRace) {
  // 33 threads: the last of a block shares a word with the first of the next
  for (const std::string width : {"1", "2"}) {
    const std::string type = width == "1" ? "u8" : "u16";
    expect_silent("mad.wide.u32 %x4, %r2, " + width + ", %x0; ld.global." + type +
                    " %h0, [%x4]; add.u16 %h0, %h0, 1; st.global." + type +
                    " [%x4], %h0;\n ld.global." + type +
                    " %h1, [%x4]; setp.eq.u32 %p2, %r0, 5;\n"
                    "@%p2 st.global." +
                    type + " [%x4], 3;",
                  {5}, {33});
  }
  EXPECT_EQ(races("cvt.u16.u32 %h0, %r1; @%p0 st.global.u8 [%x0 + 1], %h0;").errors, 1u);
  EXPECT_EQ(races("and.pred %p2, %p0, %p1; @%p2 st.global.u8 [%x0 + 1], 4;\n"
                  "@!%p1 ld.global.u16 %h1, [%x0];")
              .errors,
            1u);
}

TEST_F(GlobalRacesTest, HistogramsOfBlocksAreAddedUp) {
  expect_silent("and.b32 %r5, %r0, 7; mov.u32 %r6, s; mad.lo.u32 %r6, %r5, 4, %r6;\n"
                "setp.lt.u32 %p2, %r0, 8; @%p2 st.shared.u32 [%r6], 0; bar.sync 0;\n"
                "red.shared.add.u32 [%r6], 1; bar.sync 0; @!%p2 bra E; ld.shared.u32 %r7, [%r6];\n"
                "mad.wide.u32 %x4, %r5, 4, %x0; red.global.add.u32 [%x4], %r7;");
}

TEST_F(GlobalRacesTest, MemoryFromTheHeapGoesFromThreadToThread) {
  heap_ = DeviceHeap::create(memory_, kDeviceBase, 1 << 20);
  const std::string calls =
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 a);\n";
  load(calls +
       ".visible .entry k(.param .u64 p, .param .u64 q) { .reg .b64 %x<4>; .reg .b32 %r<4>;\n"
       ".reg .pred %p<4>; mov.u32 %r0, 0;\n"
       "L: { .param .b64 n; .param .b64 r; st.param.b64 [n], 65536;\n"
       "call.uni (r), malloc, (n); ld.param.b64 %x0, [r]; }\n"
       "mov.u32 %r1, %ctaid.x; st.u32 [%x0], %r1; st.u32 [%x0 + 4], %r1;\n"
       "{ .param .b64 a; st.param.b64 [a], %x0; call.uni free, (a); }\n"
       "add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 8; @%p0 bra L; ret; }\n");
  EXPECT_EQ(launch({8}, {1}), Found{});
}

// A run has 1,024 clocks: a block with more barriers goes on in another one.
TEST_F(GlobalRacesTest, ManyBarriers) {
  const std::string loop = "mov.u32 %r8, 0; st.global.u32 [%x2], 1;\n"
                           "B: bar.sync 0; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 3000;\n"
                           "@%p2 bra B;\n";
  expect_silent(loop + kLoadReversed + "st.global.u32 [%x2 + 8192], %r6;", {2});
  EXPECT_EQ(races(loop + "@!%p1 bra E; ld.global.u32 %r5, [%x2 + 256];", {2}).errors, 1u)
    << "blocks are not ordered by their own barriers";
  EXPECT_EQ(races(loop + "st.global.u32 [%x2], 2;" + kLoadReversed, {2}).errors, 1u);
}

// The words of a block that goes on in another run are loaded in both.
TEST_F(GlobalRacesTest, LoadsOfABlockInSeveralRuns) {
  expect_silent("mad.wide.u32 %x4, %r1, 4, %x0; ld.global.u32 %r5, [%x4]; mov.u32 %r8, 0;\n"
                "B: membar.cta; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 1500; @%p2 bra B;\n"
                "ld.global.u32 %r5, [%x4]; bar.sync 0; @%p0 st.global.u32 [%x4], 1;",
                {3});
}

// Who stored the value reads what all have stored.
TEST_F(GlobalRacesTest, EqualValuesThatAreReadBack) {
  EXPECT_EQ(races("@%p0 st.global.u32 [%x0], 7; @%p0 ld.global.u32 %r5, [%x0];", {8}),
            (Found{0, 1}));
}

// Which sides race does not depend on who runs the blocks, nor on the order.
TEST_F(GlobalRacesTest, WorkersFindTheSame) {
  load_kernel("ld.global.u32 %r5, [%x0]; add.u32 %r5, %r5, 1; st.global.u32 [%x0], %r5;\n"
              "@%p0 st.global.u32 [%x1], %r1;");
  std::vector<std::string> first;
  for (const unsigned workers : {1u, 2u, 2u, 2u}) {
    workers_ = workers;
    launch({64}, {64});
    std::vector<std::string> sides;
    for (const Report& report : recorder_.reports)
      sides.push_back(report.location.instruction + report.other.instruction + report.message);
    std::ranges::sort(sides);
    if (first.empty()) first = sides;
    EXPECT_EQ(sides, first) << workers;
  }
}

} // namespace
} // namespace gmt::executor
