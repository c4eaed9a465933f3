// SPDX-License-Identifier: Apache-2.0
// Policies: each rule broken and kept, the limits, marks and ranges that never came, capture by
// thread.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt {
namespace {

using namespace test;
using trace::RangeOp;

class Policies : public AnalysisTest {
protected:
  Policies() { expect_only({"policy"}); }
  void malloc_async(std::uint64_t address, std::uint64_t stream = 0, std::size_t thread = 0) {
    log(thread).alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .stack = {0x120}},
                      MemoryKind::kStreamOrdered, address, 100, stream);
  }
  void capture(trace::SyncOp op, std::uint64_t stream, std::size_t thread = 0) {
    log(thread).record({.api = "cuStreamBeginCapture_v2"},
                       Made<trace::SyncFields>().stream(stream).op(op));
  }
  // What breaks the rule, as api names in order.
  std::string broken(const PolicyRule& rule) {
    trace.write(directory.path() / "trace");
    result = analyze(directory.path() / "trace", {.policies = {rule}});
    std::string all;
    for (const ReportedFinding& f : result.findings) {
      if (f.kind != "policy") continue;
      all += (all.empty() ? "" : " ") + f.api;
      EXPECT_NE(f.message.find("'" + rule.text + "'"), std::string::npos) << f.message;
      EXPECT_EQ(f.stacks.size(), 1u);
    }
    return all;
  }
  const PolicyRule direct{PolicyRule::Kind::kNoDirectMalloc, "no-direct-malloc"};
  const PolicyRule direct_after{PolicyRule::Kind::kNoDirectMalloc, "no-direct-malloc after ready",
                                "ready"};
  const PolicyRule in_step{PolicyRule::Kind::kNoAllocIn, "no-alloc-in step*", "step*"};
  const PolicyRule in_capture{PolicyRule::Kind::kNoAllocDuringCapture, "no-alloc-during-capture"};
  PolicyRule most(PolicyRule::Kind kind, std::uint64_t limit) {
    return {kind, "max " + std::to_string(limit), "", limit};
  }
};

TEST_F(Policies, NoRulesNoFindings) {
  cuda_malloc(kA, 100);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Policies, DirectAllocations) {
  cuda_malloc(kA, 100);
  malloc_async(kB);
  cuda_malloc_host(kC, 100);
  EXPECT_EQ(broken(direct), "cudaMalloc cudaMallocHost");
  EXPECT_EQ(find("policy")->severity, Severity::kError);
}

TEST_F(Policies, DirectAllocationsAfterAMark) {
  cuda_malloc(kA, 100);
  log().range(RangeOp::kPush, "ready"); // a range is no mark
  cuda_malloc(kA + kMiB, 100);
  log(1).range(RangeOp::kMark, "ready");
  cuda_malloc(kB, 100, 0x101);
  EXPECT_EQ(broken(direct_after), "cudaMalloc");
  EXPECT_EQ(address_of(find("policy")->stacks[0]), 0x101u);
  EXPECT_FALSE(is_not_checked("policy"));
}

TEST_F(Policies, AMarkThatNeverCame) {
  cuda_malloc(kA, 100);
  EXPECT_EQ(broken(direct_after), "");
  EXPECT_TRUE(
    is_not_checked("policy", "'no-direct-malloc after ready': no NVTX mark of that name was seen"));
}

TEST_F(Policies, AllocationsInARange) {
  cuda_malloc(kC, 100);
  for (int i = 0; i < 3; ++i) {
    log().range(RangeOp::kPush, "step " + std::to_string(i));
    log().range(RangeOp::kPush, "inner");
    malloc_async(kA + static_cast<std::uint64_t>(i) * kMiB);
    log().range(RangeOp::kPop, "", 0);
  }
  EXPECT_EQ(broken(in_step), "cudaMallocAsync");
  EXPECT_EQ(find("policy")->count, 3u);
  EXPECT_EQ(find("policy")->range, "step 0 / inner");
}

TEST_F(Policies, ARangeOfADomainByEitherName) {
  log().range(RangeOp::kNameDomain, "lib", 0, 5);
  log().range(RangeOp::kPush, "step", 0, 5);
  cuda_malloc(kA, 100);
  EXPECT_EQ(broken(in_step), "cudaMalloc");
  PolicyRule whole = in_step;
  whole.name = "lib: step";
  EXPECT_EQ(broken(whole), "cudaMalloc");
}

TEST_F(Policies, ARangeThatNeverCame) {
  log().range(RangeOp::kMark, "step");
  cuda_malloc(kA, 100);
  EXPECT_EQ(broken(in_step), "");
  EXPECT_TRUE(is_not_checked("policy", "no CUDA call was seen inside an NVTX range of that name"));
}

TEST_F(Policies, AllocationsDuringCapture) {
  capture(trace::SyncOp::kBeginCapture, 0x51);
  malloc_async(kA, 0x51, 1);
  // Another thread's business
  log(1).alloc({.api = "cuMemAlloc_v2", .stack = {0x1}}, MemoryKind::kDevice, kB, 100);
  cuda_malloc(kC, 100);
  capture(trace::SyncOp::kEndCapture, 0x51);
  cuda_malloc(kA + kMiB, 100, 0x102);
  EXPECT_EQ(broken(in_capture), "cudaMallocAsync cudaMalloc");
}

TEST_F(Policies, AnInvalidatedCaptureHasEnded) {
  capture(trace::SyncOp::kBeginCapture, 0x51);
  log().record({.api = "cuStreamEndCapture", .result = 901}, // STREAM_CAPTURE_INVALIDATED
               Made<trace::SyncFields>().stream(0x51).op(trace::SyncOp::kEndCapture));
  cuda_malloc(kA, 100);
  EXPECT_EQ(broken(in_capture), "");
}

TEST_F(Policies, AllocationsOnAStreamThatJoinedTheCapture) {
  capture(trace::SyncOp::kBeginCapture, 0x51);
  log().record({.api = "cuEventRecord"},
               Made<trace::SyncFields>().stream(0x51).event(0xe0).op(trace::SyncOp::kEventRecord));
  log(1).record({.api = "cuStreamWaitEvent"}, Made<trace::SyncFields>().stream(0x52).event(0xe0).op(
                                                trace::SyncOp::kStreamWaitEvent));
  malloc_async(kA, 0x52, 1);
  malloc_async(kB, 0x53, 1);
  EXPECT_EQ(broken(in_capture), "cudaMallocAsync");
}

TEST_F(Policies, TheCallThatCrossedTheByteLimit) {
  cuda_malloc(kA, 600);
  cuda_malloc(kB, 400);
  log().range(RangeOp::kPush, "growth");
  cuda_malloc(kC, 1, 0x102);
  cuda_malloc(kC + kMiB, 2047, 0x103);
  EXPECT_EQ(broken(most(PolicyRule::Kind::kMaxDeviceBytes, 1000)), "cudaMalloc");
  const ReportedFinding& f = *find("policy");
  EXPECT_EQ(address_of(f.stacks[0]), 0x102u);
  EXPECT_EQ(f.range, "growth");
  EXPECT_NE(f.message.find("the peak was 3.0 KiB"), std::string::npos) << f.message;
  EXPECT_EQ(broken(most(PolicyRule::Kind::kMaxDeviceBytes, 3048)), "");
}

TEST_F(Policies, TheCallThatWasOneTooMany) {
  cuda_malloc(kA, 100);
  cuda_free(kA);
  cuda_malloc_host(kB, 100);
  cuda_malloc(kC, 100, 0x102);
  EXPECT_EQ(broken(most(PolicyRule::Kind::kMaxAllocations, 2)), "cudaMalloc");
  EXPECT_NE(find("policy")->message.find("there were 3"), std::string::npos);
  EXPECT_EQ(broken(most(PolicyRule::Kind::kMaxAllocations, 3)), "");
}

} // namespace
} // namespace gmt
