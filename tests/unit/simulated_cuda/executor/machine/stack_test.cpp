// SPDX-License-Identifier: Apache-2.0
// alloca: arrays whose size is computed, of each lane its own, that end with stackrestore or with
// their function. Atomics of 16 bytes, and elections of tiles.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <numeric>

namespace gmt::executor {
namespace {

class StackTest : public KernelRunner {
protected:
  // 32 threads; %r0 is the lane, %x1 the address of its word of q, %x0 that of p.
  std::vector<std::uint32_t> run_kernel(const std::string& functions, const std::string& text) {
    load(functions +
         ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
         ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %x<16>; .reg .b128 %w<4>;\n"
         "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
         "mul.wide.u32 %x2, %r0, 4; add.u64 %x1, %x1, %x2;\n" +
         text + "st.global.u32 [%x1], %r9; ret; }\n");
    recorder_.reports.clear();
    q_ = put(std::vector<std::uint32_t>(32));
    EXPECT_EQ(run({1}, {32}, {put(words_), q_}).end, End::kDone);
    return get<std::uint32_t>(q_, 32);
  }
  std::vector<std::uint64_t> words_{1, 2, 3, 4};
  std::uint64_t q_ = 0;
};

// Lane l has l + 1 words, fills them with l and adds them up.
const std::string kFill = "add.u32 %r1, %r0, 1; mul.wide.u32 %x3, %r1, 4;\n"
                          "alloca.u64 %x4, %x3, 16; cvta.local.u64 %x5, %x4; mov.u32 %r2, 0;\n"
                          "FILL: mad.wide.u32 %x6, %r2, 4, %x5; st.u32 [%x6], %r0;\n"
                          "add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, %r1; @%p0 bra FILL;\n"
                          "mov.u32 %r2, 0; mov.u32 %r9, 0;\n"
                          "ADD: mad.wide.u32 %x6, %r2, 4, %x4; ld.local.u32 %r3, [%x6];\n"
                          "add.u32 %r9, %r9, %r3; add.u32 %r2, %r2, 1;\n"
                          "setp.lt.u32 %p0, %r2, %r1; @%p0 bra ADD;\n";

TEST_F(StackTest, EachLaneHasAsMuchAsItAskedFor) {
  const auto out = run_kernel("", kFill);
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l * (l + 1));
  EXPECT_TRUE(recorder_.reports.empty());
}

TEST_F(StackTest, WhatLiesBehindTheLongestIsOutOfBounds) {
  run_kernel("", kFill + "ld.local.u32 %r9, [%x4+4096];\n");
  ASSERT_FALSE(recorder_.reports.empty());
  EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kOutOfBounds);
}

TEST_F(StackTest, AFunctionsArraysLieBehindThoseOfItsCaller) {
  const std::string callee =
    ".func (.param .b32 r) f(.param .b32 n) { .reg .b32 %r<4>; .reg .b64 %x<4>;\n"
    "ld.param.u32 %r0, [n]; mul.wide.u32 %x0, %r0, 8; alloca.u64 %x1, %x0, 32;\n"
    "st.local.u32 [%x1], 77; ld.local.u32 %r1, [%x1]; st.param.b32 [r], %r1; ret; }\n";
  const auto out = run_kernel(
    callee, "alloca.u64 %x4, 16, 16; st.local.u32 [%x4], %r0; st.local.u32 [%x4+12], %r0;\n"
            "{ .param .b32 n; .param .b32 r; st.param.b32 [n], %r0; call (r), f, (n);\n"
            "ld.param.b32 %r5, [r]; } ld.local.u32 %r6, [%x4+12]; add.u32 %r9, %r5, %r6;\n");
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], 77 + l);
  EXPECT_TRUE(recorder_.reports.empty());
}

// 1,000 times 4 KiB would be more than a lane can have.
TEST_F(StackTest, ARestoredStackIsUsedAgain) {
  const std::string loop =
    "mov.u32 %r9, 0;\nL: stacksave.u64 %x7; alloca.u64 %x4, 4096, 16;\n"
    "st.local.u32 [%x4], %r9; ld.local.u32 %r9, [%x4]; add.u32 %r9, %r9, 1;\n";
  const std::string again = "setp.lt.u32 %p0, %r9, 1000; @%p0 bra L;\n";
  EXPECT_EQ(run_kernel("", loop + "stackrestore.u64 %x7;\n" + again)[3], 1000u);
  EXPECT_TRUE(recorder_.reports.empty());
}

TEST_F(StackTest, AStackThatGrowsForEverOverflows) {
  load(".visible .entry k() { .reg .b64 %x<2>; L: alloca.u64 %x0, 4096, 16; bra L; }\n");
  EXPECT_EQ(run({1}, {1}, {}).gpu_error, 700u);
  ASSERT_EQ(recorder_.reports.size(), 1u);
  EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kStackOverflow);
}

TEST_F(StackTest, AtomicsOfSixteenBytes) {
  run_kernel("", "setp.ne.u32 %p0, %r0, 5; @%p0 bra E; mov.b128 %w0, {%x8, %x9};\n"
                 "mov.u64 %x3, 1; mov.u64 %x4, 2; mov.u64 %x5, 8; mov.u64 %x6, 9;\n"
                 "mov.b128 %w1, {%x3, %x4}; mov.b128 %w2, {%x5, %x6};\n"
                 "atom.global.cas.b128 %w0, [%x0], %w1, %w2;\n"    // 1, 2 becomes 8, 9
                 "atom.global.cas.b128 %w3, [%x0+16], %w1, %w2;\n" // 3, 4 stays
                 "atom.global.exch.b128 %w3, [%x0+16], %w0;\n"
                 "mov.b128 {%x8, %x9}, %w3; cvt.u32.u64 %r9, %x9;\nE:");
  EXPECT_EQ(get<std::uint32_t>(q_, 32)[5], 4u);
  EXPECT_EQ(get<std::uint64_t>(q_ + 512, 4), (std::vector<std::uint64_t>{8, 9, 1, 2}));
}

TEST_F(StackTest, EachTileOfAWarpElectsALeader) {
  const auto out = run_kernel("", "and.b32 %r1, %r0, 24; mov.u32 %r2, 255; shl.b32 %r2, %r2, %r1;\n"
                                  "elect.sync %r9|%p0, %r2; @%p0 add.u32 %r9, %r9, 100;\n");
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l / 8 * 8 + (l % 8 == 0 ? 100 : 0)) << l;
}

} // namespace
} // namespace gmt::executor
