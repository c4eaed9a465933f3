// SPDX-License-Identifier: Apache-2.0
// Threads that meet at barriers where CUDA does not let them: warps at two places, and lanes that
// the mask of their warp's barrier does not name.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class BarriersTest : public KernelRunner {
protected:
  // %r0 is the thread, %p0 whether it is below `split`.
  Outcome run_split(const std::string& split, const std::string& statements) {
    load(".visible .entry k() {\n.reg .pred %p<4>; .reg .b32 %r<8>;\nmov.u32 %r0, %tid.x;\n"
         "setp.lt.u32 %p0, %r0, " +
         split + ";\n" + statements + "\nret; }\n.file 1 \"a.cu\"\n");
    recorder_.reports.clear();
    return run({1}, {64}, {});
  }
};

std::string two_barriers(const char* second_line) {
  return std::string("@%p0 bra A;\n.loc 1 3 5\nbar.sync 0;\nbra B;\nA:\n") + second_line +
         "bar.sync 0;\nB:";
}

TEST_F(BarriersTest, WarpsThatMeetApart) {
  EXPECT_EQ(run_split("32", two_barriers(".loc 1 7 5\n")).end, End::kDone);
  ASSERT_EQ(recorder_.reports.size(), 1u);
  const Report& report = recorder_.reports[0];
  EXPECT_EQ(report.kind, ReportKind::kBarrierDivergence);
  EXPECT_EQ(report.message, "apart");
  ASSERT_FALSE(report.location.lines.empty());
  ASSERT_FALSE(report.other.lines.empty());
  EXPECT_EQ(report.location.lines[0].line + report.other.lines[0].line, 3u + 7u);
  EXPECT_NE(report.location.thread.x / 32, report.other.thread.x / 32);
}

TEST_F(BarriersTest, TwoOfALineAreApart) {
  run_split("32", two_barriers(".loc 1 3 20\n"));
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

TEST_F(BarriersTest, CopiesOfOneBarrierAreNotApart) {
  run_split("32", two_barriers(".loc 1 3 5\n"));
  EXPECT_TRUE(recorder_.reports.empty());
}

// A barrier with a count is for warps that do different things.
TEST_F(BarriersTest, BarriersWithACountMayMeetAnywhere) {
  run_split("32", "@%p0 bra A;\n.loc 1 3 5\nbar.sync 1, 64;\nbra B;\nA:\n.loc 1 7 5\n"
                  "bar.sync 1, 64;\nB:");
  EXPECT_TRUE(recorder_.reports.empty());
}

TEST_F(BarriersTest, LanesOfOneWarpAreReportedOnce) {
  run_split("16", two_barriers(".loc 1 7 5\n"));
  for (const Report& report : recorder_.reports) EXPECT_EQ(report.message, "");
  EXPECT_FALSE(recorder_.reports.empty());
}

// PTX counts threads that have not ended. The first of those that did is named, once a block.
TEST_F(BarriersTest, ThreadsThatEndedBeforeABarrierAreANote) {
  for (const char* split : {"16", "32"}) { // lanes of a warp, and a whole one
    run_split(split, ".loc 1 3 5\n@%p0 ret;\n.loc 1 5 5\nbar.sync 0; bar.sync 0;");
    ASSERT_EQ(recorder_.reports.size(), 2u);
    const Report& report = recorder_.reports[0];
    EXPECT_EQ(report.kind, ReportKind::kBarrierDivergence);
    EXPECT_EQ(report.message, "ended");
    EXPECT_EQ(report.gpu_error, 0u);
    EXPECT_EQ(report.location.lines.at(0).line, 5u);
    EXPECT_EQ(report.other.lines.at(0).line, 3u);
    EXPECT_EQ(report.other.thread.x, 0u);
  }
}

// The others are the last to come, or wait already.
TEST_F(BarriersTest, ThreadsThatEndWhileOthersWait) {
  run_split("32", "@%p0 bra A;\nbar.sync 0; ret;\nA: mov.u32 %r1, 0;\n"
                  "B: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9999; @%p1 bra B;");
  ASSERT_EQ(recorder_.reports.size(), 1u);
  EXPECT_EQ(recorder_.reports[0].message, "ended");
  EXPECT_EQ(recorder_.reports[0].location.thread.x, 32u);
}

TEST_F(BarriersTest, ThreadsThatEndBehindTheBarrier) {
  run_split("32", "bar.sync 0; @%p0 ret; bar.sync 1, 32;");
  EXPECT_TRUE(recorder_.reports.empty());
}

TEST_F(BarriersTest, ALaneThatItsWarpsBarrierDoesNotName) {
  EXPECT_EQ(run_split("17", "@%p0 bar.warp.sync 0xffff;").gpu_error, 715u);
  ASSERT_EQ(recorder_.reports.size(), 1u);
  EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kIllegalInstruction);
  EXPECT_EQ(recorder_.reports[0].location.thread.x, 16u);
  EXPECT_EQ(run_split("16", "@%p0 bar.warp.sync 0xffff;").gpu_error, 0u);
  EXPECT_TRUE(recorder_.reports.empty());
}

} // namespace
} // namespace gmt::executor
