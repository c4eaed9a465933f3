// SPDX-License-Identifier: Apache-2.0
// What records that are lost mean for findings: it depends on which kinds were lost, and from
// where.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Losses : public AnalysisTest {
protected:
  void lose(std::uint64_t records) { log().header.lost[2] = records; } // --max-trace
};

TEST_F(Losses, OfLaunchesAloneLeaveLeaksAsTheyAre) {
  cuda_malloc(kA, kMiB);
  lose(4);
  run();
  EXPECT_EQ(kinds(), "leak");
  EXPECT_FALSE(is_not_checked("leak"));
  EXPECT_TRUE(is_not_checked("memory findings", "4 records were lost"));
}

TEST_F(Losses, WhatIsAliveWhereReleasesAreLostIsNoLeak) {
  cuda_malloc(kA, kMiB);
  lose(4);
  log(1).header.releases_lost_from = trace.next_order();
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("leak", "records of releases were lost before the end, so memory "
                                     "alive then (1.0 MiB in 1 block) is not called a leak"));
}

TEST_F(Losses, WhereAllocationsAloneAreLostTheOthersCanLeak) {
  cuda_malloc(kA, kMiB);
  lose(4);
  log().header.allocations_lost_from = trace.next_order();
  run();
  EXPECT_EQ(kinds(), "leak");
  EXPECT_TRUE(is_not_checked("leak", "an allocation among them is not listed"));
}

TEST_F(Losses, OfOlderTracesMayBeReleases) {
  cuda_malloc(kA, kMiB);
  lose(4);
  log().header.minor = 5;
  log().header.releases_lost_from = 7; // nothing there yet
  run();
  EXPECT_EQ(kinds(), "leak");
  EXPECT_TRUE(is_not_checked("leak", "a block listed as leaked may have been freed"));
}

// A lost allocation may have got the addresses.
TEST_F(Losses, AcceptedCallsBehindThemUseNothingThatWasFreed) {
  cuda_malloc(kA, kMiB);
  cuda_malloc(kB, kMiB);
  cuda_free(kA);
  cuda_free(kB);
  cuda_memcpy(kB, kHost, 64);
  lose(1);
  log().header.allocations_lost_from = trace.next_order();
  cuda_memcpy(kA, kHost, 64);
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  EXPECT_EQ(result.findings[0].address, kB);
}

// Of which memory is not known: other blocks may have lain there since.
TEST_F(Losses, RefusedReleasesBehindThemAreMistakesWithoutAHistory) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  lose(1);
  log().header.allocations_lost_from = trace.next_order();
  cuda_free(kA, 1);
  run();
  ASSERT_EQ(kinds(), "invalid-free");
  EXPECT_EQ(labels(result.findings[0]), "freed here");
  EXPECT_NE(result.findings[0].message.find("which CUDA refused: what lay there is not known"),
            std::string::npos);
}

} // namespace
} // namespace gmt::test
