// SPDX-License-Identifier: Apache-2.0
// Patterns beside fenced blocks that have changed: what the finding says of the bytes, which
// launches it lists, and what else may have written there.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::GuardMoment;
using MadeDamage = Made<trace::GuardDamageFields>;

constexpr std::uint64_t kFill = 0x900; // a function

class GuardDamages : public AnalysisTest {
protected:
  void SetUp() override {
    trace.format = "1.5";
    trace.info.emplace_back("option.guard=1");
    expect_only({"kernel-out-of-bounds", "copy-out-of-bounds"});
    log().name(kFill, "_Z4fillPfi");
    cuda_malloc(kA, 4000, 0x100);
  }
  // Of a kernel that is given the block. Returns its order.
  std::uint64_t launch(std::uint64_t from, std::uint64_t pointer = kA) {
    const std::uint64_t order = trace.next_order();
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {from},
                  .order = order,
                  .flags = trace::kLaunchScanned},
                 {kFill, 0, trace::pack_grid({4, 1, 1}), trace::pack_block_extents({256, 1, 1}),
                  trace::argument_word(pointer, 0)});
    return order;
  }
  // Of kA's block: from its end, or before its beginning where the offset is negative.
  void damage(std::int64_t offset, std::uint64_t changed, GuardMoment moment,
              std::uint64_t since = 0, std::uint64_t found = 0x11, std::uint64_t more = 0) {
    MadeDamage made;
    made.address(kA)
      .bytes(4000)
      .offset(static_cast<std::uint64_t>(offset))
      .changed(changed)
      .moment(moment)
      .since(since)
      .found(found)
      .found_more(more);
    log().record({}, made);
  }
  const ReportedFinding& only() {
    run();
    EXPECT_EQ(result.findings.size(), 1u);
    return result.findings.at(0);
  }
};

TEST_F(GuardDamages, ChangedBytesBehindTheBlock) {
  launch(0x400);
  cuda_free(kA);
  damage(4008, 3, GuardMoment::kFree, 0, 0x3f8000);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "A kernel wrote 3 bytes that begin 8 bytes past the end of 3.9 KiB of device memory allocated "
    "by cudaMalloc; when it was freed, these bytes were there: 00 80 3f.");
  EXPECT_EQ(f.bytes, 3u);
  EXPECT_EQ(f.address, kA + 4008);
  EXPECT_EQ(labels(f), "launched here|freed here|allocated here");
  EXPECT_NE(f.advice.find("no other launch is known"), std::string::npos);
}

TEST_F(GuardDamages, ChangedBytesBeforeTheBlock) {
  damage(-8, 8, GuardMoment::kEnd);
  const ReportedFinding& f = only();
  EXPECT_NE(f.message.find("8 bytes before 3.9 KiB"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("at the end"), std::string::npos) << f.message;
  EXPECT_EQ(f.address, kA - 8);
  EXPECT_EQ(labels(f), "allocated here");
  EXPECT_NE(f.advice.find("No launch is known"), std::string::npos);
}

TEST_F(GuardDamages, AtMostSixteenBytesAreShown) {
  damage(4000, 20, GuardMoment::kEnd, 0, 0x0706050403020100, 0x0f0e0d0c0b0a0908);
  const ReportedFinding& f = only();
  EXPECT_NE(f.message.find("00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ..."),
            std::string::npos)
    << f.message;
  EXPECT_NE(f.message.find("just past the end"), std::string::npos);
}

// Launches before the pattern was whole are innocent, and so are those of other blocks.
TEST_F(GuardDamages, OnlyLaunchesSinceItWasWholeAreListed) {
  cuda_malloc(kB, 4000, 0x101);
  launch(0x400);
  const std::uint64_t whole = launch(0x410);
  launch(0x420);
  launch(0x430, kB);
  damage(4000, 1, GuardMoment::kLaunch, whole);
  const ReportedFinding& f = only();
  EXPECT_EQ(labels(f), "launched here|allocated here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x420u);
  EXPECT_NE(f.message.find("behind a launch"), std::string::npos);
}

TEST_F(GuardDamages, TheNewestThreeCallSitesAreListed) {
  for (const std::uint64_t from : {0x400u, 0x410u, 0x420u, 0x430u, 0x420u}) launch(from);
  damage(4000, 1, GuardMoment::kEnd);
  const ReportedFinding& f = only();
  EXPECT_EQ(labels(f), "launched here|launched here|launched here|allocated here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x420u);
  EXPECT_EQ(address_of(f.stacks[1]), 0x430u);
  EXPECT_EQ(address_of(f.stacks[2]), 0x410u);
  EXPECT_NE(f.advice.find("one of them wrote there"), std::string::npos);
}

// A set that passes the end has a finding of its own.
TEST_F(GuardDamages, WhatACopyWroteIsNoKernels) {
  log().record({.api = "cuMemsetD8_v2", .via = "cudaMemset", .stack = {0x300}},
               Made<trace::SetFields>().destination(kA).bytes(4001));
  damage(4000, 1, GuardMoment::kEnd);
  EXPECT_EQ(only().kind, "copy-out-of-bounds");
}

// A new block at the address knows nothing of the old one's launches.
TEST_F(GuardDamages, AnAddressThatIsUsedAgainStartsAnew) {
  launch(0x400);
  cuda_free(kA);
  cuda_malloc(kA, 4000, 0x102);
  damage(4000, 1, GuardMoment::kEnd);
  EXPECT_EQ(labels(only()), "allocated here");
  EXPECT_EQ(address_of(result.findings[0].stacks[0]), 0x102u);
}

TEST_F(GuardDamages, ABlockThatIsNotKnownIsPassedOver) {
  damage(4000, 1, GuardMoment::kEnd);
  MadeDamage unknown;
  unknown.address(kC).bytes(64).offset(64).changed(1);
  log().record({}, unknown);
  EXPECT_EQ(only().address, kA + 4000);
}

TEST_F(GuardDamages, WithoutTheFenceThereIsNone) {
  trace.info.back() = "option.guard=0";
  damage(4000, 1, GuardMoment::kEnd);
  run();
  EXPECT_TRUE(result.findings.empty());
}

} // namespace
} // namespace gmt::test
