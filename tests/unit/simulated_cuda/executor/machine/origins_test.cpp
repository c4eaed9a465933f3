// SPDX-License-Identifier: Apache-2.0
// From which load a value comes that nothing wrote.
#include "tests/unit/simulated_cuda/executor/support/tracking_runner.h"

namespace gmt::executor {
namespace {

using Origins = TrackingRunner;

TEST_P(Origins, ABranchNamesTheLoadAndTheUse) {
  run_with_words("ld.global.u32 %r1, [%x3]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;\n"
                 "st.global.u32 [%x2], %r0; A:");
  const Report& report = only();
  EXPECT_EQ(report.kind, ReportKind::kUninitializedRead);
  EXPECT_EQ(report.location.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_EQ(report.access, Access::kLoad);
  EXPECT_EQ(report.bytes, 4u);
  EXPECT_EQ(report.count, 32u);
  EXPECT_EQ(report.address, unwritten_);
  EXPECT_EQ(report.location.thread.x, 0u);
  ASSERT_TRUE(report.has_other);
  EXPECT_EQ(report.other.instruction, "@%p1 bra A");
}

TEST_P(Origins, ALoadWhoseValueWasOverwrittenIsNoOrigin) {
  run_with_words("ld.global.u32 %r1, [%x3]; ld.global.u32 %r2, [%x3]; mov.u32 %r3, %r2;\n"
                 "mov.u32 %r3, %r1; setp.eq.u32 %p1, %r3, 0; @%p1 bra A;\n"
                 "st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
}

TEST_P(Origins, ALoadOnOneOfTwoWaysIsAnOrigin) {
  run_with_words("mov.u32 %r3, 0; setp.gt.u32 %p2, %r0, 7; @%p2 bra B;\n"
                 "ld.global.u32 %r3, [%x3];\n"
                 "B: setp.eq.u32 %p1, %r3, 1; @%p1 bra A; st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r3, [%x3]");
  EXPECT_EQ(only().count, 8u);
}

TEST_P(Origins, AGuardedMoveKeepsTheOrigin) {
  run_with_words("ld.global.u32 %r1, [%x3]; setp.gt.u32 %p2, %r0, 99; @%p2 mov.u32 %r1, 4;\n"
                 "setp.eq.u32 %p1, %r1, 1; @%p1 bra A; st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
}

TEST_P(Origins, AnOriginBeforeALoop) {
  run_with_words(
    "ld.global.u32 %r1, [%x3]; mov.u32 %r2, 0;\n"
    "L: add.u32 %r1, %r1, 3; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra L;\n"
    "setp.eq.u32 %p1, %r1, 1; @%p1 bra A; st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
}

INSTANTIATE_TEST_SUITE_P(FromTheStartOrALoad, Origins,
                         testing::Values(Checks::kFull, Checks::kDefault), [](const auto& checks) {
                           return checks.param == Checks::kFull ? "Full" : "Default";
                         });

} // namespace
} // namespace gmt::executor
