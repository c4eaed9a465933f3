// SPDX-License-Identifier: Apache-2.0
// NVTX ranges as the analysis follows them: the path of findings and blocks, threads, process
// ranges, domains, grouping.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt {
namespace {

using namespace test;
using trace::RangeOp;

class Nvtx : public AnalysisTest {
protected:
  void range(RangeOp op, const std::string& name, std::uint64_t what = 0, std::uint64_t domain = 0,
             std::size_t thread = 0) {
    log(thread).range(op, name, what, domain);
  }
  void push(const std::string& name, std::size_t thread = 0) {
    range(RangeOp::kPush, name, 0, 0, thread);
  }
  void pop_to(std::uint64_t depth, std::size_t thread = 0) {
    range(RangeOp::kPop, "", depth, 0, thread);
  }
  std::string leak_range() {
    run();
    const ReportedFinding* leak = find("leak");
    return leak != nullptr ? leak->range : "no leak";
  }
};

TEST_F(Nvtx, ALeakHasTheRangeOfItsAllocation) {
  push("epoch 2");
  push("forward");
  cuda_malloc(kA, 100);
  pop_to(0);
  cuda_malloc(kB, 100, 0x101);
  cuda_free(kB);
  EXPECT_EQ(leak_range(), "epoch 2 / forward");
}

TEST_F(Nvtx, NoRangeNoPath) {
  push("over");
  pop_to(0);
  cuda_malloc(kA, 100);
  EXPECT_EQ(leak_range(), "");
}

TEST_F(Nvtx, AFindingHasTheRangeOfItsCall) {
  push("setup");
  cuda_malloc(kA, 100);
  pop_to(0);
  push("shutdown");
  cuda_free(kA);
  cuda_free(kA, 1);
  run();
  ASSERT_NE(find("double-free"), nullptr);
  EXPECT_EQ(find("double-free")->range, "shutdown");
}

TEST_F(Nvtx, RangesOfOtherThreadsAreTheirs) {
  push("mine");
  push("other", 1);
  cuda_malloc(kA, 100);
  EXPECT_EQ(leak_range(), "mine");
}

TEST_F(Nvtx, ALogThatGoesToAnotherThreadBeginsWithNothingOpen) {
  range(RangeOp::kThread, "", 11);
  push("left open");
  range(RangeOp::kThread, "", 12);
  cuda_malloc(kA, 100);
  EXPECT_EQ(leak_range(), "");
}

TEST_F(Nvtx, ProcessRangesHoldForAllThreads) {
  range(RangeOp::kStart, "run", 7);
  range(RangeOp::kStart, "closed", 8);
  push("step", 1);
  range(RangeOp::kEnd, "", 8);
  log(1).alloc({.api = "cuMemAlloc_v2", .stack = {0x1}}, MemoryKind::kDevice, kA, 100);
  range(RangeOp::kEnd, "", 7);
  EXPECT_EQ(leak_range(), "run / step");
}

TEST_F(Nvtx, DomainsAreNamed) {
  range(RangeOp::kNameDomain, "NCCL", 0, 3);
  range(RangeOp::kPush, "allreduce", 0, 3);
  range(RangeOp::kPush, "of nobody", 0, 4);
  cuda_malloc(kA, 100);
  EXPECT_EQ(leak_range(), "NCCL: allreduce / of nobody");
}

TEST_F(Nvtx, DamagedRangesDoNoHarm) {
  pop_to(5);
  range(RangeOp::kEnd, "", 99);
  range(static_cast<RangeOp>(77), "new");
  // A name that the trace does not have
  log().record({}, Made<trace::RangeFields>().op(trace::RangeOp::kPush).text(0x1234));
  cuda_malloc(kA, 100);
  EXPECT_EQ(leak_range(), "(unnamed range)");
}

TEST_F(Nvtx, IterationsAreOneFindingUnlessAskedFor) {
  for (int i = 0; i < 3; ++i) {
    push("epoch " + std::to_string(i));
    cuda_malloc(kA + static_cast<std::uint64_t>(i) * kMiB, 100);
    cuda_free(kB, 1);
    pop_to(0);
  }
  run();
  EXPECT_EQ(kinds(), "invalid-free leak");
  EXPECT_EQ(find("leak")->count, 3u);
  EXPECT_EQ(find("leak")->range, "epoch 0");
  result = analyze(directory.path() / "trace", {.group_by_range = true});
  EXPECT_EQ(kinds(), "invalid-free invalid-free invalid-free leak leak leak");
  EXPECT_EQ(result.findings[5].range, "epoch 2");
  EXPECT_EQ(result.findings[5].count, 1u);
}

TEST_F(Nvtx, TheRangeOfThePeak) {
  cuda_malloc(kA, 100);
  push("small");
  cuda_free(kA);
  cuda_malloc(kA, 50);
  pop_to(0);
  push("large");
  cuda_malloc(kB, 500);
  pop_to(0);
  cuda_free(kA);
  EXPECT_EQ(run().process.totals.peak_range, "large");
}

TEST_F(Nvtx, ThePeakBeforeAnyRange) {
  cuda_malloc(kA, 100);
  cuda_free(kA);
  push("later");
  cuda_malloc(kB, 50);
  EXPECT_EQ(run().process.totals.peak_range, "");
}

TEST_F(Nvtx, RangesAreNoCalls) {
  push("nothing else");
  run();
  EXPECT_EQ(result.process.totals.events, 0u);
  EXPECT_TRUE(is_not_checked("everything", "no CUDA call"));
}

} // namespace
} // namespace gmt
