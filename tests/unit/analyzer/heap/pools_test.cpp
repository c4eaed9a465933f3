// SPDX-License-Identifier: Apache-2.0
// Pools that registered themselves by NVTX: mistakes inside them, their ends, and what is counted
// once.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt {
namespace {

using namespace test;

class Pools : public AnalysisTest {
protected:
  static constexpr std::uint64_t kPool = 1;
  void SetUp() override {
    expect_only({"copy-out-of-bounds", "double-free", "invalid-free", "leak", "mismatched-free",
                 "use-after-free"});
    cuda_malloc(kA, kMiB);
    heap(trace::LifeOp::kCreate, "nvtxMemHeapRegister");
  }
  void heap(trace::LifeOp op, const std::string& api) {
    log().record({.api = api, .stack = {0x500}}, Made<trace::LifeFields>()
                                                   .handle(kPool)
                                                   .object(trace::ObjectClass::kUserHeap)
                                                   .op(op)
                                                   .extra(1)
                                                   .value(op == trace::LifeOp::kCreate ? kA : 0)
                                                   .bytes(op == trace::LifeOp::kCreate ? kMiB : 0)
                                                   .name(0));
  }
  void take(std::uint64_t address, std::uint64_t bytes, std::uint64_t from = 0x501) {
    log().alloc({.api = "nvtxMemRegionsRegister", .stack = {from}}, MemoryKind::kSubAllocation,
                address, bytes, 0, {0, 0, 0, 0, 0, kPool});
  }
  void give_back(std::uint64_t address) {
    log().release({.api = "nvtxMemRegionsUnregister", .stack = {0x502}},
                  FreeFunction::kRegionUnregister, address);
  }
};

TEST_F(Pools, GivenBackIsNoLeak) {
  take(kA, 100);
  take(kA + 256, 100);
  give_back(kA);
  give_back(kA + 256);
  take(kA, 200);
  give_back(kA);
  cuda_free(kA);
  EXPECT_EQ(run().findings.size(), 0u);
  EXPECT_EQ(result.process.totals.allocations, 1u);
  EXPECT_EQ(result.process.totals.frees, 1u);
  EXPECT_EQ(result.process.totals.peak_bytes, kMiB);
}

TEST_F(Pools, ALeakInsideThePool) {
  take(kA, 100);
  take(kA + 256, 1000, 0x503);
  give_back(kA);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_EQ(result.findings[0].bytes, 1000u);
  EXPECT_EQ(address_of(result.findings[0].stacks[0]), 0x503u);
  EXPECT_EQ(labels(result.findings[0]), "allocated here|pool ended here");
  EXPECT_NE(result.findings[0].message.find("when cudaFree ended its pool"), std::string::npos);
}

TEST_F(Pools, LeaksOfAProgramThatEnds) {
  take(kA, 100);
  run();
  EXPECT_EQ(kinds(), "leak leak"); // the region, and the block around it
  EXPECT_EQ(result.process.totals.live_bytes, kMiB) << "a region is a part of what is counted";
}

TEST_F(Pools, APoolThatIsUnregisteredEndsItsRegions) {
  take(kA + 256, 1000);
  heap(trace::LifeOp::kDestroy, "nvtxMemHeapUnregister");
  cuda_memcpy(kA + 256, kHost, 5000); // ordinary memory again
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_NE(result.findings[0].message.find("when nvtxMemHeapUnregister ended its pool"),
            std::string::npos);
}

TEST_F(Pools, AResetGivesAllBack) {
  take(kA, 100);
  take(kA + 256, 100);
  heap(trace::LifeOp::kReset, "nvtxMemHeapReset");
  take(kA, 300);
  give_back(kA);
  cuda_free(kA);
  EXPECT_EQ(run().findings.size(), 0u);
}

TEST_F(Pools, GivenBackTwice) {
  take(kA, 100);
  give_back(kA);
  give_back(kA);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "double-free");
  EXPECT_EQ(labels(result.findings[0]), "freed again here|first freed here|allocated here");
}

TEST_F(Pools, GivenBackFromTheMiddle) {
  take(kA, 100);
  give_back(kA + 4);
  give_back(kA);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "invalid-free");
}

TEST_F(Pools, ARegionIsNotForCudaFree) {
  take(kA + 256, 100);
  cuda_free(kA + 256, 1);
  give_back(kA + 256);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "mismatched-free");
  EXPECT_NE(result.findings[0].advice.find("the pool's own release function"), std::string::npos);
}

TEST_F(Pools, ACopyPastTheEndOfARegion) {
  take(kA, 100);
  take(kA + 256, 100);
  cuda_memcpy(kA, kHost, 100);
  cuda_memcpy(kA + 50, kHost, 60);
  give_back(kA);
  give_back(kA + 256);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  EXPECT_EQ(result.findings[0].bytes, 10u);
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x501u)
    << "the region, not the block around it";
}

TEST_F(Pools, TheWholePoolIsThePoolsOwnBusiness) {
  take(kA, 100);
  cuda_memcpy(kA, kHost, kMiB);
  cuda_memcpy(kA + 512, kHost, kMiB - 512); // never given out
  give_back(kA);
  cuda_free(kA);
  EXPECT_EQ(run().findings.size(), 0u);
}

TEST_F(Pools, ACopyPastTheEndOfThePoolIsTheBlocks) {
  cuda_memcpy(kA + 512, kHost, kMiB);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  EXPECT_EQ(result.findings[0].bytes, 512u);
}

TEST_F(Pools, AUseOfWhatWasGivenBack) {
  take(kA, 100);
  give_back(kA);
  cuda_memcpy(kA + 8, kHost, 8);
  log().record({.api = "cuLaunchKernel", .stack = {0x400}},
               Made<trace::LaunchFields>().function(0xf1).grid({1, 1, 1}).block({1, 1, 1}),
               {trace::argument_word(kA + 16, 0)});
  take(kA, 50);
  cuda_memcpy(kA + 8, kHost, 8);
  give_back(kA);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "use-after-free use-after-free");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x502u);
}

TEST_F(Pools, AnotherBlockAtThePoolsAddressIsNoPool) {
  take(kA, 100);
  give_back(kA);
  cuda_free(kA);
  cuda_malloc(kA, kMiB);
  cuda_memcpy(kA + 8, kHost, 8);
  cuda_free(kA);
  EXPECT_EQ(run().findings.size(), 0u);
}

TEST_F(Pools, WhatWasRegisteredBeforeTheTraceIsUnknown) {
  give_back(kB);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("memory from unseen calls"));
}

} // namespace
} // namespace gmt
