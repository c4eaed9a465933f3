// SPDX-License-Identifier: Apache-2.0
// What checks report of single mistakes, and what the code does then.
#include <string>
#include <vector>

#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

TEST_P(Mistakes, ARecordSaysWhoDidWhat) {
  rewrite_kernel("mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; st.global.u32 [%d4], %r1;");
  const std::uint64_t p = world_->block(100);
  run(p, 0, 32);
  EXPECT_EQ(count(0), 7u); // words 25 to 31
  EXPECT_EQ(world_->used(), 7u);
  EXPECT_EQ(word(p + 96), 24u);
  const Record record = world_->record(0);
  EXPECT_EQ(record.site, 0u);
  EXPECT_EQ(record.address, p + 100);
  EXPECT_EQ(record.entry, 100);
  EXPECT_EQ(record.thread[0], 25u);
  EXPECT_EQ(record.kind, kOutOfBoundsCount);
  EXPECT_EQ(record.launch, 77u);
  ASSERT_EQ(rewritten_.sites.size(), 1u);
  EXPECT_EQ(rewritten_.sites[0].instruction, "st.global.u32 [%d4], %r1");
  EXPECT_EQ(rewritten_.sites[0].ptx_line, 10u);
  EXPECT_EQ(rewritten_.sites[0].kind, AccessKind::kStore);
}

// The number of the launch goes from function to function; a caller by a pointer has none to give.
TEST_P(Mistakes, FunctionsKnowTheLaunch) {
  functions_ =
    ".func f(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a]; st.u32 [%d1], 1; ret; }\n"
    ".func g { ret; }\n"
    ".func (.param .b32 r) h(.param .u64 a) {\n.reg .b64 %d<2>; ld.param.u64 %d1, [a];\n"
    "call g;\n{ .param .b64 x; st.param.b64 [x], %d1; call f, (x); }\n"
    "st.param.b32 [r], 1; ret; }\n"
    ".func by_pointer(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a];\n"
    "{ .param .b64 x; st.param.b64 [x], %d1; call f, (x); }\nst.u32 [%d1], 1; ret; }\n";
  rewrite_kernel("{ .param .b32 y; .param .b64 x; st.param.b64 [x], %d1; call (y), h, (x); }\n"
                 "p: .callprototype _ (.param .b64 _);\nmov.u64 %d3, by_pointer;\n"
                 "{ .param .b64 x; st.param.b64 [x], %d2; call %d3, (x), p; }");
  run(world_->block(100) + 100, world_->block(200) + 200);
  ASSERT_EQ(world_->used(), 3u);
  EXPECT_EQ(world_->record(0).launch, 77u); // f, by h
  EXPECT_EQ(world_->record(1).launch, 0u);  // f, by by_pointer
  EXPECT_EQ(world_->record(2).launch, 0u);  // by_pointer
}

// The record is there before the call, which ends the kernel. What is printed stands in the text.
TEST_P(Mistakes, AFailedAssertIsRecordedWithItsText) {
  functions_ =
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
    ".param .b64 e) .noreturn;\n"
    ".global .b8 condition[6] = {105, 32, 60, 32, 52, 0};\n"
    ".global .b8 file[5] = {97, 46, 99, 117, 0};\n.global .b8 name[4] = {107, 40, 41, 0};\n";
  ends_ = executor::End::kFault;
  rewrite_kernel("setp.lt.u32 %p1, %r1, 2; @%p1 bra $right;\n"
                 "mov.u64 %d3, condition; cvta.global.u64 %d4, %d3; mov.u64 %d5, file;\n"
                 "cvta.global.u64 %d6, %d5; mov.u64 %d7, name; cvta.global.u64 %d8, %d7;\n"
                 "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
                 "st.param.b64 [a+0], %d4; st.param.b64 [b+0], %d6; mov.b32 %r2, 25;\n"
                 "st.param.b32 [c+0], %r2; st.param.b64 [d+0], %d8; mov.b64 %d9, 1;\n"
                 "st.param.b64 [e+0], %d9;\n"
                 "call.uni __assertfail, (a, b, c, d, e); }\n$right:");
  run(0, 0, 4);
  ASSERT_EQ(rewritten_.sites.size(), 1u);
  EXPECT_TRUE(rewritten_.sites[0].is_assert);
  EXPECT_EQ(rewritten_.sites[0].condition, "i < 4");
  EXPECT_EQ(rewritten_.sites[0].location, "a.cu:25: k()");
  EXPECT_EQ(count(0), 2u); // threads 2 and 3
  EXPECT_EQ(world_->record(0).thread[0], 2u);
  EXPECT_EQ(world_->record(0).launch, 77u);
}

TEST_P(Mistakes, OnlyTheFirstAreRecorded) {
  rewrite_kernel("ld.global.u32 %r2, [%d1];");
  run(world_->block(4) + 4, 0, 96);
  EXPECT_EQ(count(0), 96u);
  EXPECT_EQ(world_->used(), kRecordsOfSite);
}

TEST_P(Mistakes, ALoadThatIsLeftOutGivesZero) {
  rewrite_kernel("mov.u32 %r2, 5; mov.u32 %r3, 5; ld.global.v2.u32 {%r2, %r3}, [%d1];"
                 "st.global.v2.u32 [%d2], {%r2, %r3};");
  const std::uint64_t q = world_->block(8);
  set_word(q, 9);
  set_word(q + 4, 9);
  run(q + 100000, q);
  EXPECT_EQ(faults_, 0u);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(word(q), 0u);
  EXPECT_EQ(word(q + 4), 0u);
}

// In mapped memory it does what the plain kernel does.
TEST_P(Mistakes, AnAccessOfPoisonedMemoryIsMade) {
  rewrite_kernel("mov.u32 %r2, 5; st.global.u32 [%d1], %r2;");
  const std::uint64_t p = world_->block(512), q = world_->block(512);
  world_->set_entry(q, kFreedEntry);
  run(q, p);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(world_->record(0).entry, kFreedEntry);
  EXPECT_EQ(word(q), 5u);
}

TEST_P(Mistakes, MisalignedAccessesAreLeftOut) {
  rewrite_kernel("mov.u32 %r2, 5; st.global.u32 [%d1+2], %r2; st.global.u32 [%d1+4], %r2;");
  const std::uint64_t p = world_->block(64);
  run(p, 0);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(0, kMisalignedCount), 1u);
  EXPECT_EQ(count(1, kMisalignedCount), 0u);
  EXPECT_EQ(word(p), 0u);
  EXPECT_EQ(word(p + 4), 5u);
  EXPECT_EQ(world_->record(0).kind, kMisalignedCount);
}

TEST_P(Mistakes, AGuardThatIsFalseMakesNoMistake) {
  rewrite_kernel("setp.eq.u32 %p1, %r1, 3; @%p1 st.global.u32 [%d1], %r1;"
                 "@!%p1 st.global.u32 [%d2], %r1;");
  const std::uint64_t q = world_->block(64);
  run(64, q, 8);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(world_->record(0).thread[0], 3u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(word(q), 7u);
}

// The range of a group has its mistake in one access: no other one is counted.
TEST_P(Mistakes, TheRightAccessOfAGroupIsNamed) {
  rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; ld.global.u32 %r4, [%d1+8];"
                 "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%d2], %r2;");
  const std::uint64_t p = world_->block(8), q = world_->block(4);
  set_word(p, 3);
  set_word(p + 4, 4);
  run(p, q);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2), 1u);
  EXPECT_EQ(count(3), 0u);
  EXPECT_EQ(word(q), 7u);
}

TEST_P(Mistakes, AccessesAcrossGranules) {
  rewrite_kernel("ld.global.u32 %r2, [%d1+508]; ld.global.u32 %r3, [%d1+512];"
                 "ld.global.u32 %r4, [%d1+1020]; ld.global.u32 %r5, [%d1+1024];");
  run(world_->block(1024), 0);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2), 0u);
  EXPECT_EQ(count(3), 1u);
}

TEST_P(Mistakes, GenericAddressesOfOtherSpacesAreNone) {
  rewrite_kernel(".shared .align 4 .b8 s[64]; .local .align 4 .b8 l[64];\n"
                 "mov.u64 %d3, s; cvta.shared.u64 %d3, %d3; st.u32 [%d3], %r1; ld.u32 %r2, [%d3];"
                 "mov.u64 %d4, l; cvta.local.u64 %d4, %d4; st.u32 [%d4], %r1; st.u32 [%d1], %r1;"
                 "st.u32 [%d2], %r1;");
  run(world_->block(4), 0);
  EXPECT_EQ(faults_, 0u);
  for (std::size_t site = 0; site < 4; ++site) EXPECT_EQ(count(site), 0u);
  EXPECT_EQ(count(4), 1u);
}

TEST_P(Mistakes, AddressesThatNoMemoryHas) {
  rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.u32 %r2, [%d2];");
  run(65532, 0x8000000000000000);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(faults_, 0u);
}

// Where the host says it is: at any multiple of 4 GiB.
TEST_P(Mistakes, TheWindowIsWhereTheHostSays) {
  for (const std::uint64_t window : {std::uint64_t{0}, test::kWindow - (std::uint64_t{3} << 32)}) {
    rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.u32 %r3, [%d2];", Bounds::kAlways, window);
    const std::uint64_t p = world_->block(5000), q = world_->block(64);
    run(p + 5000, q + 64);
    EXPECT_EQ(count(0), 1u);
    EXPECT_EQ(count(1), 1u);
    run(p, q + 60);
    EXPECT_EQ(count(0), 0u);
    EXPECT_EQ(count(1), 0u);
  }
}

// Addresses beside a window have the entries of others, which mean nothing for them.
TEST_P(Mistakes, WhatLiesOutsideTheWindowsIsRight) {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << (test::kWindowBits - 1);
  for (const Bounds bounds : {Bounds::kNever, Bounds::kAlways}) {
    for (const std::uint64_t window :
         {test::kWindow - 2 * kBytes, test::kWindow - kBytes, test::kWindow + (kBytes / 8)}) {
      rewrite_kernel("ld.u32 %r2, [%d1]; ld.global.u32 %r3, [%d2];", bounds, window);
      const std::uint64_t p = world_->block(64);
      run(p + 64, p + 64);
      EXPECT_EQ(count(0), 0u);
      EXPECT_EQ(count(1), 0u);
    }
  }
}

TEST_P(Mistakes, LowAddressesHaveAWindowOfTheirOwn) {
  lowest_ = 65536;
  for (const Bounds bounds : {Bounds::kNever, Bounds::kAlways}) {
    for (const std::uint64_t window : {std::uint64_t{0}, test::kWindow}) {
      rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.u32 %r3, [%d2]; st.global.u32 [%d2+-4], %r3;",
                     bounds, window);
      const std::uint64_t low = world_->low_block(1000), high = world_->block(1000);
      run(low + 996, high + 996);
      for (std::size_t site = 0; site < 3; ++site) EXPECT_EQ(count(site), 0u);
      run(low + 1000, low + 1000);
      EXPECT_EQ(count(0), 1u);
      EXPECT_EQ(count(1), 1u);
      EXPECT_EQ(count(2), 0u);
      EXPECT_EQ(world_->record(0).address, low + 1000);
      run(low + 1000, high + 1000);
      EXPECT_EQ(count(1), 1u);
      run(8, high);
      EXPECT_EQ(count(0), 1u); // no memory is there
      EXPECT_EQ(count(2), 1u); // before the block
    }
  }
}

// The table knows no difference between blocks; the bounds of a parameter do.
TEST_P(Mistakes, AStepIntoTheNeighbour) {
  for (const Bounds bounds : {Bounds::kNever, Bounds::kAlways}) {
    rewrite_kernel("add.s64 %d3, %d1, 8192; ld.global.u32 %r2, [%d3]; ld.global.u32 %r3, [%d1];"
                   "ld.global.u32 %r4, [%d1+-512];",
                   bounds);
    world_->block(4096, 0);
    const std::uint64_t p = world_->block(4096, 0);
    world_->block(8192, 0);
    run(p, 0);
    EXPECT_EQ(count(0), bounds == Bounds::kNever ? 0u : 1u);
    EXPECT_EQ(count(1), 0u);
    EXPECT_EQ(count(2), bounds == Bounds::kNever ? 1u : 1u);
    EXPECT_EQ(faults_, 0u);
  }
}

// Blocks whose entries have no room for a name are checked by the table.
TEST_P(Mistakes, PointersWithoutBounds) {
  rewrite_kernel("st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r1; st.global.u32 [%d2], %r1;",
                 Bounds::kAlways);
  const std::uint64_t small = world_->block(4), large = world_->block(5000);
  run(small, large + 4996);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(2), 0u);
  run(0, large + 5000);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(2), 1u);
}

// The loads of the indices are moved before the check of the second group.
TEST_P(Mistakes, GathersAreCheckedTogether) {
  rewrite_kernel(
    "ld.global.u32 %r2, [%d1]; mad.wide.u32 %d3, %r2, 4, %d2; ld.global.u32 %r3, [%d3];"
    "ld.global.u32 %r4, [%d1+4]; mad.wide.u32 %d4, %r4, 4, %d2; ld.global.u32 %r5, [%d4];"
    "add.u32 %r6, %r3, %r5; st.global.u32 [%d1], %r6;");
  const std::uint64_t p = world_->block(8), q = world_->block(400);
  set_word(p, 99);
  set_word(p + 4, 100);
  set_word(q + 396, 6);
  run(p, q);
  EXPECT_EQ(count(0), 0u); // in the order of the new code: p, p + 4, then what they lead to
  std::uint64_t all = 0;
  for (std::size_t site = 0; site < rewritten_.sites.size(); ++site) all += count(site);
  EXPECT_EQ(all, 1u);
  EXPECT_EQ(word(p), 6u);
}

TEST_P(Mistakes, RegistersOfInnerScopes) {
  rewrite_kernel("mov.u32 %r2, 1;\n{ .reg .b32 %r<3>; .reg .b64 t; add.s64 t, %d1, 4;"
                 " mov.u32 %r2, 8; st.global.u32 [t], %r2; }\n"
                 "{ .reg .b64 t; add.s64 t, %d1, 8; st.global.u32 [t], %r2; }");
  const std::uint64_t p = world_->block(8);
  run(p, 0);
  EXPECT_EQ(word(p + 4), 8u);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 1u);
}

// Where the host has a flag, it is set behind a mistake.
TEST_P(Mistakes, AMistakeSetsTheFlag) {
  for (const bool has_flag : {true, false}) {
    for (const bool is_mistake : {true, false}) {
      rewrite_kernel("st.global.u32 [%d1+" + std::string(is_mistake ? "400" : "396") + "], %r1;",
                     Bounds::kNever, 0);
      const std::uint64_t p = world_->block(400), q = world_->block(400);
      if (has_flag) world_->flag = world_->block(4);
      run(p, q);
      EXPECT_EQ(world_->word(world_->variables[std::string(kFlagged)]), has_flag && is_mistake);
      if (has_flag) {
        EXPECT_EQ(world_->word(world_->flag), is_mistake ? 1u : 0u);
      }
      EXPECT_EQ(world_->used(), is_mistake ? 1u : 0u);
    }
  }
}

// Where the host has room for them: more are counted than recorded, and of these some are copied.
TEST_P(Mistakes, RecordsAreCopiedToTheHost) {
  rewrite_kernel("st.global.u32 [%d1+400], %r1; ld.global.u32 %r2, [%d2+400];", Bounds::kNever, 0);
  const std::uint64_t p = world_->block(400), q = world_->block(400);
  world_->host_records = world_->block(sizeof(HostRecords));
  const std::uint32_t left = 1;
  std::memcpy(world_->at(world_->host_records), &left, sizeof left);
  run(p, q);
  ASSERT_EQ(world_->used(), 2u);
  EXPECT_EQ(world_->word(world_->host_records), 3u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    Record copy, recorded = world_->record(i);
    const std::uint64_t at = world_->host_records + offsetof(HostRecords, records);
    std::memcpy(&copy, world_->at(at + (i + left) * sizeof copy), sizeof copy);
    EXPECT_EQ(copy.is_whole, (test::World::kModule << kModuleBits) + i + 1);
    EXPECT_EQ(recorded.is_whole, 1u);
    recorded.is_whole = copy.is_whole;
    EXPECT_EQ(std::memcmp(&copy, &recorded, sizeof copy), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Exact, Mistakes, exact_checks());

} // namespace
} // namespace gmt::rewriter
