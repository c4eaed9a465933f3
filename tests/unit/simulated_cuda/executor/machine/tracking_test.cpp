// SPDX-License-Identifier: Apache-2.0
// Tracked registers: from a kernel's start, or from the first load of what nothing wrote on. What
// only the former finds, and what both find alike.
#include "tests/unit/simulated_cuda/executor/support/tracking_runner.h"

namespace gmt::executor {
namespace {

using Tracking = TrackingRunner;

TEST_P(Tracking, AValueThatIsNotChosenDoesNoHarm) {
  run_with_words("ld.global.u32 %r1, [%x3]; add.u32 %r1, %r1, 5; setp.gt.u32 %p1, %r0, 99;\n"
                 "selp.b32 %r2, %r1, %r0, %p1; setp.lt.u32 %p2, %r2, 7; @%p2 mov.u32 %r2, 7;\n"
                 "st.global.u32 [%x2], %r2;");
  expect_no_reports();
  EXPECT_EQ(get<std::uint32_t>(written_, 1)[0], 7u);
}

TEST_P(Tracking, AComparisonThatAnotherDecides) {
  run_with_words("ld.global.u32 %r1, [%x3]; setp.gt.u32 %p1, %r0, 99;\n"
                 "setp.eq.and.u32 %p2, %r1, 0, %p1; @%p2 bra A; st.global.u32 [%x2], %r0; A:");
  expect_no_reports();
}

TEST_P(Tracking, APartOfAWordThatDecides) {
  load(kernel("ld.global.u32 %r1, [%x3]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;\n"
              "st.global.u32 [%x2], %r0; A:"));
  written_ = put(std::vector<std::uint32_t>(32));
  unwritten_ = put(std::vector<std::uint32_t>(32));
  memory_.mark_uninitialized(unwritten_ + 43, 1);
  run({1}, {32}, {written_, unwritten_});
  EXPECT_EQ(only().count, 1u);
  EXPECT_EQ(only().location.thread.x, 10u);
}

TEST_P(Tracking, ThePredicateThatLogicWrites) {
  const std::string test = "lop3.or.b32 %r2|%p1, %r1, %r1, %r1, 0xc0, %p2; @%p1 bra A;\n"
                           "st.global.u32 [%x2], %r0; A:";
  const std::string other = "setp.gt.u32 %p2, %r0, 99; ";
  run_with_words(other + "mov.u32 %r1, %r0; " + test);
  expect_no_reports();
  run_with_words(other + "ld.global.u32 %r1, [%x3]; " + test);
  EXPECT_EQ(only().other.instruction, "@%p1 bra A");
}

TEST_P(Tracking, PackedBytesAreAWord) {
  const std::string test = "cvt.pack.sat.u8.s32.b32 %r2, %r0, %r0, %r1;\n"
                           "setp.eq.u32 %p1, %r2, 9; @%p1 bra A; st.global.u32 [%x2], %r0; A:";
  run_with_words("mov.u32 %r1, %r0; " + test);
  expect_no_reports();
  run_with_words("ld.global.u32 %r1, [%x3]; " + test);
  EXPECT_EQ(only().other.instruction, "@%p1 bra A");
}

TEST_P(Tracking, AnAddress) {
  load(kernel("ld.global.u64 %x4, [%x1]; shl.b64 %x4, %x4, 62; shr.u64 %x4, %x4, 60;\n"
              "add.u64 %x5, %x0, %x4; st.global.u32 [%x5], 1;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(32)), b = allocate(128);
  run({1}, {1}, {a, b});
  EXPECT_EQ(only().location.instruction, "ld.global.u64 %x4, [%x1]");
  EXPECT_EQ(only().other.instruction, "st.global.u32 [%x5], 1");
}

TEST_P(Tracking, ARegisterThatNothingWrote) {
  run_with_words("setp.eq.u32 %p1, %r9, 3; @%p1 bra A; st.global.u32 [%x2], %r0; A:");
  if (!is_full()) return expect_no_reports(); // missed
  EXPECT_EQ(only().location.instruction, "@%p1 bra A");
  EXPECT_FALSE(only().has_address);
  EXPECT_FALSE(only().has_other);
}

TEST_P(Tracking, LocalMemoryThatNothingWrote) {
  run_with_words(
    "mov.u64 %x4, own; st.local.u32 [%x4+8], %r0; ld.local.v2.u32 {%r1, %r2}, [%x4+8];\n"
    "setp.eq.u32 %p1, %r1, 99; @%p1 bra A; setp.eq.u32 %p1, %r2, 1; @%p1 bra A;\n"
    "st.global.u32 [%x2], %r0; A:");
  if (!is_full()) return expect_no_reports(); // missed
  EXPECT_EQ(only().location.instruction, "ld.local.v2.u32 {%r1, %r2}, [%x4+8]");
  EXPECT_EQ(only().space, Space::kLocal);
  EXPECT_EQ(only().address, 8u);
}

TEST_P(Tracking, FieldsOfBits) {
  const std::string set = "ld.global.u8 %h0, [%x3]; and.b16 %h0, %h0, 0xfb; or.b16 %h0, %h0, 4;\n"
                          "st.global.u8 [%x3], %h0;\n";
  run_with_words(set + "and.b16 %h1, %h0, 4; setp.ne.s16 %p1, %h1, 0; @%p1 bra A;\n"
                       "st.global.u32 [%x2], %r0; A:");
  expect_no_reports();
  run_with_words(set + "and.b16 %h1, %h0, 8; setp.ne.s16 %p1, %h1, 0; @%p1 bra A;\n"
                       "st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().other.instruction, "@%p1 bra A");
}

// The word that ends a text has bytes behind it that nothing wrote: the zero is found before them.
TEST_P(Tracking, WrittenBytesDecideAboutAWord) {
  const std::string find =
    "ld.global.u32 %r1, [%x3]; not.b32 %r2, %r1; add.s32 %r3, %r1, -16843009;\n"
    "and.b32 %r4, %r2, %r3; and.b32 %r5, %r4, -2139062144;\n"
    "setp.eq.s32 %p1, %r5, 0; @%p1 bra A; brev.b32 %r6, %r5;\n"
    "bfind.shiftamt.u32 %r7, %r6; shr.u32 %r7, %r7, 3; st.global.u32 [%x2], %r7; A:";
  load(kernel(find));
  written_ = put(std::vector<std::uint32_t>(32, 1));
  // A zero stands before the two bytes that are not written; or none
  for (const std::uint32_t word : {0x00000061u, 0x00006161u}) {
    unwritten_ = put(std::vector<std::uint32_t>(32, word));
    for (std::uint64_t i = 0; i < 32; ++i) memory_.mark_uninitialized(unwritten_ + 4 * i + 2, 2);
    recorder_.reports.clear();
    run({1}, {32}, {written_, unwritten_});
    EXPECT_EQ(recorder_.reports.empty(), word == 0x00000061u);
  }
}

TEST_P(Tracking, ComparisonsThatUnwrittenBitsCannotChange) {
  run_with_words(
    "ld.global.u32 %r1, [%x3]; and.b32 %r1, %r1, 255; setp.lt.u32 %p1, %r1, 256; @%p1 bra A;\n"
    "or.b32 %r2, %r1, 4096; setp.gt.s32 %p1, %r2, 4000; @%p1 bra A; A:");
  expect_no_reports();
  run_with_words(
    "ld.global.u32 %r1, [%x3]; and.b32 %r1, %r1, 255; setp.lt.u32 %p1, %r1, 255; @%p1 bra A; A:");
  EXPECT_FALSE(recorder_.reports.empty());
}

TEST_P(Tracking, ShiftsAndMasksOfWholeValuesAreComputed) {
  for (const char* compute :
       {"shl.b32 %r2, %r1, 1", "shr.u32 %r2, %r1, 3", "and.b32 %r2, %r1, 0x7ffffff3",
        "not.b32 %r2, %r1", "xor.b32 %r2, %r1, 5"}) {
    recorder_.reports.clear();
    run_with_words("ld.global.u32 %r1, [%x3]; " + std::string(compute) +
                   "; st.global.u32 [%x2], %r2;");
    EXPECT_EQ(recorder_.reports.size(), 1u) << compute;
  }
  for (const char* move : {"shl.b32 %r2, %r1, 8", "and.b32 %r2, %r1, 0xff00ff",
                           "shl.b32 %r3, %r1, 3; or.b32 %r2, %r3, %r0"}) {
    recorder_.reports.clear();
    run_with_words("ld.global.u32 %r1, [%x3]; " + std::string(move) +
                   "; st.global.u32 [%x2], %r2;");
    EXPECT_TRUE(recorder_.reports.empty()) << move;
  }
}

TEST_P(Tracking, MovesTakeTheStateAlong) {
  run_with_words("ld.global.u32 %r1, [%x3]; mov.u32 %r2, %r1; mov.b64 %x4, {%r2, %r0};\n"
                 "mov.u32 %r5, tile; mad.lo.u32 %r6, %r0, 8, %r5; st.shared.u64 [%r6], %x4;\n"
                 "bar.sync 0; ld.shared.v2.u32 {%r3, %r4}, [%r6];\n"
                 "shfl.sync.idx.b32 %r7, %r3, 5, 31, -1; st.global.u32 [%x2], %r7;\n"
                 "setp.gt.u32 %p1, %r4, 99; @%p1 bra A; A:",
                 ".shared .align 8 .b8 tile[256];\n");
  expect_no_reports();
  EXPECT_EQ(memory_.first_uninitialized(written_, 128), written_);
}

TEST_P(Tracking, AResultThatTheHostMaySee) {
  run_with_words("ld.global.u32 %r1, [%x3]; mul.lo.u32 %r1, %r1, 3; st.global.u32 [%x2], %r1;");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_EQ(only().other.instruction, "st.global.u32 [%x2], %r1");
  EXPECT_EQ(memory_.first_uninitialized(written_, 128), written_ + 128) << "said once";
}

TEST_P(Tracking, ArgumentsAndResultsOfFunctions) {
  const char* function =
    ".func (.param .b32 out) choose(.param .b32 a, .param .b32 b) { .reg .b32 %r<4>;\n"
    ".reg .pred %p; ld.param.b32 %r0, [a]; ld.param.b32 %r1, [b]; setp.ne.u32 %p, %r1, 0;\n"
    "selp.b32 %r2, %r0, %r1, %p; st.param.b32 [out], %r2; ret; }\n";
  const std::string call =
    "ld.global.u32 %r1, [%x3]; ld.global.u32 %r2, [%x2];\n"
    "{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r1;\n"
    "st.param.b32 [b], WHICH; call.uni (c), choose, (a, b); ld.param.b32 %r3, [c]; }\n"
    "setp.eq.u32 %p1, %r3, 77; @%p1 bra A; st.global.u32 [%x2], 5; A:";
  const auto with = [&](const char* which) {
    std::string text = call;
    return text.replace(text.find("WHICH"), 5, which);
  };
  run_with_words(with("0"), function);
  expect_no_reports();
  run_with_words(with("%r2"), function);
  EXPECT_EQ(only().kind, ReportKind::kUninitializedRead);
  EXPECT_EQ(only().count, 32u);
}

TEST_P(Tracking, LoopsAndDivergenceComputeTheSame) {
  run_with_words(
    "mov.u32 %r1, 0; mov.u32 %r2, 0; A: add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1;\n"
    "setp.le.u32 %p1, %r1, %r0; @%p1 bra A; and.b32 %r3, %r0, 3;\n"
    "T: .branchtargets B, C, B, C; brx.idx %r3, T; B: add.u32 %r2, %r2, 100; C:\n"
    "vote.sync.ballot.b32 %r4, %p1, -1; add.u32 %r2, %r2, %r4; st.global.u32 [%x2], %r2;");
  expect_no_reports();
  const auto out = get<std::uint32_t>(written_, 32);
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i * (i + 1) / 2 + (i % 2 == 0 ? 100 : 0)) << i;
}

TEST_P(Tracking, WhatIsAddedByAnAtomicIsUsedAndWhatIsExchangedIsMoved) {
  run_with_words("ld.global.u32 %r1, [%x3]; red.global.add.u32 [%x2], %r1;");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_EQ(only().other.instruction, "red.global.add.u32 [%x2], %r1");
  run_with_words("ld.global.u32 %r1, [%x3]; atom.global.exch.b32 %r2, [%x2], %r1;");
  expect_no_reports();
}

TEST_P(Tracking, WhatIsPrintedIsUsed) {
  run_with_words("ld.global.u32 %r1, [%x3]; setp.lt.u32 %p1, %r0, 3; mov.u64 %x4, own;\n"
                 "st.local.v2.u32 [%x4], {%r0, %r1}; @!%p1 bra A; cvta.local.u64 %x4, %x4;\n"
                 "mov.u64 %x5, form; cvta.global.u64 %x5, %x5; { .param .b64 f; .param .b64 v;\n"
                 ".param .b32 n; st.param.b64 [f], %x5; st.param.b64 [v], %x4;\n"
                 "call.uni (n), vprintf, (f, v); } A:",
                 ".extern .func (.param .b32 n) vprintf(.param .b64 f, .param .b64 v);\n"
                 ".global .align 1 .b8 form[6] = {37, 100, 37, 100, 10, 0};\n");
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_EQ(only().count, 3u);
  EXPECT_EQ(recorder_.printed.substr(0, 3), "00\n");
}

// The lanes that branched first stand at a shuffle when the others load.
TEST_P(Tracking, LanesThatWaitWhileOthersLoad) {
  run_with_words(
    "mov.u32 %r1, %r0; mov.u32 %r5, 3; and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0;\n"
    "@%p1 bra A; ld.global.u32 %r1, [%x3]; bra B; A: add.u32 %r1, %r1, 100; B:\n"
    "shfl.sync.idx.b32 %r3, %r1, %r5, 31, -1; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n"
    "setp.eq.u32 %p2, %r2, 1; @!%p2 mov.u32 %r4, 0; st.global.u32 [%x2], %r4;");
  expect_no_reports(); // odd lanes store what even ones have, and even ones store 0
  const auto out = get<std::uint32_t>(written_, 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 == 1 ? i - 1 + 100 : 0) << i;
  EXPECT_EQ(memory_.first_uninitialized(written_, 128), written_ + 128);
}

// Lanes of a warp wait at a barrier of the block with a result; the others load meanwhile.
TEST_P(Tracking, LanesAtABarrierWhileOthersLoad) {
  run_with_words("setp.lt.u32 %p1, %r0, 16; mov.u32 %r1, 7; @%p1 bra A;\n"
                 "ld.global.u32 %r1, [%x3]; A: barrier.sync 0; setp.lt.u32 %p2, %r0, 9;\n"
                 "barrier.red.popc.u32 %r2, 1, %p2; @%p1 add.u32 %r2, %r2, %r1;\n"
                 "st.global.u32 [%x2], %r2;");
  expect_no_reports();
  const auto out = get<std::uint32_t>(written_, 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? 16u : 9u) << i;
}

// It loads in the innermost of several calls, of which each has values of its own to go on with.
TEST_P(Tracking, ALoadInNestedCalls) {
  run_with_words(
    "and.b32 %r1, %r0, 3; { .param .b32 n; .param .b64 q; .param .b32 s; st.param.b32 [n], %r1;\n"
    "st.param.b64 [q], %x3; call.uni (s), down, (n, q); ld.param.b32 %r2, [s]; }\n"
    "mov.u64 %x4, own; st.local.u32 [%x4], %r0; ld.local.u32 %r3, [%x4]; add.u32 %r2, %r2, %r3;\n"
    "st.global.u32 [%x2], %r2;",
    ".func (.param .b32 s) down(.param .b32 n, .param .b64 q) { .reg .pred %p; .reg .b32 %r<5>;\n"
    ".reg .b64 %x; .local .b8 kept[16]; ld.param.b32 %r0, [n]; ld.param.b64 %x, [q];\n"
    "mul.lo.u32 %r1, %r0, 10; st.local.u32 [kept], %r1; setp.ne.u32 %p, %r0, 0; @%p bra A;\n"
    "ld.global.u32 %r2, [%x]; and.b32 %r2, %r2, 0; st.param.b32 [s], %r2; ret;\n"
    "A: sub.u32 %r3, %r0, 1; { .param .b32 m; .param .b64 o; .param .b32 t; st.param.b32 [m], %r3;\n"
    "st.param.b64 [o], %x; call.uni (t), down, (m, o); ld.param.b32 %r2, [t]; }\n"
    "ld.local.u32 %r1, [kept]; add.u32 %r4, %r2, %r1; st.param.b32 [s], %r4; ret; }\n");
  expect_no_reports();
  const auto out = get<std::uint32_t>(written_, 32);
  constexpr std::uint32_t kWanted[] = {0, 10, 30, 60};
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + kWanted[i % 4]) << i;
}

// Guards leave lanes out of a load, and those that it leaves out keep what they had.
TEST_P(Tracking, AGuardedLoad) {
  run_with_words("mov.u32 %r1, %r0; setp.ge.u32 %p1, %r0, 30; @%p1 ld.global.u32 %r1, [%x3];\n"
                 "add.u32 %r1, %r1, 1; st.global.u32 [%x2], %r1;");
  EXPECT_EQ(only().count, 2u);
  EXPECT_EQ(only().location.thread.x, 30u);
  EXPECT_EQ(get<std::uint32_t>(written_, 30)[29], 30u);
}

// Each block's warps begin anew, on several workers too; what one block loads is one report.
TEST_P(Tracking, ManyBlocks) {
  workers_ = 4;
  load(
    kernel("mov.u32 %r1, %ctaid.x; and.b32 %r2, %r1, 3; setp.ne.u32 %p1, %r2, 0; mov.u32 %r3, 5;\n"
           "@!%p1 ld.global.u32 %r3, [%x3]; @!%p1 add.u32 %r3, %r3, 1;\n"
           "mad.lo.u32 %r4, %r1, 32, %r0; mul.wide.u32 %x4, %r4, 4; add.u64 %x4, %x0, %x4;\n"
           "st.global.u32 [%x4], %r3;"));
  const std::uint64_t a = allocate(std::uint64_t{400} * 128), b = allocate(128);
  EXPECT_EQ(run({400}, {32}, {a, b}).end, End::kDone);
  EXPECT_EQ(only().count, 100u * 32);
  EXPECT_EQ(only().location.block.x, 0u);
  const auto out = get<std::uint32_t>(a, std::size_t{400} * 32);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i / 32 % 4 == 0) continue;
    EXPECT_EQ(out[i], 5u) << i;
  }
}

// One warp tracks its registers, the other does not: a race between them names both sides.
TEST_P(Tracking, ARaceWithAWarpThatIsTracked) {
  load(kernel("setp.lt.u32 %p1, %r0, 32; mov.u32 %r1, tile; xor.b32 %r3, %r0, 32;\n"
              "mad.lo.u32 %r2, %r0, 4, %r1; mad.lo.u32 %r4, %r3, 4, %r1;\n"
              "@%p1 ld.global.u32 %r5, [%x3]; st.shared.u32 [%r2], %r0; ld.shared.u32 %r6, [%r4];\n"
              "st.global.u32 [%x2], %r6;",
              ".shared .align 4 .b8 tile[256];\n"));
  const std::uint64_t a = allocate(256), b = allocate(256);
  run({1}, {64}, {a, b});
  std::size_t races = 0;
  for (const Report& report : recorder_.reports) {
    if (report.kind != ReportKind::kSharedRace) continue;
    ++races;
    EXPECT_EQ(report.location.instruction, "st.shared.u32 [%r2], %r0");
    EXPECT_EQ(report.other.instruction, "ld.shared.u32 %r6, [%r4]");
  }
  EXPECT_EQ(races, 1u);
}

// What cannot be tracked, since there is no memory for it, is reported where it is loaded.
TEST_P(Tracking, WithoutMemoryForIt) {
  if (is_full()) return;
  load(kernel("ld.global.u32 %r1, [%x3]; and.b32 %r1, %r1, 0; st.global.u32 [%x2], %r1;"));
  const std::uint64_t a = allocate(128), b = allocate(128);
  limits_.memory_bytes = 4096; // as little as the kernel itself can do with
  while (run({1}, {32}, {a, b}).end != End::kDone) limits_.memory_bytes += 64;
  EXPECT_EQ(only().location.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_FALSE(only().has_other);
  EXPECT_EQ(only().count, 32u);
}

INSTANTIATE_TEST_SUITE_P(FromTheStartOrALoad, Tracking,
                         testing::Values(Checks::kFull, Checks::kDefault), [](const auto& checks) {
                           return checks.param == Checks::kFull ? "Full" : "Default";
                         });

} // namespace
} // namespace gmt::executor
