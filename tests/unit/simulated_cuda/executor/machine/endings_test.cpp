// SPDX-License-Identifier: Apache-2.0
// Kernels that would run on for ever: after a fault they end soon, those that can never end are
// reported as such, and those that are only slow are not.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class EndingsTest : public KernelRunner {
protected:
  EndingsTest() { limits_.seconds = 60; }

  static std::string kernel(const std::string& statements, const std::string& before = "") {
    return before +
           ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
           ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %x<16>;\n"
           ".local .align 8 .b8 own[64]; .shared .align 4 .b8 table[256];\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x; mov.u32 %r1, 0;\n"
           "mov.u32 %r7, %ctaid.x; mov.u32 %r8, table;\n" +
           statements + "\nret; }\n";
  }
  // The first report is of a hang at this instruction.
  void expect_hang(const Outcome& outcome, const std::string& instruction) {
    EXPECT_EQ(outcome.end, End::kFault) << outcome.reason;
    EXPECT_EQ(outcome.gpu_error, 702u);
    EXPECT_LT(outcome.seconds, 20);
    EXPECT_EQ(only().kind, ReportKind::kHang);
    EXPECT_EQ(only().location.instruction, instruction);
    EXPECT_TRUE(only().location.has_thread);
  }
  void expect_stopped(const std::string& statements, std::uint64_t p) {
    limits_.seconds = 0.3;
    load(kernel(statements));
    const Outcome outcome = run({2}, {32}, {p, 0});
    EXPECT_EQ(outcome.end, End::kStopped) << statements;
    EXPECT_EQ(outcome.gpu_error, 0u);
    expect_no_reports();
  }
};

constexpr const char* kPoll =
  "A: ld.volatile.global.u32 %r2, [%x0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;";

TEST_F(EndingsTest, AListThatEndsInNull) {
  load(kernel("A: ld.global.u64 %x2, [%x1]; ld.global.u32 %r2, [%x1+8]; add.u32 %r1, %r1, %r2;\n"
              "mov.u64 %x1, %x2; setp.ge.s32 %p1, %r2, 0; @%p1 bra A;"));
  const Outcome outcome = run({1}, {1}, {0, 0});
  EXPECT_EQ(outcome.end, End::kFault);
  EXPECT_EQ(outcome.gpu_error, 700u);
  EXPECT_LT(outcome.seconds, 5);
  ASSERT_EQ(recorder_.reports.size(), 2u);
  EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(recorder_.reports[0].gpu_error, 700u);
}

// Blocks of which each goes on for a while end the launch, too, also if none goes on for long.
TEST_F(EndingsTest, ManyBlocksWithFaults) {
  for (const unsigned workers : {1u, 2u}) {
    workers_ = workers;
    load(kernel("A: st.global.u32 [%x1], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 2000;\n"
                "@%p1 bra A;"));
    const Outcome outcome = run({1000000}, {256}, {0, 8});
    EXPECT_EQ(outcome.end, End::kFault);
    EXPECT_EQ(outcome.gpu_error, 700u);
    EXPECT_LT(outcome.seconds, 20);
  }
}

TEST_F(EndingsTest, AStopAtALimitDoesNotHideAFault) {
  limits_.instructions = 5000;
  load(kernel("st.global.u32 [%x1], %r1; A: add.u32 %r1, %r1, 1; bra A;"));
  const Outcome outcome = run({1}, {32}, {0, 16});
  EXPECT_EQ(outcome.end, End::kStopped);
  EXPECT_EQ(outcome.gpu_error, 700u);
}

// A block before the one with the fault is done to its end.
TEST_F(EndingsTest, BlocksBeforeTheFaultAreDone) {
  load(kernel("setp.ne.u32 %p2, %r7, 3; @%p2 bra B; A: ld.global.u32 %r2, [%x1]; bra A;\n"
              "B: mad.wide.u32 %x2, %r7, 4, %x0; st.global.u32 [%x2], 1;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(8));
  const Outcome outcome = run({8}, {1}, {a, 64});
  EXPECT_EQ(outcome.end, End::kFault);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(get<std::uint32_t>(a, 8)[i], 1u);
}

TEST_F(EndingsTest, ThreadsThatPollWhatNothingWrites) {
  load(kernel(kPoll));
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  expect_hang(run({2}, {64}, {flag, 0}), "ld.volatile.global.u32 %r2, [%x0]");
  EXPECT_TRUE(only().has_address);
  EXPECT_EQ(only().address, flag);
}

TEST_F(EndingsTest, SeveralWorkersSeeAHang) {
  workers_ = 4;
  load(kernel(kPoll));
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  const Outcome outcome = run({16}, {64}, {flag, 0});
  EXPECT_EQ(outcome.end, End::kFault);
  EXPECT_EQ(outcome.gpu_error, 702u);
  EXPECT_EQ(only().kind, ReportKind::kHang);
}

TEST_F(EndingsTest, ALockThatIsNeverReleased) {
  load(kernel("A: atom.global.cas.b32 %r2, [%x0], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;"));
  const std::uint64_t lock = put(std::vector<std::uint32_t>(1));
  expect_hang(run({2}, {32}, {lock, 0}), "atom.global.cas.b32 %r2, [%x0], 0, 1");
}

TEST_F(EndingsTest, AnExchangeOfEqualValues) {
  load(kernel("A: atom.global.exch.b32 %r2, [%x0], 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;"));
  const std::uint64_t lock = put(std::vector<std::uint32_t>{1});
  expect_hang(run({1}, {32}, {lock, 0}), "atom.global.exch.b32 %r2, [%x0], 1");
}

TEST_F(EndingsTest, SharedAndLocalMemoryThatIsWrittenAgainAndAgain) {
  load(kernel("st.shared.u32 [%r8], 0;\n"
              "A: st.shared.u32 [%r8+4], 5; st.local.u32 [own], %r1; ld.local.u32 %r3, [own];\n"
              "ld.volatile.shared.u32 %r2, [%r8]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;"));
  expect_hang(run({1}, {1}, {0, 0}), "ld.volatile.shared.u32 %r2, [%r8]");
}

TEST_F(EndingsTest, ALoopWithBackOff) {
  load(kernel("mov.u32 %r4, 8;\n"
              "A: nanosleep.u32 %r4; shl.b32 %r4, %r4, 1; min.u32 %r4, %r4, 256;\n"
              "ld.relaxed.gpu.global.u32 %r2, [%x0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;"));
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  expect_hang(run({1}, {32}, {flag, 0}), "ld.relaxed.gpu.global.u32 %r2, [%x0]");
}

// Threads that wait at a barrier for those that poll, and loops within loops.
TEST_F(EndingsTest, SomePollAndOthersWait) {
  load(kernel("setp.lt.u32 %p2, %r0, 32; @%p2 bra B;\n"
              "A: mov.u32 %r3, 0; C: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 3; @%p3 bra C;\n"
              "ld.volatile.global.u32 %r2, [%x0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;\n"
              "B: bar.sync 0;"));
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  expect_hang(run({1}, {64}, {flag, 0}), "ld.volatile.global.u32 %r2, [%x0]");
}

TEST_F(EndingsTest, ALoopWithoutMemory) {
  load(kernel("A: bra A;"));
  expect_hang(run({1}, {32}, {0, 0}), "bra A");
}

// The time decides how long it pauses, and when it looks again. Threads are early and late.
TEST_F(EndingsTest, PausesByTheTime) {
  const std::string begin =
    "cvt.u64.u32 %x3, %r0; mov.u64 %x4, %globaltimer; add.u64 %x3, %x3, %x4;\n";
  const std::string look = "A: ld.volatile.global.u32 %r2, [%x0]; setp.ne.u32 %p1, %r2, 0;\n"
                           "@%p1 ret; mov.u64 %x4, %globaltimer; sub.u64 %x5, %x4, %x3;\n";
  const std::string pause = "setp.lt.u64 %p2, %x5, 4000; @%p2 bra A; setp.lt.u64 %p3, %x5, 90000;\n"
                            "@!%p3 bra B; shr.u64 %x6, %x5, 2; cvt.u32.u64 %r3, %x6;\n"
                            "nanosleep.u32 %r3; bra A; B: nanosleep.u32 1000000; bra A;";
  const std::string delay = "C: mov.u64 %x6, %clock64; sub.u64 %x7, %x6, %x4;\n"
                            "setp.lt.u64 %p2, %x7, 500000; @%p2 bra C; bra A;";
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  for (const std::string& way : {pause, delay}) {
    recorder_.reports.clear();
    load(kernel(begin + look + way));
    expect_hang(run({2}, {40}, {flag, 0}), "ld.volatile.global.u32 %r2, [%x0]");
  }
}

TEST_F(EndingsTest, WhatIsOnlySlowIsNoHang) {
  const std::uint64_t flag = put(std::vector<std::uint32_t>(4));
  // Tries are counted; time passes; a word changes to and fro
  expect_stopped("A: ld.volatile.global.u32 %r2, [%x0]; add.u32 %r1, %r1, 1;\n"
                 "setp.eq.u32 %p1, %r2, 0; @%p1 bra A;",
                 flag);
  expect_stopped("A: mov.u64 %x3, %clock64; ld.volatile.global.u32 %r2, [%x0];\n"
                 "setp.eq.u32 %p1, %r2, 0; setp.ne.and.u64 %p1, %x3, 7, %p1; @%p1 bra A;",
                 flag);
  expect_stopped("setp.eq.u32 %p4, %r0, 0;\n"
                 "A: @%p4 atom.global.add.u32 %r3, [%x0+4], 1; ld.volatile.global.u32 %r2, [%x0];\n"
                 "setp.eq.u32 %p1, %r2, 0; @%p1 bra A;",
                 flag);
}

TEST_F(EndingsTest, WhatOthersMayWriteIsNoHang) {
  std::vector<std::uint32_t> pinned(16);
  const std::uint64_t address = 0x10000000;
  ASSERT_TRUE(memory_.add_host_memory(address, 64, reinterpret_cast<std::byte*>(pinned.data())));
  expect_stopped(kPoll, address); // by the host
  others_may_write_ = true;
  expect_stopped(kPoll, put(std::vector<std::uint32_t>(1)));
}

// The last block lets the others go, which spin for long before.
TEST_F(EndingsTest, BlocksThatAreLetGoInTheEnd) {
  for (const unsigned workers : {1u, 2u, 3u}) {
    workers_ = workers;
    load(kernel("setp.ne.u32 %p2, %r7, 5; @%p2 bra A;\n"
                "B: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 200000; @%p3 bra B;\n"
                "st.volatile.global.u32 [%x0], %r1; ret;\n" +
                std::string(kPoll)));
    const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
    const Outcome outcome = run({6}, {32}, {flag, 0});
    EXPECT_EQ(outcome.end, End::kDone) << outcome.reason;
    expect_no_reports();
  }
}

TEST_F(EndingsTest, AGridBarrierThatABlockLeavesOut) {
  cooperative_ = true;
  load(kernel("setp.eq.u32 %p2, %r7, 0; @%p2 ret; atom.global.add.u32 %r2, [%x0], 1;\n"
              "A: ld.volatile.global.u32 %r2, [%x0]; setp.lt.u32 %p1, %r2, 4; @%p1 bra A;"));
  const std::uint64_t count = put(std::vector<std::uint32_t>(1));
  expect_hang(run({4}, {1}, {count, 0}), "ld.volatile.global.u32 %r2, [%x0]");
}

} // namespace
} // namespace gmt::executor
