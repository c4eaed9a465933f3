// SPDX-License-Identifier: Apache-2.0
// cp.async: what it copies, and which of its accesses are reported.
#include "tests/unit/simulated_cuda/executor/support/tracking_runner.h"

#include <numeric>

namespace gmt::executor {
namespace {

// %r1 is the thread's part of shared memory, %x2 that of p, %x3 that of q; 16 bytes each.
class Copies : public TrackingRunner {
protected:
  static std::string kernel(const std::string& statements) {
    return ".shared .align 16 .b8 tile[512];\n"
           ".visible .entry k(.param .u64 p, .param .u64 q) { .reg .pred %p<4>;\n"
           ".reg .b32 %r<16>; .reg .b64 %x<8>; ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q];\n"
           "mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 16, %r1;\n"
           "mul.wide.u32 %x4, %r0, 16; add.u64 %x2, %x0, %x4; add.u64 %x3, %x1, %x4;\n" +
           statements +
           "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];\n"
           "st.global.v4.u32 [%x3], {%r2, %r3, %r4, %r5}; ret; }\n";
  }
  static constexpr const char* kWait = "cp.async.commit_group; cp.async.wait_group 0;\n"
                                       "cp.async.wait_all; bar.warp.sync 0xffffffff;\n";
  std::vector<std::uint32_t> run_on_numbers(const std::string& copies) {
    load(kernel(copies + kWait));
    std::vector<std::uint32_t> numbers(128);
    std::iota(numbers.begin(), numbers.end(), 0x01020304u);
    const std::uint64_t a = put(numbers), b = allocate(512);
    EXPECT_EQ(run({1}, {32}, {a, b}).end, End::kDone);
    return get<std::uint32_t>(b, 128);
  }
};

TEST_P(Copies, OfAllSizes) {
  for (
    const std::string copy :
    {"cp.async.cg.shared.global [%r1], [%x2], 16;\n",
     "cp.async.cg.shared::cta.global.L2::128B [%r1], [%x2], 16, 16;\n",
     "cp.async.ca.shared.global [%r1], [%x2], 8; cp.async.ca.shared.global [%r1+8], [%x2+8], 8;\n",
     "cp.async.ca.shared.global [%r1+12], [%x2+12], 4; cp.async.ca.shared.global [%r1], [%x2], 8;\n"
     "@%p0 cp.async.ca.shared.global [%r1+8], [%x2+16], 4;\n"
     "cp.async.ca.shared.global [%r1+8], [%x2+8], 4;\n"}) {
    const auto out = run_on_numbers("setp.gt.u32 %p0, %r0, 31;\n" + copy);
    for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(out[i], 0x01020304u + i) << copy;
    expect_no_reports();
  }
}

TEST_P(Copies, WhatTheSourceLacksIsZero) {
  const auto seven = run_on_numbers("cp.async.ca.shared.global [%r1], [%x2], 16, 7;\n");
  const auto none = run_on_numbers("cp.async.cg.shared.global [%r1], [%x2], 16, 0;\n");
  for (std::uint32_t i = 0; i < 128; i += 4) {
    EXPECT_EQ(seven[i], 0x01020304u + i);
    EXPECT_EQ(seven[i + 1], (0x01020304u + i + 1) & 0xffffff);
    EXPECT_EQ(seven[i + 2] | seven[i + 3], 0u);
    EXPECT_EQ(none[i] | none[i + 1] | none[i + 2] | none[i + 3], 0u);
  }
  expect_no_reports();
}

TEST_P(Copies, ReadsOnlyItsSource) {
  load(kernel(std::string("cp.async.ca.shared.global [%r1], [%x2], 16, 4;\n") + kWait));
  const std::uint64_t a = put(std::vector<std::uint32_t>(125)), b = allocate(512);
  run({1}, {32}, {a, b});
  expect_no_reports();
}

TEST_P(Copies, OutOfBounds) {
  const std::string copy = "cp.async.cg.shared.global [%r1], [%x2], 16";
  load(kernel(copy + ";\n" + kWait));
  const std::uint64_t a = put(std::vector<std::uint32_t>(126)), b = allocate(512);
  run({1}, {32}, {a, b});
  EXPECT_EQ(only().kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(only().location.instruction, copy);
  EXPECT_EQ(only().location.thread.x, 31u);
  EXPECT_EQ(only().space, Space::kGlobal);
}

TEST_P(Copies, BeyondSharedMemory) {
  const std::string copy = "cp.async.cg.shared.global [%r1+512], [%x2], 16";
  load(kernel(copy + "; cp.async.cg.shared.global [%r1], [%x2], 16;\n" + kWait));
  const std::uint64_t a = put(std::vector<std::uint32_t>(128)), b = allocate(512);
  run({1}, {1}, {a, b});
  EXPECT_EQ(only().kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(only().space, Space::kShared);
}

TEST_P(Copies, OfUnwrittenMemoryThatDecides) {
  load(kernel(std::string("cp.async.ca.shared.global [%r1], [%x2], 4, 4;\n"
                          "cp.async.ca.shared.global [%r1+4], [%x2], 4, 0;\n"
                          "cp.async.ca.shared.global [%r1+8], [%x2], 8, 0;\n") +
              kWait + "ld.shared.u32 %r6, [%r1]; setp.eq.u32 %p1, %r6, 1; @%p1 trap;\n"));
  const std::uint64_t a = allocate(512), b = allocate(512);
  run({1}, {32}, {a, b});
  EXPECT_EQ(only().other.instruction, "@%p1 trap");
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutTracking, Copies,
                         testing::Values(Checks::kFull, Checks::kDefault));

} // namespace
} // namespace gmt::executor
