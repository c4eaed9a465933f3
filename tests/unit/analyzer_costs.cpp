// SPDX-License-Identifier: Apache-2.0
// Findings about calls that cost time: churn, copies from pageable memory, many small copies.

#include "analysis_fixture.h"

namespace gmt::test {
namespace {

class Costs : public AnalysisTest {
protected:
  // One tick is two nanoseconds.
  void set_clock() {
    trace.info.push_back("tsc=1000\nmonotonic_ns=0");
    trace.complete += "tsc=2000\nmonotonic_ns=2000\n";
  }
  void pair(std::uint64_t bytes, Family family = Family::kDevice, std::uint64_t ticks = 0,
            std::uint64_t from = 0x100) {
    const bool ordered = family == Family::kStreamOrdered;
    const char* malloc_name = ordered ? "cudaMallocAsync" : "cudaMalloc";
    log().alloc({.api = "cuSomeAlloc", .via = malloc_name, .stack = {from}, .ticks = ticks}, family, kA,
                bytes);
    log().release(
      {.api = "cuSomeFree", .via = ordered ? "cudaFreeAsync" : "cudaFree", .stack = {0x200}, .ticks = ticks},
      ordered ? FreeFunction::kMemFreeAsync : FreeFunction::kMemFree, kA);
  }
};

TEST_F(Costs, ChurnIsJudgedByCount) {
  for (int i = 0; i < 999; ++i) pair(4096);
  run();
  EXPECT_EQ(kinds(), "");
  pair(4096);
  run();
  ASSERT_EQ(kinds(), "churn");
  const Finding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(f.count, 1000u);
  EXPECT_EQ(f.message,
            "4.0 KiB of device memory was allocated and freed 1,000 times from one place; how long "
            "that took is not known.");
  EXPECT_NE(f.advice.find("cudaMallocAsync"), std::string::npos);
  EXPECT_EQ(labels(f), "allocated here|freed here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x100u);
  EXPECT_EQ(address_of(f.stacks[1]), 0x200u);
}

TEST_F(Costs, ChurnTellsItsTime) {
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, Family::kDevice, 10'000); // 20 us a call
  run();
  ASSERT_EQ(kinds(), "churn");
  EXPECT_NE(result.findings[0].message.find("which took 80.0 ms (40.0 us a pair)"), std::string::npos)
    << result.findings[0].message;
}

TEST_F(Costs, ChurnOfDifferentSizesIsNone) {
  for (std::uint64_t i = 0; i < 3000; ++i) pair(4096 + i);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, ChurnAmongOtherSizes) {
  for (std::uint64_t i = 0; i < 1500; ++i) {
    pair(64);
    pair(128);
    pair(4096 + i);
  }
  run();
  ASSERT_EQ(kinds(), "churn churn");
  EXPECT_EQ(result.findings[0].count, 1500u);
  EXPECT_EQ(result.findings[1].count, 1500u);
}

TEST_F(Costs, ChurnFromDifferentPlacesIsNone) {
  for (std::uint64_t i = 0; i < 3000; ++i) pair(4096, Family::kDevice, 0, 0x100 + i % 4);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, BlocksThatStayAreNoChurn) {
  for (std::uint64_t i = 0; i < 2000; ++i) cuda_malloc(kA + i * 8192, 4096);
  run();
  EXPECT_EQ(find("churn"), nullptr);
}

TEST_F(Costs, PoolsAreTheCure) {
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, Family::kStreamOrdered, 250);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, UnlessTheyGiveTheMemoryBack) {
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, Family::kStreamOrdered, 25'000);
  run();
  ASSERT_EQ(kinds(), "churn");
  EXPECT_NE(result.findings[0].advice.find("cudaMemPoolAttrReleaseThreshold"), std::string::npos);
}

} // namespace
} // namespace gmt::test
