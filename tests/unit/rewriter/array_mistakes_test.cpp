// SPDX-License-Identifier: Apache-2.0
// What checks report of single mistakes beside arrays: shared and local memory, and variables.
#include <string>
#include <vector>

#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

using ArrayMistakes = Mistakes;

TEST_P(ArrayMistakes, BehindAndBeforeASharedArray) {
  rewrite_kernel(".shared .align 4 .b8 a[64];\n.shared .align 4 .b8 b[128];\n"
                 "mov.u32 %r2, b; mad.lo.s32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;"
                 "ld.shared.u32 %r4, [%r3+-4]; st.shared.u32 [a+60], %r4;");
  ASSERT_EQ(rewritten_.sites.size(), 2u); // the last one is right for all to see
  EXPECT_EQ(rewritten_.sites[0].array, "b");
  run(0, 0, 34);
  EXPECT_EQ(count(0), 2u);
  EXPECT_EQ(count(1), 2u); // those of the threads 0 and 33
  ASSERT_EQ(world_->used(), 4u);
  Record record = world_->record(0);
  for (std::size_t i = 1; i < 4 && record.site != 0; ++i) record = world_->record(i);
  EXPECT_EQ(record.site, 0u);
  EXPECT_EQ(record.space, RecordSpace::kShared);
  EXPECT_EQ(record.kind, kOutOfBoundsCount);
  EXPECT_EQ(record.address, record.meant + 128);
  EXPECT_EQ(record.entry, 128);
  EXPECT_EQ(record.thread[0], 32u);
}

// Within the block's memory they do what they do in the plain kernel; behind it they are left out.
TEST_P(ArrayMistakes, WhichSharedAccessesAreMade) {
  rewrite_kernel(".shared .align 16 .b8 a[16];\n.shared .align 16 .b8 b[16];\n"
                 "mov.u32 %r2, a; mov.u32 %r6, 5; mov.u32 %r7, 6; ld.global.u32 %r8, [%d2];\n"
                 "add.s32 %r4, %r2, %r8; st.shared.u32 [%r4], %r6; ld.shared.u32 %r7, [%r4];\n"
                 "st.global.u32 [%d1], %r7;");
  const std::uint64_t p = world_->block(4), q = world_->block(4);
  set_word(q, 32); // where the executor puts b
  run(p, q);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(word(p), 5u);
  set_word(q, 4096);
  run(p, q);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(word(p), 0u);
}

TEST_P(ArrayMistakes, SharedMemoryThatTheLaunchGives) {
  functions_ = ".extern .shared .align 16 .b8 d[];\n";
  for (const std::uint32_t bytes : {0u, 3u, 4u, 128u, 1000u}) {
    dynamic_bytes_ = bytes;
    rewrite_kernel(".shared .align 4 .b8 a[64];\nst.shared.u32 [a], %r1; mov.u32 %r2, d;"
                   "shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1;"
                   "ld.shared.u32 %r5, [d+4];");
    ASSERT_EQ(rewritten_.sites.size(), 2u);
    run(0, 0, 64);
    EXPECT_EQ(count(0), 64 - std::min(64u, bytes / 4)) << bytes;
    EXPECT_EQ(count(1), bytes < 8 ? 64u : 0u) << bytes;
    if (bytes < 8) {
      EXPECT_EQ(world_->record(0).entry, static_cast<std::int32_t>(bytes));
    }
    EXPECT_EQ(faults_, 0u);
  }
}

TEST_P(ArrayMistakes, ConstantsBehindAnArray) {
  rewrite_kernel(".shared .align 8 .b8 a[64];\nst.shared.u32 [a+64], %r1;"
                 "ld.shared.v2.u32 {%r2, %r3}, [a+56]; ld.shared.u32 %r4, [a+-4];");
  ASSERT_EQ(rewritten_.sites.size(), 2u);
  run(0, 0);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 1u);
}

TEST_P(ArrayMistakes, MisalignedSharedAccesses) {
  rewrite_kernel(".shared .align 8 .b8 a[64];\nmov.u32 %r2, a; shl.b32 %r3, %r1, 2;"
                 "add.s32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1; mov.u32 %r5, 9;\n"
                 "ld.shared.v2.u32 {%r5, %r6}, [%r4]; st.global.u32 [%d1], %r5;");
  const std::uint64_t p = world_->block(4);
  run(p, 0, 2);
  EXPECT_EQ(count(0, kMisalignedCount), 0u);
  EXPECT_EQ(count(1, kMisalignedCount), 1u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(world_->record(0).space, RecordSpace::kShared);
  EXPECT_EQ(world_->record(0).kind, kMisalignedCount);
}

// Where the array is not known the shared memory of the block is the bound.
TEST_P(ArrayMistakes, SharedMemoryWithoutAnArray) {
  functions_ = ".func f(.param .u64 a, .param .u32 b) {\n.reg .b64 %d<2>; .reg .b32 %r<4>;"
               "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [b];\nst.u32 [%d1], %r1;"
               "ld.shared.u32 %r2, [%r1]; ld.shared.v2.u32 {%r2, %r3}, [%r1+8]; ret; }\n";
  dynamic_bytes_ = 64;
  rewrite_kernel(".shared .align 16 .b8 a[64];\nmov.u64 %d3, a; cvta.shared.u64 %d4, %d3;"
                 "add.s64 %d5, %d4, %d2; cvt.u32.u64 %r2, %d3; cvt.u32.u64 %r3, %d2;"
                 "add.s32 %r4, %r2, %r3;\n{ .param .b64 x; .param .b32 y; st.param.b64 [x], %d5;"
                 "st.param.b32 [y], %r4; call f, (x, y); }");
  ASSERT_EQ(rewritten_.sites.size(), 3u);
  const std::uint32_t end = 64 + 16 + 64; // as the executor puts them
  run(0, end - 16);
  for (std::size_t site = 0; site < 3; ++site) EXPECT_EQ(count(site), 0u);
  run(0, end - 4);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2, kMisalignedCount), 1u);
  run(0, end);
  for (std::size_t site = 0; site < 3; ++site) EXPECT_EQ(count(site), 1u);
  EXPECT_EQ(faults_, 0u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world_->record(i).space, RecordSpace::kShared);
    EXPECT_EQ(world_->record(i).address, end + (i == 2 ? 8 : 0));
    EXPECT_EQ(world_->record(i).entry, static_cast<std::int32_t>(end));
  }
}

// Another block's shared memory lies behind the own one in the generic space.
TEST_P(ArrayMistakes, ClustersOfBlocks) {
  rewrite_kernel(".shared .align 16 .b8 a[64];\nmov.u64 %d3, a; cvta.shared.u64 %d4, %d3;"
                 "mapa.u64 %d5, %d4, 1; st.u32 [%d5], %r1; st.shared.u32 [%r1], %r1;");
  EXPECT_EQ(rewritten_.sites.size(), 1u);
  EXPECT_EQ(rewritten_.text.find("isspacep"), std::string::npos);
}

TEST_P(ArrayMistakes, BehindAndBeforeALocalArray) {
  rewrite_kernel(".local .align 8 .b8 depot[64];\nmov.u64 %d3, depot; cvta.local.u64 %d4, %d3;"
                 "mul.wide.u32 %d5, %r1, 4; add.s64 %d6, %d3, %d5; st.local.u32 [%d6], %r1;"
                 "add.s64 %d7, %d4, %d5; mov.u32 %r2, 7; ld.u32 %r2, [%d7+-4]; st.u32 [%d1], %r2;"
                 "st.local.u32 [depot], %r1;");
  ASSERT_EQ(rewritten_.sites.size(), 3u);
  const std::uint64_t p = world_->block(4);
  run(p, 0, 17);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(2), 0u);
  EXPECT_EQ(faults_, 0u);
  const Record record = world_->record(0);
  EXPECT_EQ(record.space, RecordSpace::kLocal);
  EXPECT_EQ(record.address, record.meant + 64);
  EXPECT_EQ(record.entry, 64);
}

// The table knows nothing of the memory of variables.
TEST_P(ArrayMistakes, BehindAndBeforeAVariable) {
  functions_ = ".visible .global .align 4 .b8 v[64];\n";
  rewrite_kernel("mov.u64 %d3, v; mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d3, %d4;"
                 "st.global.u32 [%d5], %r1; ld.u32 %r2, [%d5+-4]; st.global.u32 [v+60], %r1;");
  ASSERT_EQ(rewritten_.sites.size(), 2u);
  EXPECT_EQ(rewritten_.sites[0].array, "v");
  run(0, 0, 18);
  EXPECT_EQ(count(0), 2u);
  EXPECT_EQ(count(1), 2u); // those of the threads 0 and 17
  Record record = world_->record(0);
  for (std::size_t i = 1; i < 4 && record.site != 0; ++i) record = world_->record(i);
  EXPECT_EQ(record.space, RecordSpace::kVariable);
  EXPECT_EQ(record.meant, world_->variables["v"]);
  EXPECT_EQ(record.address, record.meant + 64);
  EXPECT_EQ(record.entry, 64);
}

INSTANTIATE_TEST_SUITE_P(Exact, ArrayMistakes, exact_checks());

} // namespace
} // namespace gmt::rewriter
