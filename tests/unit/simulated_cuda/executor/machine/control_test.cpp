// SPDX-License-Identifier: Apache-2.0
// Lanes that part and meet, calls, locks that only independent threads can end, and the device's
// own functions.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class Control : public KernelRunner {
protected:
  static std::string kernel(const std::string& statements, const std::string& before = "") {
    return before +
           ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
           ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %x<16>;\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
           "mad.wide.u32 %x2, %r0, 4, %x0;\n" +
           statements + "\nret; }\n";
  }
  std::vector<std::uint32_t> results(const std::string& text, std::uint32_t threads,
                                     std::uint64_t second = 0) {
    load(text);
    const std::uint64_t out = put(std::vector<std::uint32_t>(threads, 0xdead));
    const Outcome outcome = run({1}, {threads}, {out, second});
    EXPECT_EQ(outcome.end, End::kDone) << outcome.reason;
    expect_no_reports();
    return get<std::uint32_t>(out, threads);
  }
};

TEST_F(Control, LanesLeaveALoopOneByOneAndMeetBehindIt) {
  const auto out = results(kernel("mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
                                  "A: add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1;\n"
                                  "setp.le.u32 %p1, %r1, %r0; @%p1 bra A;\n"
                                  "activemask.b32 %r3; setp.ne.u32 %p2, %r3, -1;\n"
                                  "@%p2 mov.u32 %r2, 7; st.global.u32 [%x2], %r2;"),
                           32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i * (i + 1) / 2);
}

TEST_F(Control, ABranchToWhatFollowsItAnyway) {
  const auto out = results(kernel("and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; @%p1 bra A;\n"
                                  "A: st.global.u32 [%x2], %r0;"),
                           32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i);
}

// Comparisons of 16 bits, in a warp that is whole and in one that has parted.
TEST_F(Control, ComparisonsOfNarrowValues) {
  const auto out =
    results(kernel(".reg .b16 %h<4>; cvt.u16.u32 %h0, %r0; and.b16 %h1, %h0, 15;\n"
                   "add.s16 %h2, %h1, -3; setp.lt.u16 %p1, %h2, 2; selp.b32 %r1, 1, 0, %p1;\n"
                   "setp.gt.s16 %p2, %h2, -2; selp.b32 %r2, 2, 0, %p2; or.b32 %r1, %r1, %r2;\n"
                   "setp.lt.u32 %p3, %r0, 9; @%p3 bra A;\n"
                   "setp.eq.s16 %p4, %h1, 9; selp.b32 %r3, 4, 0, %p4; or.b32 %r1, %r1, %r3;\n"
                   "add.s16 %h2, %h1, -12; setp.lt.u16 %p4, %h2, 2; @%p4 or.b32 %r1, %r1, 8;\n"
                   "A: st.global.u32 [%x2], %r1;"),
            32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t h = i & 15;
    std::uint32_t want = (h == 3 || h == 4 ? 1 : 0) + (h >= 2 ? 2 : 0);
    if (i >= 9) want += (h == 9 ? 4 : 0) + (h == 12 || h == 13 ? 8 : 0);
    EXPECT_EQ(out[i], want) << i;
  }
}

// Lanes that have parted may use one slot for registers of different widths.
TEST_F(Control, RegistersOfOtherWidthsOnOtherPaths) {
  const auto out = results(kernel(".reg .b16 %h<4>; cvt.u16.u32 %h0, %r0; and.b16 %h1, %h0, 3;\n"
                                  "setp.eq.s16 %p1, %h1, 0; @%p1 bra A; setp.eq.s16 %p2, %h1, 1;\n"
                                  "@%p2 bra B; cvt.u32.u16 %r1, %h1; add.u32 %r1, %r1, 50; bra C;\n"
                                  "A: mul.hi.s32 %r2, %r0, 1431655766; shr.u32 %r3, %r2, 31;\n"
                                  "mul.lo.u32 %r4, %r0, 65537; add.u32 %r5, %r4, %r3;\n"
                                  "add.u32 %r1, %r2, %r5; bra C; B: mul.lo.u32 %r1, %r0, 77777;\n"
                                  "C: st.global.u32 [%x2], %r1;"),
                           32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    std::uint32_t want = 50 + i % 4;
    if (i % 4 == 0) want = i / 3 + i * 65537;
    if (i % 4 == 1) want = i * 77777;
    EXPECT_EQ(out[i], want) << i;
  }
}

TEST_F(Control, TableOfBranches) {
  const auto out = results(kernel("and.b32 %r1, %r0, 3; T: .branchtargets A, B, A, C;\n"
                                  "brx.idx %r1, T; A: mov.u32 %r2, 10; bra D;\n"
                                  "B: mov.u32 %r2, 20; bra D; C: mov.u32 %r2, 30;\n"
                                  "D: st.global.u32 [%x2], %r2;"),
                           32);
  const std::uint32_t want[] = {10, 20, 10, 30};
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], want[i % 4]);
}

constexpr const char* kFibonacci =
  ".func (.param .b32 out) fib(.param .b32 n) {\n"
  ".reg .pred %p; .reg .b32 %r<8>;\n"
  "ld.param.b32 %r0, [n]; setp.lt.u32 %p, %r0, 2; mov.u32 %r1, %r0; @%p bra E;\n"
  "{ .param .b32 a; .param .b32 b; sub.u32 %r2, %r0, 1; st.param.b32 [a], %r2;\n"
  "call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
  "{ .param .b32 a; .param .b32 b; sub.u32 %r2, %r0, 2; st.param.b32 [a], %r2;\n"
  "call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }\n"
  "add.u32 %r1, %r3, %r4; E: st.param.b32 [out], %r1; ret; }\n";

TEST_F(Control, RecursionThatEndsAtDifferentDepths) {
  const auto out =
    results(kernel("{ .param .b32 a; .param .b32 b; rem.u32 %r1, %r0, 12; st.param.b32 [a], %r1;\n"
                   "call.uni (b), fib, (a); ld.param.b32 %r2, [b]; } st.global.u32 [%x2], %r2;",
                   kFibonacci),
            32);
  const std::uint32_t want[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], want[i % 12]);
}

TEST_F(Control, LanesCallDifferentFunctions) {
  const char* functions =
    ".func (.param .b32 out) one(.param .b32 n) { .reg .b32 %r; ld.param.b32 %r, [n];\n"
    "add.u32 %r, %r, 100; st.param.b32 [out], %r; ret; }\n"
    ".func (.param .b32 out) two(.param .b32 n) { .reg .b32 %r; ld.param.b32 %r, [n];\n"
    "add.u32 %r, %r, 200; st.param.b32 [out], %r; ret; }\n"
    ".global .align 8 .u64 table[2] = {one, two};\n";
  const auto out =
    results(kernel("and.b32 %r1, %r0, 1; mov.u64 %x4, table; mad.wide.u32 %x5, %r1, 8, %x4;\n"
                   "ld.global.u64 %x6, [%x5]; { .param .b32 a; .param .b32 b;\n"
                   "st.param.b32 [a], %r0; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                   "call (b), %x6, (a), P; ld.param.b32 %r2, [b]; } st.global.u32 [%x2], %r2;",
                   functions),
            32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + (i % 2 == 0 ? 100 : 200));
}

// The holder of the lock leaves the loop and unlocks behind it, where the others do not get before.
TEST_F(Control, ALockInsideAWarpIsLetGo) {
  const std::uint64_t lock = put(std::vector<std::uint32_t>(2));
  const auto out =
    results(kernel("A: atom.global.cas.b32 %r1, [%x1], 0, 1; setp.ne.u32 %p1, %r1, 0;\n"
                   "@%p1 bra A; ld.volatile.global.u32 %r2, [%x1+4];\n"
                   "add.u32 %r2, %r2, 1; st.volatile.global.u32 [%x1+4], %r2;\n"
                   "membar.gl; atom.global.exch.b32 %r3, [%x1], 0;\n"
                   "st.global.u32 [%x2], %r2;"),
            64, lock);
  EXPECT_EQ(get<std::uint32_t>(lock, 2)[1], 64u);
}

// Block 0 waits for the last block: more blocks than it must be resident.
TEST_F(Control, BlocksThatWaitForLaterOnesEnd) {
  load(kernel("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 7; @%p1 st.global.u32 [%x1], %r1;\n"
              "setp.ne.u32 %p2, %r1, 0; @%p2 bra B;\n"
              "A: ld.volatile.global.u32 %r2, [%x1]; setp.eq.u32 %p3, %r2, 0; @%p3 bra A; B:"));
  limits_.seconds = 10;
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  EXPECT_EQ(run({8}, {32}, {flag, flag}).end, End::kDone);
}

TEST_F(Control, ShufflesVotesAndReductions) {
  const auto out = results(kernel("shfl.sync.down.b32 %r1, %r0, 16, 31, -1;\n"
                                  "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n"
                                  "setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r3, %p1, -1;\n"
                                  "redux.sync.add.s32 %r4, %r0, -1; add.u32 %r5, %r2, %r3;\n"
                                  "add.u32 %r5, %r5, %r4; st.global.u32 [%x2], %r5;"),
                           32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t other = i ^ 1;
    EXPECT_EQ(out[i], (other < 16 ? other + 16 : other) + 31 + 496);
  }
}

TEST_F(Control, CarriesGoFromInstructionToInstruction) {
  const auto out =
    results(kernel("add.cc.u32 %r1, -1, %r0; addc.cc.u32 %r2, -1, 0; addc.u32 %r3, 5, 0;\n"
                   "sub.cc.u32 %r4, %r0, 1; subc.u32 %r5, 9, 0; add.u32 %r6, %r3, %r5;\n"
                   "mad.lo.cc.u32 %r7, %r0, -1, -1; madc.hi.u32 %r8, %r0, -1, 0;\n"
                   "add.u32 %r6, %r6, %r8; st.global.u32 [%x2], %r6;"),
            32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint64_t product = std::uint64_t{i} * 0xffffffffu + 0xffffffffu;
    EXPECT_EQ(out[i],
              (i == 0 ? 5u : 6u) + (i == 0 ? 8u : 9u) + static_cast<std::uint32_t>(product >> 32))
      << i;
  }
}

TEST_F(Control, TheDeviceHeap) {
  heap_ = DeviceHeap::create(memory_, kDeviceBase + (32 << 20), 1 << 16);
  load(
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n" +
    kernel("{ .param .b64 n; .param .b64 r; st.param.b64 [n], 24; call.uni (r), malloc, (n);\n"
           "ld.param.b64 %x4, [r]; } st.u32 [%x4], %r0;\n"
           "{ .param .b64 a; st.param.b64 [a], %x4; call.uni free, (a); }\n"
           "{ .param .b64 a; st.param.b64 [a], %x4; call.uni free, (a); }\n"
           "ld.u32 %r1, [%x4]; st.global.u32 [%x2], %r1;"));
  const std::uint64_t out = put(std::vector<std::uint32_t>(1));
  run({1}, {1}, {out, 0});
  ASSERT_EQ(recorder_.heap_events.size(), 3u);
  EXPECT_EQ(recorder_.heap_events[0].bytes, 24u);
  EXPECT_EQ(recorder_.heap_events[1].kind, HeapEvent::Kind::kFree);
  EXPECT_EQ(recorder_.heap_events[2].kind, HeapEvent::Kind::kDoubleFree);
  EXPECT_EQ(only().kind, ReportKind::kUseAfterFree);
  EXPECT_EQ(heap_->alive_bytes(), 0u);
}

TEST_F(Control, Printing) {
  load(
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 form[12] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 10, 0};\n"
    ".global .align 1 .b8 word[3] = {111, 107, 0};\n" +
    kernel(".local .align 8 .b8 room[24]; mov.u64 %x4, room; cvta.local.u64 %x5, %x4;\n"
           "st.local.u32 [%x4], -5; mov.b64 %x6, 0d3ff8000000000000; st.local.u64 [%x4+8], %x6;\n"
           "mov.u64 %x7, word; cvta.global.u64 %x7, %x7; st.local.u64 [%x4+16], %x7;\n"
           "mov.u64 %x8, form; cvta.global.u64 %x8, %x8; { .param .b64 f; .param .b64 a;\n"
           ".param .b32 r; st.param.b64 [f], %x8; st.param.b64 [a], %x5;\n"
           "call.uni (r), vprintf, (f, a); ld.param.b32 %r1, [r]; } st.global.u32 [%x2], %r1;"));
  const std::uint64_t out = put(std::vector<std::uint32_t>(1));
  EXPECT_EQ(run({1}, {1}, {out, 0}).end, End::kDone);
  EXPECT_EQ(recorder_.printed, "-5 1.50 ok\n");
  EXPECT_EQ(get<std::uint32_t>(out, 1)[0], 3u);
}

TEST_F(Control, AFunctionReadsAParameterOfTheKernelByItsGenericAddress) {
  const auto out =
    results(".func f(.param .b64 a, .param .b64 b) { .reg .b32 %r<2>; .reg .b64 %x<4>;\n"
            "ld.param.u64 %x0, [a]; ld.param.u64 %x1, [b]; ld.u32 %r0, [%x0];\n"
            "st.global.u32 [%x1], %r0; ret; }\n" +
              kernel("mov.u64 %x4, q; cvta.param.u64 %x5, %x4; { .param .b64 a; .param .b64 b;\n"
                     "st.param.b64 [a], %x5; st.param.b64 [b], %x2; call f, (a, b); }"),
            1, 4711);
  EXPECT_EQ(out[0], 4711u);
}

TEST_F(Control, EachWorkerOfAGridCanWaitForAllBlocks) {
  load(kernel("mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %x4, {%r2, %r1};\n"
              "atom.add.u32 %r3, [%x4+4], 1; mov.u32 %r4, %nctaid.x;\n"
              "A: ld.volatile.u32 %r5, [%x4+4]; setp.lt.u32 %p1, %r5, %r4; @%p1 bra A;"));
  cooperative_ = true;
  limits_.seconds = 10;
  EXPECT_EQ(run({40}, {1}, {0, 0}).end, End::kDone);
  expect_no_reports();
}

// Phases of an object in shared memory: 96 threads write, arrive, wait, and read what others wrote.
TEST_F(Control, BarriersInSharedMemory) {
  const std::string shared = ".shared .align 8 .b64 gate; .shared .align 4 .b8 table[512];\n";
  const std::string round = "mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r5;\n"
                            "mbarrier.arrive.shared::cta.b64 %x4, [gate];\n"
                            "W: mbarrier.try_wait.shared::cta.b64 %p2, [gate], %x4; @!%p2 bra W;\n"
                            "sub.u32 %r3, 95, %r0; mad.lo.u32 %r3, %r3, 4, %r1;\n"
                            "ld.shared.u32 %r5, [%r3];\n"
                            "mbarrier.arrive.release.cta.shared::cta.b64 _, [gate], 1;\n"
                            "V: mbarrier.test_wait.parity.shared::cta.b64 %p2, [gate], 1;\n"
                            "@!%p2 bra V;\n";
  const auto out = results(
    kernel("setp.ne.u32 %p1, %r0, 0; @%p1 bra A; mbarrier.init.shared::cta.b64 [gate], 96;\n"
           "A: bar.sync 0; mov.u32 %r1, table; add.u32 %r5, %r0, 1000;\n" +
             round + "st.global.u32 [%x2], %r5;",
           shared),
    96);
  for (std::uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], 1095 - i) << i;
}

TEST_F(Control, AThreadThatDropsOutOfABarrierInSharedMemory) {
  const auto out = results(
    kernel("setp.ne.u32 %p1, %r0, 0; @%p1 bra A; mbarrier.init.shared::cta.b64 [gate], 64;\n"
           "A: bar.sync 0; setp.lt.u32 %p1, %r0, 32; @%p1 bra B;\n"
           "mbarrier.arrive_drop.shared::cta.b64 %x4, [gate]; bra C;\n"
           "B: mbarrier.arrive.shared::cta.b64 %x4, [gate];\n"
           "W: mbarrier.try_wait.shared::cta.b64 %p2, [gate], %x4; @!%p2 bra W;\n"
           "mbarrier.arrive.shared::cta.b64 %x4, [gate];\n"
           "V: mbarrier.try_wait.shared::cta.b64 %p2, [gate], %x4; @!%p2 bra V;\n"
           "C: st.global.u32 [%x2], %r0;",
           ".shared .align 8 .b64 gate;\n"),
    64);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i);
}

// With .noinc the barrier waits for these arrivals, too; without it they change no count.
TEST_F(Control, CopiesThatArriveAtABarrierInSharedMemory) {
  const std::string copy = "cp.async.ca.shared.global [%r2], [%x2], 4;\n";
  for (const bool is_counted : {true, false}) {
    const std::string arrival =
      is_counted ? "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];\n"
                 : "cp.async.mbarrier.arrive.shared.b64 [gate];\n"
                   "mbarrier.test_wait.parity.shared::cta.b64 %p2, [gate], 0;\n"
                   "@%p2 trap; bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [gate];\n";
    const auto out = results(
      kernel("setp.ne.u32 %p1, %r0, 0; @%p1 bra A; mbarrier.init.shared::cta.b64 [gate], 96;\n"
             "A: st.global.u32 [%x2], %r0; bar.sync 0; mov.u32 %r1, table;\n"
             "mad.lo.u32 %r2, %r0, 4, %r1;\n" +
               copy + arrival +
               "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [gate], 0; @!%p2 bra W;\n"
               "sub.u32 %r3, 95, %r0; mad.lo.u32 %r3, %r3, 4, %r1;\n"
               "ld.shared.u32 %r5, [%r3]; st.global.u32 [%x2], %r5;",
             ".shared .align 8 .b64 gate; .shared .align 4 .b8 table[384];\n"),
      96);
    for (std::uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], 95 - i) << i;
  }
}

} // namespace
} // namespace gmt::executor
