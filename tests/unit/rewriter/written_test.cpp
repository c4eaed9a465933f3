// SPDX-License-Identifier: Apache-2.0
// Loads of bytes that nothing wrote, as checked code finds them.
#include <string>
#include <vector>

#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

class Written : public Mistakes {
protected:
  // A block of 64 bytes, of which the first are written; and one to store to.
  void run_with(const std::string& statements, std::uint32_t written_bytes,
                std::uint32_t threads = 1, Bounds bounds = Bounds::kNever) {
    checks_written_ = true;
    rewrite_kernel(statements, bounds);
    p_ = world_->block(64);
    q_ = world_->block(4096);
    world_->set_written(p_, 64, false);
    if (written_bytes != 0) world_->set_written(p_, written_bytes, true);
    run(p_, q_, threads);
  }
  std::uint64_t unwritten(std::size_t site) { return count(site, kUnwrittenCount); }

  std::uint64_t p_ = 0, q_ = 0;
};

constexpr const char* kElement = "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; "
                                 "add.s64 %d5, %d2, %d3; ld.global.f32 %f1, [%d4]; ";

TEST_P(Written, AComputedValueThatIsStored) {
  run_with(std::string(kElement) + "add.f32 %f2, %f1, %f1; st.global.f32 [%d5], %f2;", 20, 16);
  EXPECT_EQ(unwritten(0), 11u);
  EXPECT_EQ(unwritten(1), 0u);
  ASSERT_EQ(world_->used(), 11u);
  const Record record = world_->record(0);
  EXPECT_EQ(record.kind, kUnwrittenCount);
  EXPECT_EQ(record.address, p_ + 20);
  EXPECT_EQ(record.thread[0], 5u);
  EXPECT_EQ(record.launch, 77u);
  EXPECT_EQ(faults_, 0u);
}

TEST_P(Written, AValueThatIsOnlyMoved) {
  run_with(std::string(kElement) + "st.global.f32 [%d5], %f1;", 0, 16);
  EXPECT_EQ(world_->used(), 0u);
}

TEST_P(Written, AValueThatIsUsedOnOneWayAlone) {
  run_with(std::string(kElement) + "setp.eq.u32 %p1, %r1, 3; @%p1 bra $end; add.f32 %f2, %f1, "
                                   "%f1; st.global.f32 [%d5], %f2; $end: ret;",
           0, 16);
  EXPECT_EQ(world_->used(), 0u);
}

TEST_P(Written, AnAddressAndABranch) {
  run_with("ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; setp.eq.u32 %p1, %r3, 7; "
           "mul.wide.u32 %d3, %r2, 4; add.s64 %d4, %d2, %d3; ld.global.u32 %r4, [%d4]; "
           "@%p1 bra $end; mov.u32 %r5, 1; $end: ret;",
           0);
  EXPECT_EQ(unwritten(0), 1u);
  EXPECT_EQ(unwritten(1), 1u);
  EXPECT_EQ(unwritten(2), 0u);
}

TEST_P(Written, ASumOfALoop) {
  run_with("mov.f32 %f1, 0f00000000; mov.u32 %r2, 0; mov.u64 %d3, %d1; $loop: ld.global.f32 %f2, "
           "[%d3]; add.f32 %f1, %f1, %f2; add.s64 %d3, %d3, 4; add.u32 %r2, %r2, 1; "
           "setp.lt.u32 %p1, %r2, 16; @%p1 bra $loop; st.global.f32 [%d2], %f1;",
           40, 1, Bounds::kInLoops);
  EXPECT_EQ(unwritten(0), 6u);
}

// What is stored is written from then on, also by a store of fewer bytes.
TEST_P(Written, StoresWrite) {
  run_with("st.global.u8 [%d1+5], %r1; st.global.v2.u32 [%d1+16], {%r1, %r1}; "
           "atom.global.add.u32 %r2, [%d1+32], 1; red.global.add.u32 [%d1+36], 1;",
           0);
  for (const std::uint64_t word : {4u, 16u, 20u, 32u, 36u})
    EXPECT_TRUE(world_->is_written(p_ + word)) << word;
  for (const std::uint64_t word : {0u, 8u, 24u, 40u})
    EXPECT_FALSE(world_->is_written(p_ + word)) << word;
  EXPECT_EQ(unwritten(2), 1u); // atomics read
  EXPECT_EQ(unwritten(3), 1u);
}

TEST_P(Written, AStoreThatIsLeftOutByItsGuardWritesNothing) {
  run_with("setp.ne.u32 %p1, %r1, 0; @%p1 st.global.u32 [%d1], %r1; @!%p1 st.global.u32 [%d1+4], "
           "%r1; ld.global.u32 %r2, [%d1+4]; add.u32 %r2, %r2, 1; st.global.u32 [%d2], %r2;",
           0);
  EXPECT_FALSE(world_->is_written(p_));
  EXPECT_TRUE(world_->is_written(p_ + 4));
  EXPECT_EQ(world_->used(), 0u);
}

// Of a vector those parts count that are used.
TEST_P(Written, PartsOfAVector) {
  const std::string load = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1]; ";
  run_with(load + "add.f32 %f5, %f1, %f3; st.global.f32 [%d2], %f5;", 12);
  EXPECT_EQ(world_->used(), 0u);
  run_with(load + "add.f32 %f5, %f1, %f4; st.global.f32 [%d2], %f5;", 12);
  EXPECT_EQ(unwritten(0), 1u);
}

// Bytes may be masked away.
TEST_P(Written, AByteOfAWord) {
  run_with("ld.global.u32 %r2, [%d1]; and.b32 %r2, %r2, %r1; add.u32 %r3, %r2, 1; "
           "st.global.u32 [%d2], %r3;",
           0);
  EXPECT_EQ(world_->used(), 0u);
  run_with("ld.global.u32 %r2, [%d1]; and.b32 %r2, %r2, 255; add.u32 %r3, %r2, 1; "
           "st.global.u32 [%d2], %r3;",
           0);
  EXPECT_EQ(unwritten(0), 1u);
}

// Two pages of the table meet between the two loads.
TEST_P(Written, RangesAcrossPages) {
  checks_written_ = true;
  rewrite_kernel("ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+4]; add.f32 %f3, %f1, %f2; "
                 "st.global.f32 [%d2], %f3;");
  const std::uint64_t p = world_->block(std::uint64_t{20} << 20), q = world_->block(4);
  const std::uint64_t page = (p + (std::uint64_t{8} << 20)) >> kPageBits << kPageBits;
  world_->set_written(page, 4, false);
  run(page - 4, q);
  EXPECT_EQ(unwritten(0), 0u);
  EXPECT_EQ(unwritten(1), 1u);
}

TEST_P(Written, AMistakeIsNoReadOfUnwrittenBytes) {
  run_with("ld.global.f32 %f1, [%d1+64]; add.f32 %f2, %f1, %f1; st.global.f32 [%d2], %f2;", 0);
  EXPECT_EQ(count(0, kOutOfBoundsCount), 1u);
  EXPECT_EQ(unwritten(0), 0u);
}

// The state of a word is asked for whatever the address is, and that must not fault.
TEST_P(Written, BadAddressesAreNamedAsSuch) {
  run_with("ld.global.v2.f32 {%f1, %f2}, [%d1+4]; ld.global.v4.f32 {%f3, %f4, %f5, %f6}, [%d1+8]; "
           "ld.global.f64 %d6, [%d1+12]; add.f32 %f1, %f1, %f2; add.f32 %f3, %f3, %f4; "
           "add.f64 %d6, %d6, %d6; st.global.f32 [%d2], %f1; st.global.f32 [%d2+4], %f3; "
           "st.global.f64 [%d2+8], %d6;",
           0);
  for (const std::size_t site : {0u, 1u, 2u}) {
    EXPECT_EQ(count(site, kMisalignedCount), 1u);
    EXPECT_EQ(unwritten(site), 0u);
  }
  EXPECT_EQ(faults_, 0u);
  run_with("setp.ne.u32 %p1, %r1, 0; @%p1 ld.global.v2.f32 {%f1, %f2}, [%d9+4]; "
           "add.f32 %f1, %f1, %f2; st.global.f32 [%d2], %f1;",
           0);
  EXPECT_EQ(world_->used(), 0u);
  EXPECT_EQ(faults_, 0u);
}

TEST_P(Written, WhatWritesUnseenIsSaid) {
  checks_written_ = true;
  rewrite_kernel("st.global.u32 [%d1], %r1;");
  EXPECT_FALSE(rewritten_.writes_unseen);
  rewrite_kernel("cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 16;");
  EXPECT_TRUE(rewritten_.writes_unseen);
  functions_ = ".extern .func other;\n";
  rewrite_kernel("call other;");
  EXPECT_TRUE(rewritten_.writes_unseen);
}

INSTANTIATE_TEST_SUITE_P(Exact, Written, exact_checks());

} // namespace
} // namespace gmt::rewriter
