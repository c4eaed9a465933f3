// SPDX-License-Identifier: Apache-2.0
// Bytes of shared memory that nothing wrote.
#include <string>

#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

class SharedWritten : public Mistakes {
protected:
  // The thread's word of an array is in %r3, that of q in %d5.
  void run_with(const std::string& statements, std::uint32_t threads = 32) {
    checks_written_ = true;
    rewrite_kernel(".shared .align 4 .b8 a[256];\nmov.u32 %r2, a; mad.lo.u32 %r3, %r1, 4, %r2; "
                   "mul.wide.u32 %d3, %r1, 4; add.s64 %d5, %d2, %d3;\n" +
                   statements);
    const std::uint64_t p = world_->block(4096), q = world_->block(4096);
    run(p, q, threads);
  }
  // Of all sites.
  std::uint64_t unwritten() {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < rewritten_.sites.size(); ++i) sum += count(i, kUnwrittenCount);
    return sum;
  }
};

constexpr const char* kStoreOne = "add.u32 %r5, %r4, 1; st.global.u32 [%d5], %r5;";

TEST_P(SharedWritten, WhatNoThreadStoredIsNamed) {
  run_with("setp.lt.u32 %p1, %r1, 20; @%p1 st.shared.u32 [%r3], %r1; bar.sync 0;\n"
           "ld.shared.u32 %r4, [%r3]; " +
           std::string(kStoreOne));
  EXPECT_EQ(unwritten(), 12u);
  EXPECT_EQ(faults_, 0u);
  ASSERT_EQ(world_->used(), 12u);
  const Record record = world_->record(0);
  EXPECT_EQ(record.space, RecordSpace::kShared);
  EXPECT_EQ(record.kind, kUnwrittenCount);
  EXPECT_EQ(record.entry, 256);
  EXPECT_GE(record.address - record.meant, 80u);
  EXPECT_EQ(record.launch, 77u);
}

TEST_P(SharedWritten, WhatAnotherThreadStoredIsNot) {
  run_with("xor.b32 %r6, %r1, 31; mad.lo.u32 %r6, %r6, 4, %r2; st.shared.u32 [%r6], %r1;\n"
           "bar.sync 0; ld.shared.u32 %r4, [%r3]; " +
           std::string(kStoreOne));
  EXPECT_EQ(unwritten(), 0u);
  EXPECT_TRUE(rewritten_.unchecked.empty());
}

TEST_P(SharedWritten, ByAddressesThatNeedNoOtherCheck) {
  run_with("st.shared.u32 [a+8], %r1; ld.shared.u32 %r4, [a+8]; " + std::string(kStoreOne) +
             "ld.shared.u32 %r4, [a+12]; " + kStoreOne,
           1);
  EXPECT_EQ(unwritten(), 1u);
}

TEST_P(SharedWritten, SeveralWordsOfALoad) {
  run_with(".shared .align 16 .b8 b[64];\nst.shared.v2.u32 [b], {%r1, %r1}; st.shared.u32 [b+12], "
           "%r1; mov.u32 %r6, b;\n"
           "ld.shared.v4.u32 {%r4, %r5, %r7, %r8}, [%r6]; add.u32 %r5, %r5, %r8; add.u32 %r4, %r4, "
           "%r5; st.global.u32 [%d5], %r4;",
           1);
  EXPECT_EQ(unwritten(), 0u); // what is not used is not asked
  run_with(".shared .align 16 .b8 b[64];\nst.shared.v2.u32 [b], {%r1, %r1}; st.shared.u32 [b+12], "
           "%r1; mov.u32 %r6, b;\n"
           "ld.shared.v4.u32 {%r4, %r5, %r7, %r8}, [%r6]; add.u32 %r5, %r5, %r7; add.u32 %r4, %r4, "
           "%r5; st.global.u32 [%d5], %r4;",
           1);
  EXPECT_EQ(unwritten(), 1u);
}

TEST_P(SharedWritten, StoresByGenericAddresses) {
  run_with("cvt.u64.u32 %d6, %r3; cvta.shared.u64 %d7, %d6;\n"
           "st.global.u64 [%d1], %d7; ld.global.u64 %d8, [%d1]; bar.warp.sync -1;\n"
           "st.u32 [%d8], %r1; ld.shared.u32 %r4, [%r3]; " +
             std::string(kStoreOne),
           1);
  EXPECT_EQ(unwritten(), 0u);
}

TEST_P(SharedWritten, WhatTheLaunchGives) {
  dynamic_bytes_ = 128;
  functions_ = ".extern .shared .align 4 .b8 given[];\n";
  run_with("mov.u32 %r6, given; mad.lo.u32 %r6, %r1, 4, %r6; setp.lt.u32 %p1, %r1, 8;\n"
           "@%p1 st.shared.u32 [%r6], %r1; ld.shared.u32 %r4, [%r6]; " +
           std::string(kStoreOne));
  EXPECT_EQ(unwritten(), 24u);
}

TEST_P(SharedWritten, NothingWhereCopiesMayWrite) {
  run_with("cp.async.ca.shared.global [%r3], [%d1], 4; cp.async.wait_all;\n"
           "ld.shared.u32 %r4, [%r3]; " +
           std::string(kStoreOne));
  EXPECT_EQ(unwritten(), 0u);
  ASSERT_FALSE(rewritten_.unchecked.empty());
  EXPECT_NE(rewritten_.unchecked.back().reason.find("shared memory that nothing wrote"),
            std::string::npos);
}

TEST_P(SharedWritten, NothingWhereThereIsNoRoom) {
  functions_ = ".shared .align 4 .b8 large[45000];\n";
  run_with("mov.u32 %r6, large; ld.shared.u32 %r4, [%r6]; " + std::string(kStoreOne), 1);
  EXPECT_EQ(unwritten(), 0u);
  ASSERT_FALSE(rewritten_.unchecked.empty());
  EXPECT_NE(rewritten_.unchecked.back().reason.find("no room"), std::string::npos);
}

// A function without checks may store.
TEST_P(SharedWritten, NothingWhereAFunctionStaysPlain) {
  functions_ =
    ".func f(.param .u64 to)\n{\n.reg .b32 %r<2>; .reg .b64 %d<2>;\n{\n.local .align 4 "
    ".b8 own[4];\nld.param.u64 %d1, [to]; mov.u32 %r1, 7; st.u32 [%d1], %r1;\n}\nret;\n}\n";
  run_with("cvt.u64.u32 %d6, %r3; cvta.shared.u64 %d7, %d6;\n"
           "{ .param .u64 to; st.param.u64 [to], %d7; call f, (to); }\n"
           "ld.shared.u32 %r4, [%r3]; " +
             std::string(kStoreOne),
           1);
  EXPECT_EQ(unwritten(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Exact, SharedWritten, exact_checks());

} // namespace
} // namespace gmt::rewriter
