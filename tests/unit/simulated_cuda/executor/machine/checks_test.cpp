// SPDX-License-Identifier: Apache-2.0
// What an access means: each mistake gives one report with its facts, and code without the mistake
// gives none.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class ChecksTest : public KernelRunner {
protected:
  static std::string kernel(const std::string& statements, const std::string& before = "") {
    return before +
           ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
           ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %x<16>; .reg .f32 %f<8>;\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
           "mad.wide.u32 %x2, %r0, 4, %x0; mad.wide.u32 %x3, %r0, 4, %x1;\n" +
           statements + "\nret; }\n";
  }
};

TEST_F(ChecksTest, StorePastTheEndIsReportedAndNotDone) {
  load(kernel("st.global.u32 [%x2], %r0;"));
  const std::uint64_t block = put(std::vector<std::uint32_t>(64, 9));
  memory_.forget(block + 62 * 4, 8);
  run({1}, {64}, {block, block});
  const Report& report = only();
  EXPECT_EQ(report.kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(report.access, Access::kStore);
  EXPECT_EQ(report.space, Space::kGlobal);
  EXPECT_EQ(report.address, block + 62 * 4);
  EXPECT_EQ(report.bytes, 4u);
  EXPECT_EQ(report.count, 2u);
  EXPECT_EQ(report.location.thread.x, 62u);
  EXPECT_EQ(report.location.instruction, "st.global.u32 [%x2], %r0");
  EXPECT_EQ(report.gpu_error, 0u) << "its page holds live memory";
  EXPECT_EQ(get<std::uint32_t>(block, 64)[61], 61u);
  EXPECT_EQ(get<std::uint32_t>(block, 64)[62], 9u);
}

TEST_F(ChecksTest, AddressesOutsideOfAllMemoryStopAGpu) {
  load(kernel("ld.global.u32 %r1, [%x1+16]; st.global.u32 [%x2], %r1;"));
  const std::uint64_t block = put(std::vector<std::uint32_t>(32, 9));
  const Outcome outcome = run({1}, {32}, {block, 0});
  EXPECT_EQ(outcome.gpu_error, 700u);
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(only().address, 16u);
  EXPECT_EQ(get<std::uint32_t>(block, 1)[0], 0u) << "a load that is refused gives 0";
}

TEST_F(ChecksTest, FreedMemoryIsKnown) {
  load(kernel("ld.global.u32 %r1, [%x3]; st.global.u32 [%x2], %r1;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(32)),
                      b = put(std::vector<std::uint32_t>(32));
  memory_.free(b, 128);
  run({1}, {32}, {a, b});
  EXPECT_EQ(only().kind, ReportKind::kUseAfterFree);
}

TEST_F(ChecksTest, MisalignedAccess) {
  load(kernel("ld.global.u32 %r1, [%x3+2]; st.global.u32 [%x2], %r1;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(32)),
                      b = put(std::vector<std::uint32_t>(64));
  EXPECT_EQ(run({1}, {32}, {a, b}).gpu_error, 716u);
  EXPECT_EQ(only().kind, ReportKind::kMisaligned);
}

TEST_F(ChecksTest, AnUninitializedUseNamesItsLoad) {
  load(kernel("ld.global.u32 %r1, [%x3]; add.u32 %r1, %r1, 1; st.global.u32 [%x2], %r1;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(32)), b = allocate(128);
  memory_.mark_initialized(b, 64);
  run({1}, {32}, {a, b});
  EXPECT_EQ(only().kind, ReportKind::kUninitializedRead);
  EXPECT_EQ(only().count, 16u);
  EXPECT_EQ(only().location.thread.x, 16u);
}

TEST_F(ChecksTest, CopiesMoveWhatIsNotInitialized) {
  load(kernel("ld.global.u32 %r1, [%x3]; st.global.u32 [%x2], %r1;"));
  const std::uint64_t a = allocate(128), b = allocate(128);
  memory_.mark_initialized(b, 62);
  run({1}, {32}, {a, b});
  expect_no_reports();
  EXPECT_EQ(memory_.first_uninitialized(a, 128), a + 62);
}

TEST_F(ChecksTest, StructuresHavePadding) {
  load(kernel("ld.global.u64 %x4, [%x1]; and.b64 %x5, %x4, 0xffffff; add.u64 %x5, %x5, 1;\n"
              "st.global.u64 [%x0], %x5; st.global.u64 [%x0+8], %x4;"));
  const std::uint64_t a = allocate(128), b = allocate(128);
  memory_.mark_initialized(b, 3);
  run({1}, {1}, {a, b});
  expect_no_reports();
  EXPECT_EQ(memory_.first_uninitialized(a, 128), a + 11);
}

TEST_F(ChecksTest, SharedMemoryHasItsVariablesAndItsEnd) {
  load(kernel("mov.u32 %r1, table; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;",
              ".shared .align 4 .b8 table[96];\n.shared .align 4 .b8 more[96];\n"));
  run({1}, {32}, {0, 0});
  EXPECT_EQ(only().kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(only().space, Space::kShared);
  EXPECT_EQ(only().address, 96u);
  EXPECT_EQ(only().neighbour_name, "table");
  EXPECT_EQ(only().neighbour_bytes, 96u);
}

TEST_F(ChecksTest, TheLocationOfADynamicSharedArray) {
  load(kernel("mov.u32 %r1, table; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;",
              ".extern .shared .align 16 .b8 table[];\n"));
  dynamic_shared_ = 64;
  run({1}, {17}, {0, 0});
  EXPECT_EQ(only().kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(only().location.thread.x, 16u);
  EXPECT_EQ(only().neighbour_bytes, 64u);
}

// The earlier side of a race is the last access of its kind to these bytes, also by scattered lanes
// and in another function.
TEST_F(ChecksTest, TheEarlierSideOfARaceInAnotherFunction) {
  load(kernel("mov.u32 %r1, table; xor.b32 %r3, %r0, 21; mad.lo.u32 %r4, %r3, 4, %r1;\n"
              "{ .param .b32 a; st.param.b32 [a], %r4; call.uni put, (a); }\n"
              "mad.lo.u32 %r2, %r0, 4, %r1; ld.shared.u32 %r5, [%r2]; st.global.u32 [%x2], %r5;",
              ".shared .align 4 .b8 table[512];\n"
              ".func put(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r0, [a];\n"
              "st.shared.u32 [%r0], %r0; ret; }\n"));
  const std::uint64_t a = allocate(512);
  run({1}, {32}, {a, 0});
  EXPECT_EQ(only().kind, ReportKind::kSharedRace);
  EXPECT_EQ(only().other.instruction, "st.shared.u32 [%r0], %r0");
  EXPECT_EQ(only().other.function, "put");
}

// Each thread writes its word and reads its neighbour's.
std::string neighbours(const std::string& between, const char* step = "4") {
  return "mov.u32 %r1, table; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;\n" + between +
         "\nxor.b32 %r3, %r0, " + step +
         "; mad.lo.u32 %r4, %r3, 4, %r1; ld.shared.u32 %r5, [%r4]; st.global.u32 [%x2], %r5;";
}

std::vector<Report> races_of(const Recorder& recorder) {
  std::vector<Report> races;
  for (const Report& report : recorder.reports) {
    if (report.kind == ReportKind::kSharedRace) races.push_back(report);
  }
  return races;
}

// The warps that come first are read from, and stored over by, those that come later: it is one
// race, which happened twice to each thread of the later ones.
TEST_F(ChecksTest, RaceBetweenWarps) {
  load(kernel(neighbours("", "64"), ".shared .align 4 .b8 table[512];\n"));
  const std::uint64_t a = allocate(512);
  run({1}, {128}, {a, 0});
  const std::vector<Report> races = races_of(recorder_);
  ASSERT_EQ(races.size(), 1u);
  const Report& report = races.front();
  EXPECT_NE(report.access, report.other_access) << "a store, and a load of another warp";
  EXPECT_EQ(report.count, 128u);
  EXPECT_TRUE(report.other.has_thread);
  EXPECT_EQ(report.other.thread.x, report.location.thread.x ^ 64u);
  const bool is_store = report.other_access == Access::kStore;
  EXPECT_EQ(report.other.instruction,
            is_store ? "st.shared.u32 [%r2], %r0" : "ld.shared.u32 %r5, [%r4]");
}

TEST_F(ChecksTest, RacesOfOtherPairsStayApart) {
  load(kernel("mov.u32 %r1, table; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, 32;\n"
              "mad.lo.u32 %r4, %r3, 4, %r1; setp.lt.u32 %p1, %r0, 32;\n"
              "@%p1 st.shared.u32 [%r2], %r0; @%p1 st.shared.u32 [%r2+256], %r0;\n"
              "@!%p1 st.shared.u32 [%r4], %r0; @!%p1 ld.shared.u32 %r5, [%r4+256];\n"
              "bar.sync 0; @%p1 ld.shared.u32 %r6, [%r2];",
              ".shared .align 4 .b8 table[512];\n"));
  run({1}, {64}, {0, 0});
  EXPECT_EQ(races_of(recorder_).size(), 2u);
}

TEST_F(ChecksTest, BarriersOrder) {
  load(kernel(neighbours("bar.sync 0;", "64"), ".shared .align 4 .b8 table[512];\n"));
  const std::uint64_t a = allocate(512);
  run({1}, {128}, {a, 0});
  expect_no_reports();
  EXPECT_EQ(get<std::uint32_t>(a, 128)[5], 69u);
}

TEST_F(ChecksTest, RaceInsideAWarpAndItsBarrier) {
  load(kernel(neighbours(""), ".shared .align 4 .b8 table[512];\n"));
  const std::uint64_t a = allocate(512);
  run({1}, {32}, {a, 0});
  EXPECT_EQ(only().kind, ReportKind::kSharedRace);
  EXPECT_EQ(only().location.instruction, "ld.shared.u32 %r5, [%r4]");
  EXPECT_EQ(only().other.instruction, "st.shared.u32 [%r2], %r0");
  recorder_.reports.clear();
  load(kernel(neighbours("bar.warp.sync 0xffffffff;"), ".shared .align 4 .b8 table[512];\n"));
  run({1}, {32}, {a, 0});
  expect_no_reports();
}

TEST_F(ChecksTest, EqualValuesDoNotRace) {
  const std::string shared = ".shared .align 4 .b8 table[4];\n";
  load(kernel("mov.u32 %r1, 1; st.shared.u32 [table], %r1;", shared));
  run({1}, {128}, {0, 0});
  expect_no_reports();
}

// Each thread may read the value that it has stored itself, if others store the same.
TEST_F(ChecksTest, EqualValuesThatTheThreadStoredItself) {
  const std::string shared = ".shared .align 4 .u32 flag;\n";
  load(kernel("st.shared.u32 [flag], 7; ld.shared.u32 %r1, [flag]; st.global.u32 [%x2], %r1;",
              shared));
  const std::uint64_t a = put(std::vector<std::uint32_t>(128));
  run({1}, {128}, {a, 0});
  expect_no_reports();
  // Of another value; of a thread that did not store
  load(
    kernel("shr.u32 %r3, %r0, 5; st.shared.u32 [flag], %r3; ld.shared.u32 %r1, [flag];", shared));
  run({1}, {128}, {a, 0});
  EXPECT_FALSE(recorder_.reports.empty());
  recorder_.reports.clear();
  load(kernel("setp.lt.u32 %p1, %r0, 32; @!%p1 bra A; st.shared.u32 [flag], 7; bra B;\n"
              "A: ld.shared.u32 %r1, [flag]; B:",
              shared));
  run({1}, {64}, {a, 0});
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

// A line such as "h[i]++" loads and stores: one report, which counts once.
TEST_F(ChecksTest, ALineThatReadsAndWritesRacesOnce) {
  load(".file 1 \"a.cu\"\n" +
       kernel(".loc 1 7 3\nshr.u32 %r3, %r0, 5; mov.u32 %r4, table; and.b32 %r5, %r0, 31;\n"
              "mad.lo.u32 %r4, %r5, 4, %r4; ld.shared.u32 %r1, [%r4]; add.u32 %r1, %r1, %r3;\n"
              "st.shared.u32 [%r4], %r1;",
              ".shared .align 4 .b8 table[128];\n"));
  checks_ = Checks::kDefault;
  run({1}, {64}, {0, 0});
  std::size_t races = 0;
  for (const Report& report : recorder_.reports) {
    if (report.kind != ReportKind::kSharedRace) continue;
    ++races;
    EXPECT_EQ(report.count, 32u);
    EXPECT_EQ(report.message, "read-modify-write");
  }
  EXPECT_EQ(races, 1u);
}

TEST_F(ChecksTest, LanesThatStandAtDifferentBarriers) {
  load(kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:"));
  EXPECT_EQ(run({1}, {32}, {0, 0}).end, End::kDone);
  EXPECT_EQ(only().kind, ReportKind::kBarrierDivergence);
  EXPECT_TRUE(only().has_other);
}

TEST_F(ChecksTest, ThreadsThatLeftAreNotWaitedFor) {
  load(kernel("setp.lt.u32 %p1, %r0, 40; @%p1 ret; bar.sync 0; st.global.u32 [%x2], %r0;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(64));
  EXPECT_EQ(run({1}, {64}, {a, 0}).end, End::kDone);
  EXPECT_EQ(only().message, "ended"); // a note
  EXPECT_EQ(get<std::uint32_t>(a, 64)[63], 63u);
}

TEST_F(ChecksTest, ABarrierThatNeverHasItsThreads) {
  load(kernel("bar.sync 1, 96;"));
  EXPECT_EQ(run({1}, {64}, {0, 0}).gpu_error, 702u);
  EXPECT_EQ(only().kind, ReportKind::kDeadlock);
}

TEST_F(ChecksTest, LanesThatNeverComeToAShuffle) {
  load(kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bar.sync 0; bra B;\n"
              "A: shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; bar.sync 0; B:"));
  run({1}, {32}, {0, 0});
  EXPECT_FALSE(recorder_.reports.empty());
  EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kBarrierDivergence);
}

TEST_F(ChecksTest, EndlessLoopsEndAtALimit) {
  load(kernel("A: add.u32 %r1, %r1, 1; bra A;"));
  limits_.seconds = 0.05;
  const Outcome outcome = run({1}, {32}, {0, 0});
  EXPECT_EQ(outcome.end, End::kStopped);
  limits_ = {};
  limits_.instructions = 1000;
  EXPECT_EQ(run({1}, {32}, {0, 0}).end, End::kStopped);
}

// Calls and tables of branches alone can go on for ever as well.
TEST_F(ChecksTest, EndlessRecursionEndsAtALimit) {
  limits_.instructions = 20000;
  load(kernel("{ .param .b32 a; st.param.b32 [a], 0; call.uni twice, (a); }",
              ".func twice(.param .b32 n) { .reg .pred %p; .reg .b32 %r<2>;\n"
              "ld.param.b32 %r0, [n]; setp.gt.u32 %p, %r0, 900; @%p ret; add.u32 %r0, %r0, 1;\n"
              "{ .param .b32 a; st.param.b32 [a], %r0; call.uni twice, (a); }\n"
              "{ .param .b32 a; st.param.b32 [a], %r0; call.uni twice, (a); } ret; }\n"));
  EXPECT_EQ(run({1}, {32}, {0, 0}).end, End::kStopped);
  load(kernel("and.b32 %r1, %r0, 1; T: .branchtargets A, A; A: brx.idx %r1, T;"));
  EXPECT_EQ(run({1}, {32}, {0, 0}).end, End::kStopped);
}

TEST_F(ChecksTest, FramesHaveALimitOfMemory) {
  limits_.memory_bytes = 1 << 20;
  load(kernel("{ .param .b32 a; st.param.b32 [a], 0; call.uni down, (a); }",
              ".func down(.param .b32 n) { .local .b8 big[4096]; .reg .b32 %r<2>;\n"
              "ld.param.b32 %r0, [n]; { .param .b32 a; st.param.b32 [a], %r0;\n"
              "call.uni down, (a); } ret; }\n"));
  const Outcome outcome = run({1}, {32}, {0, 0});
  EXPECT_EQ(outcome.end, End::kStopped);
  EXPECT_EQ(outcome.reason, "its calls needed more memory than is allowed");
  limits_.memory_bytes = 1000;
  EXPECT_EQ(run({1}, {32}, {0, 0}).reason, "its threads need more memory than is allowed");
}

TEST_F(ChecksTest, AnArgumentThatIsNoParameter) {
  load(kernel(".local .b8 own[256]; call.uni put, (own);", ".func put(.param .b32 a) { ret; }\n"));
  EXPECT_EQ(run({1}, {32}, {0, 0}).end, End::kSkipped);
  load(kernel("call.uni other, ();", ".entry other() { ret; }\n"));
  module_->find_kernel("k");
  EXPECT_FALSE(examine(*module_, module_->kernels().back()).reason.empty());
}

TEST_F(ChecksTest, TrapEndsTheGrid) {
  load(kernel("setp.ne.u32 %p1, %r0, 3; @%p1 bra A; trap; A: st.global.u32 [%x2], %r0;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(32));
  const Outcome outcome = run({4}, {32}, {a, 0});
  EXPECT_EQ(outcome.end, End::kFault);
  EXPECT_EQ(outcome.gpu_error, 719u);
  EXPECT_EQ(only().kind, ReportKind::kTrap);
  EXPECT_EQ(only().location.thread.x, 3u);
}

TEST_F(ChecksTest, WhatIsNotThereSkipsTheLaunchByName) {
  load(kernel("txq.width.b32 %r1, [%x0];"));
  const Outcome outcome = run({1}, {32}, {0, 0});
  EXPECT_EQ(outcome.end, End::kSkipped);
  EXPECT_EQ(outcome.reason, "txq.width.b32 is not executed");
  EXPECT_GT(outcome.location.ptx_line, 0u);
}

TEST_F(ChecksTest, WithoutChecksBoundsRemain) {
  load(kernel("ld.global.u32 %r1, [%x3]; add.u32 %r1, %r1, 1; st.global.u32 [%x2+4096], %r1;"));
  checks_ = Checks::kNone;
  const std::uint64_t a = allocate(128), b = allocate(128);
  run({1}, {32}, {a, b});
  EXPECT_EQ(only().kind, ReportKind::kOutOfBounds);
}

} // namespace
} // namespace gmt::executor
