// SPDX-License-Identifier: Apache-2.0
// What is reported, and how a launch ends, does not depend on the number of workers.
#include "tests/unit/simulated_cuda/executor/workers/worker_kernel.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gmt::executor {
namespace {

class WorkersReports : public KernelRunner {
protected:
  struct Result {
    Outcome outcome;
    std::string words;
  };
  Result run_on(unsigned workers, std::uint64_t p, std::uint64_t q = 0) {
    workers_ = workers;
    Recorder recorder;
    Result result;
    result.outcome = run_with(recorder, {50}, {128}, {p, q});
    result.words = in_words(recorder);
    return result;
  }
  // With one worker, after it is the same with several, again and again.
  Result same_on_all(std::uint64_t p, std::uint64_t q = 0) {
    const Result one = run_on(1, p, q);
    EXPECT_NE(one.words, "");
    for (const unsigned workers : {2u, 4u, 2u, 4u, 8u}) {
      const Result many = run_on(workers, p, q);
      EXPECT_EQ(many.words, one.words) << workers << " workers";
      EXPECT_EQ(many.outcome.end, one.outcome.end);
      EXPECT_EQ(many.outcome.gpu_error, one.outcome.gpu_error);
      EXPECT_EQ(many.outcome.blocks_done, one.outcome.blocks_done);
      EXPECT_EQ(many.outcome.reason, one.outcome.reason);
    }
    return one;
  }
};

// Each block makes some of these: an uninitialised read, an access past the end, a misaligned one,
// a race in shared memory.
const std::string kMistakes =
  "mul.wide.u32 %x4, %r3, 4; add.u64 %x5, %x0, %x4; rem.u32 %r4, %r1, 3; setp.eq.u32 %p1, %r4, 2;\n"
  "@!%p1 bra A; ld.global.u32 %r5, [%x1]; add.u32 %r5, %r5, 1; st.global.u32 [%x5], %r5;\n"
  "A: setp.lt.u32 %p2, %r1, 11; @%p2 bra B; st.global.u32 [%x5+1048576], %r0;\n"
  "B: setp.ne.u32 %p3, %r1, 20; @%p3 bra C; st.global.u32 [%x5+2], %r0;\n"
  "C: mov.u32 %r6, table; mad.lo.u32 %r7, %r0, 4, %r6; st.shared.u32 [%r7], %r0;\n"
  "xor.b32 %r8, %r0, 64; mad.lo.u32 %r9, %r8, 4, %r6; ld.shared.u32 %r10, [%r9];\n"
  "st.global.u32 [%x5], %r10;\n";
const std::string kTable = ".shared .align 4 .b8 table[512];\n";

TEST_F(WorkersReports, AreTheSame) {
  load(worker_kernel(kMistakes, kTable));
  const std::uint64_t out = put(std::vector<std::uint32_t>(50 * 128)), none = allocate(4);
  const Result result = same_on_all(out, none);
  EXPECT_EQ(result.outcome.end, End::kDone);
  EXPECT_EQ(result.outcome.gpu_error, 716u);
  EXPECT_EQ(result.outcome.blocks_done, 50u);
}

TEST_F(WorkersReports, AreTheSameWithRegistersTracked) {
  load(worker_kernel(kMistakes, kTable));
  checks_ = Checks::kFull;
  const std::uint64_t out = put(std::vector<std::uint32_t>(50 * 128)), none = allocate(4);
  EXPECT_EQ(same_on_all(out, none).outcome.end, End::kDone);
}

TEST_F(WorkersReports, EndAtTheFirstBlockWithATrap) {
  load(worker_kernel(kMistakes + "setp.lt.u32 %p4, %r1, 31; @%p4 ret; setp.lt.u32 %p5, %r0, 70;\n"
                                 "@%p5 ret; trap;",
                     kTable));
  const std::uint64_t out = put(std::vector<std::uint32_t>(50 * 128)), none = allocate(4);
  const Result result = same_on_all(out, none);
  EXPECT_EQ(result.outcome.end, End::kFault);
  EXPECT_EQ(result.outcome.gpu_error, 716u) << "of an earlier block";
  EXPECT_EQ(result.outcome.blocks_done, 31u);
}

TEST_F(WorkersReports, AssertionsOfTheFirstBlockAlone) {
  load(
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
    ".param .b64 s);\n.global .align 1 .b8 text[3] = {110, 111, 0};\n" +
    worker_kernel("setp.lt.u32 %p1, %r1, 17; @%p1 ret; mov.u64 %x4, text;\n"
                  "cvta.global.u64 %x4, %x4; mov.u32 %r4, 12; mov.u64 %x5, 1;\n"
                  "{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;\n"
                  "st.param.b64 [m], %x4; st.param.b64 [f], %x4; st.param.b32 [l], %r4;\n"
                  "st.param.b64 [n], %x4; st.param.b64 [s], %x5;\n"
                  "call.uni __assertfail, (m, f, l, n, s); }"));
  const Result result = same_on_all(0);
  EXPECT_EQ(result.outcome.gpu_error, 710u);
  EXPECT_EQ(result.outcome.blocks_done, 17u);
  EXPECT_NE(result.words.find("block: [17,0,0]"), std::string::npos);
  EXPECT_EQ(result.words.find("block: [18,0,0]"), std::string::npos);
}

// A block before the one that traps waits for it: the launch must end all the same.
TEST_F(WorkersReports, ABlockThatWaitsForOneWithATrap) {
  load(worker_kernel("setp.eq.u32 %p1, %r1, 1; @%p1 bra B; setp.ne.u32 %p2, %r1, 0; @%p2 ret;\n"
                     "A: ld.volatile.global.u32 %r4, [%x0]; setp.eq.u32 %p3, %r4, 0; @%p3 bra A;\n"
                     "ret; B: trap;"));
  const std::uint64_t flag = put(std::vector<std::uint32_t>(1));
  limits_.seconds = 60;
  for (const unsigned workers : {1u, 2u, 4u}) {
    const Result result = run_on(workers, flag);
    EXPECT_EQ(result.outcome.end, End::kFault) << result.outcome.reason;
    EXPECT_EQ(result.outcome.gpu_error, 719u);
    EXPECT_LT(result.outcome.seconds, 30);
  }
}

TEST_F(WorkersReports, EndlessLoopsEndAtLimits) {
  load(worker_kernel("A: add.u32 %r4, %r4, 1; bra A;"));
  for (const unsigned workers : {2u, 4u}) {
    limits_ = {};
    limits_.seconds = 0.1;
    EXPECT_EQ(run_on(workers, 0).outcome.reason, "it ran for as long as is allowed");
    limits_ = {};
    limits_.instructions = 100000;
    EXPECT_EQ(run_on(workers, 0).outcome.end, End::kStopped);
  }
}

// The first worker runs out of blocks while another's block goes on for ever.
TEST_F(WorkersReports, InterruptedWhereOnlyAHelperWorks) {
  load(worker_kernel("A: add.u32 %r4, %r4, 1; setp.eq.u32 %p1, %r1, 1; @%p1 bra A;"));
  OneThread observer;
  observer.go_on = false;
  workers_ = 2;
  const Outcome outcome = run_with(observer, {50}, {32}, {0, 0});
  EXPECT_EQ(outcome.end, End::kStopped);
  EXPECT_EQ(outcome.reason, "it was interrupted");
  EXPECT_TRUE(observer.is_right);
}

} // namespace
} // namespace gmt::executor
