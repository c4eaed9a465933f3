// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of global memory, and what is not checked.
#include <string>
#include <vector>

#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

class CopyMistakes : public Mistakes {};

// What it reads is checked as a load is, if it reads all of its bytes.
TEST_P(CopyMistakes, CopiesToSharedMemory) {
  functions_ = ".shared .align 16 .b8 tile[256];\n";
  rewrite_kernel("mov.u32 %r2, tile; setp.ne.u32 %p1, %r1, 7; selp.u32 %r3, 16, 0, %p1;\n"
                 "mul.wide.u32 %d3, %r1, 16; add.s64 %d4, %d1, %d3;\n"
                 "mad.lo.u32 %r2, %r1, 16, %r2;\n"
                 "cp.async.ca.shared.global [%r2], [%d4], 16;\n"
                 "cp.async.cg.shared.global.L2::128B [%r2], [%d4+16], 16, %r3;\n"
                 "@!%p1 cp.async.ca.shared.global [%r2], [%d4], 16, %r3;\n"
                 "cp.async.ca.shared.global [%r2], [%d4+8], 8, 4;\n"
                 "cp.async.commit_group; cp.async.wait_all; bar.sync 0;\n"
                 "ld.shared.u32 %r4, [%r2]; st.global.u32 [%d2], %r4;\n");
  const std::uint64_t q = world_->block(4);
  run(world_->block(16 * 6), q, 8);
  EXPECT_EQ(count(0), 2u); // threads 6 and 7
  EXPECT_EQ(count(1), 2u); // threads 5 and 6: 7 reads nothing
  EXPECT_EQ(count(2), 0u);
  EXPECT_EQ(count(3), 2u);
  EXPECT_EQ(rewritten_.sites[1].bytes, 16u);
  EXPECT_EQ(rewritten_.sites[1].kind, AccessKind::kLoad);
  EXPECT_TRUE(rewritten_.unchecked.empty());
}

// In a large function, whose code is not copied.
TEST_P(CopyMistakes, ACopyOfNothingIsNoMistake) {
  most_copied_ = 0;
  functions_ = ".shared .align 16 .b8 tile[256];\n";
  rewrite_kernel("mov.u32 %r2, tile; setp.lt.u32 %p1, %r1, 4; selp.u32 %r3, 4, 0, %p1;\n"
                 "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3;\n"
                 "cp.async.ca.shared.global [%r2], [%d4], 4, %r3; cp.async.wait_all;\n");
  run(world_->block(12), 0, 8);
  EXPECT_EQ(count(0), 1u); // thread 3: those behind it read nothing
}

TEST_P(CopyMistakes, ACopyThatWouldFaultIsLeftOut) {
  functions_ = ".shared .align 16 .b8 tile[256];\n";
  rewrite_kernel("mov.u32 %r2, tile; mov.u32 %r3, 9; st.shared.u32 [%r2], %r3;\n"
                 "cp.async.ca.shared.global [%r2], [%d1], 4; cp.async.wait_all;\n"
                 "ld.shared.u32 %r4, [%r2]; st.global.u32 [%d2], %r4;\n");
  const std::uint64_t q = world_->block(4);
  run(q + 100000, q);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(word(q), 9u);
}

TEST_P(CopyMistakes, WhatIsNotCheckedIsNamed) {
  functions_ = ".shared .align 16 .b8 tile[256];\n";
  rewrite_kernel("mov.u32 %r2, tile; cp.async.ca.shared.global [%r2], [%d1], 16, 12;\n"
                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];\n"
                 "cp.async.commit_group; cp.async.wait_all;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 16;\n"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n");
  std::vector<std::string> reasons;
  for (const Unchecked& one : rewritten_.unchecked) reasons.push_back(one.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"asynchronous copies",
                                               "loads and stores of matrices", "copies in bulk"}));
}

INSTANTIATE_TEST_SUITE_P(Exact, CopyMistakes, exact_checks());

} // namespace
} // namespace gmt::rewriter
