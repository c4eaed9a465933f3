// SPDX-License-Identifier: Apache-2.0
// Lanes that a shuffle, a vote or their like names and that are not there, and callers that it does
// not name.
#include "tests/unit/simulated_cuda/executor/support/tracking_runner.h"

namespace gmt::executor {
namespace {

using MissingLanes = TrackingRunner;

// %p1 is the lower half of the warp.
const std::string kLowerHalf = "setp.lt.u32 %p1, %r0, 16;\n";
const std::string kStore = "st.global.u32 [%x2], %r2;\n";

// The results are those of an H100.
TEST_P(MissingLanes, AMaskWithoutItsCaller) {
  const struct {
    const char* statement;
    std::uint32_t first, last;
  } kCases[] = {{"shfl.sync.idx.b32 %r2, %r0, 3, 31, 0xffff;", 3, 3},
                {"vote.sync.ballot.b32 %r2, %p2, 0xffff;", 0x1ffff, 0x1ffff},
                {"and.b32 %r3, %r0, 3; match.any.sync.b32 %r2, %r3, 0xffff;", 0x11111, 0x11111},
                {"redux.sync.add.u32 %r2, 1, 0xffff;", 17, 17}};
  for (const auto& c : kCases) {
    run_with_words(std::string("setp.lt.u32 %p2, %r0, 17; @!%p2 bra A;\n") + c.statement + kStore +
                   "A:");
    EXPECT_EQ(only().kind, ReportKind::kIllegalInstruction) << c.statement;
    EXPECT_EQ(only().message, "unnamed");
    EXPECT_EQ(only().gpu_error, 0u);
    EXPECT_EQ(only().location.thread.x, 16u);
    const auto values = get<std::uint32_t>(written_, 17);
    EXPECT_EQ(values.front(), c.first) << c.statement;
    EXPECT_EQ(values.back(), c.last) << c.statement;
  }
}

TEST_P(MissingLanes, MasksThatDiffer) {
  const std::string masks = kLowerHalf + "selp.b32 %r3, 0xffff, -1, %p1;\n";
  run_with_words(masks + "setp.eq.u32 %p2, %r0, %r0; vote.sync.ballot.b32 %r2, %p2, %r3;" + kStore);
  EXPECT_EQ(only().message, "differing");
  EXPECT_EQ(only().location.thread.x, 16u);
  EXPECT_EQ(only().count, 16u);
  EXPECT_EQ(get<std::uint32_t>(written_, 32)[0], 0xffffu);
  EXPECT_EQ(get<std::uint32_t>(written_, 32)[16], 0xffff0000u);
}

TEST_P(MissingLanes, AShuffleFromALaneThatTheMaskDoesNotName) {
  run_with_words(kLowerHalf + "@!%p1 bra A; shfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff;\n" +
                 kStore + "A:");
  EXPECT_EQ(only().kind, ReportKind::kUninitializedRead);
  EXPECT_EQ(only().message, "no lane");
  EXPECT_EQ(only().location.instruction, "shfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff");
  EXPECT_EQ(only().other.instruction, "st.global.u32 [%x2], %r2");
  EXPECT_EQ(only().count, 16u);
  EXPECT_EQ(get<std::uint32_t>(written_, 1)[0], 0u); // as an H100 has it
}

TEST_P(MissingLanes, AShuffleFromALaneThatHasLeft) {
  run_with_words(kLowerHalf + "@!%p1 bra A; shfl.sync.down.b32 %r2, %r0, 8, 31, -1;\n" +
                 "add.u32 %r2, %r2, %r0;\n" + kStore + "A:");
  EXPECT_EQ(only().message, "no lane");
  EXPECT_EQ(only().location.thread.x, 8u);
  EXPECT_EQ(only().count, 8u);
}

TEST_P(MissingLanes, APredicatedShuffle) {
  run_with_words(kLowerHalf + "@%p1 shfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff;\n@%p1 " + kStore);
  EXPECT_EQ(only().count, 16u);
}

TEST_P(MissingLanes, AResultThatIsNotUsed) {
  run_with_words(kLowerHalf + "@!%p1 bra A; shfl.sync.down.b32 %r2, %r0, 1, 31, -1;\n" +
                 "setp.eq.u32 %p2, %r0, 15; selp.b32 %r2, %r0, %r2, %p2;\n" + kStore + "A:");
  expect_no_reports();
  EXPECT_EQ(get<std::uint32_t>(written_, 16),
            (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15}));
}

// It was reported where it was stored, once.
TEST_P(MissingLanes, WhatWasStoredIsWritten) {
  run_with_words(kLowerHalf + "@!%p1 bra A; shfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff;\n" +
                 kStore + "ld.global.u32 %r3, [%x2]; setp.eq.u32 %p2, %r3, 3; @%p2 bra A;\n" +
                 "st.global.u32 [%x2+64], %r0; A:");
  EXPECT_EQ(only().other.instruction, "st.global.u32 [%x2], %r2");
}

TEST_P(MissingLanes, VotesAndTilesAmongThoseWhoAreLeft) {
  run_with_words(kLowerHalf + "@!%p1 bra A; vote.sync.ballot.b32 %r2, %p1, -1;\n" + kStore +
                 "redux.sync.add.u32 %r2, %r0, -1;\n" + kStore +
                 "and.b32 %r3, %r0, 8; shl.b32 %r4, 0xff, %r3;\n" // tiles of eight
                 "shfl.sync.down.b32 %r2, %r0, 1, 0x1807, %r4;\n" +
                 kStore + "shfl.sync.bfly.b32 %r2, %r0, 4, 0x1807, %r4;\n" + kStore + "A:");
  expect_no_reports();
}

// While lanes 0 and 1 spin, each its own number of turns, the others go on to where all are named.
TEST_P(MissingLanes, LanesThatComeOneAfterTheOther) {
  const std::string spin = "mad.lo.u32 %r4, %r0, 20000, 20000; mov.u32 %r3, 0;\n"
                           "setp.gt.u32 %p1, %r0, 1; @%p1 bra B;\n"
                           "A: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r4; @%p2 bra A; B:\n";
  const struct {
    const char* statement;
    std::uint32_t result;
  } kCases[] = {
    {"redux.sync.add.u32 %r2, 1, -1;", 32},
    {"setp.eq.u32 %p2, %r0, %r0; vote.sync.ballot.b32 %r2, %p2, -1;", 0xffffffff},
    {"and.b32 %r3, %r0, 0; match.any.sync.b32 %r2, %r3, -1;", 0xffffffff},
    {"and.b32 %r3, %r0, 1; shfl.sync.idx.b32 %r2, 5, 0, 31, -1;", 5},
  };
  for (const auto& c : kCases) {
    run_with_words(spin + c.statement + kStore);
    expect_no_reports();
    EXPECT_EQ(get<std::uint32_t>(written_, 32), std::vector<std::uint32_t>(32, c.result))
      << c.statement;
  }
}

// Lanes 0 and 1 meet late, the second last, while the others wait at a barrier of the whole warp:
// theirs is another mask.
TEST_P(MissingLanes, BarriersOfTheWarpMeetByTheirMasks) {
  run_with_words("setp.gt.u32 %p1, %r0, 1; mad.lo.u32 %r4, %r0, 20000, 20000; mov.u32 %r3, 0;\n"
                 "@%p1 bra C;\n"
                 "A: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r4; @%p2 bra A;\n"
                 "bar.warp.sync 3; st.global.u32 [%x2], 7;\n"
                 "C: bar.warp.sync -1; ld.global.u32 %r2, [%x0+4];\n" +
                 kStore);
  expect_no_reports();
  EXPECT_EQ(get<std::uint32_t>(written_, 32), std::vector<std::uint32_t>(32, 7));
}

INSTANTIATE_TEST_SUITE_P(FromTheStartOrALoad, MissingLanes,
                         testing::Values(Checks::kFull, Checks::kDefault), [](const auto& checks) {
                           return checks.param == Checks::kFull ? "Full" : "Default";
                         });

} // namespace
} // namespace gmt::executor
