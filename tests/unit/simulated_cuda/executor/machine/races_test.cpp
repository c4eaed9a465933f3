// SPDX-License-Identifier: Apache-2.0
// What orders two accesses of shared memory, and what does not: each pair of kernels differs in
// one thing, and only one of them races.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class RacesTest : public KernelRunner {
protected:
  // %r0 is the thread, %r6 its lane, %r7 its warp, %r2 the address of its own word of `s`, %p0 to
  // %p3 whether its warp is 0 to 3. An empty kernel sees the launch's 128 threads.
  std::size_t races(const std::string& statements, std::uint32_t threads = 128) {
    load(".shared .align 8 .b8 s[512]; .shared .align 8 .b8 c[16]; .shared .align 8 .b64 b;\n"
         ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
         ".reg .pred %p<12>; .reg .b32 %r<16>; .reg .b64 %x<16>;\n"
         "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
         "and.b32 %r6, %r0, 31; shr.u32 %r7, %r0, 5; mov.u32 %r1, s;\n"
         "mad.lo.u32 %r2, %r0, 4, %r1; mad.lo.u32 %r3, %r6, 4, %r1;\n"
         "setp.eq.u32 %p0, %r7, 0; setp.eq.u32 %p1, %r7, 1; setp.eq.u32 %p2, %r7, 2;\n"
         "setp.eq.u32 %p3, %r7, 3; setp.eq.u32 %p4, %r0, 0; setp.lt.u32 %p5, %r6, 16;\n" +
         statements + "\nret; }\n");
    recorder_.reports.clear();
    const std::uint64_t a = put(std::vector<std::uint32_t>(256));
    EXPECT_EQ(run({1}, {threads}, {a, a + 512}).end, End::kDone);
    return reported();
  }
  // Of volatile accesses, in the place of races.
  std::size_t unordered(const std::string& statements) {
    counts_volatile_ = true;
    const std::size_t count = races(statements);
    counts_volatile_ = false;
    return count;
  }

private:
  std::size_t reported() const {
    std::size_t count = 0, others = 0;
    for (const Report& report : recorder_.reports) {
      EXPECT_EQ(report.kind, ReportKind::kSharedRace) << "nothing else is reported";
      ++((report.message == "volatile") == counts_volatile_ ? count : others);
    }
    EXPECT_TRUE(count != 0 || others == 0);
    return count;
  }
  bool counts_volatile_ = false;
};

// Each thread stores its word and loads that of the thread 127 - t.
std::string reversed(const std::string& between) {
  return "st.shared.u32 [%r2], %r0;\n" + between +
         "\nsub.u32 %r4, 127, %r0; mad.lo.u32 %r4, %r4, 4, %r1; ld.shared.u32 %r5, [%r4];";
}

// Threads that have nothing to store write to a spare element.
TEST_F(RacesTest, StoresThatNoThreadReads) {
  const std::string stores = "st.shared.u32 [s+128], %r0; bar.sync 0;\n";
  EXPECT_EQ(races(stores + "st.shared.u32 [s+132], 1;"), 0u);
  EXPECT_EQ(
    races(stores + "@%p4 st.shared.u32 [s+128], 7; bar.sync 0; ld.shared.u32 %r5, [s+128];"), 0u)
    << "another value is there";
  EXPECT_EQ(races(stores + "ld.shared.u32 %r5, [s+128];"), 1u);
  EXPECT_EQ(races(stores + "atom.shared.add.u32 %r5, [s+128], 1;"), 1u);
  EXPECT_EQ(races(stores + "st.shared.u32 [s+128], %r0; bar.sync 0; ld.shared.u32 %r5, [s+128];"),
            1u)
    << "the second ones alone";
}

TEST_F(RacesTest, FencesAloneOrderNothing) {
  EXPECT_NE(races(reversed("")), 0u);
  EXPECT_NE(races(reversed("membar.cta;")), 0u);
  EXPECT_NE(races(reversed("fence.acq_rel.gpu;")), 0u);
  EXPECT_EQ(races(reversed("bar.sync 0;")), 0u);
}

TEST_F(RacesTest, AFenceOfAnotherThreadOrdersNothing) {
  EXPECT_NE(races("@%p0 st.shared.u32 [%r3], %r0; @%p2 membar.cta; @%p3 ld.shared.u32 %r5, [%r3];"),
            0u);
}

// With a flag that one thread stores behind a fence and the other loads before one.
std::string handed_over(const char* release, const char* acquire) {
  return std::string("@!%p4 bra R; st.shared.u32 [s], %r0; ") + release +
         "st.volatile.shared.u32 [c], 1;\n"
         "R: setp.ne.u32 %p6, %r0, 64; @%p6 bra E; W: ld.volatile.shared.u32 %r5, [c];\n"
         "setp.eq.u32 %p6, %r5, 0; @%p6 bra W;\n" +
         acquire + "ld.shared.u32 %r5, [s]; E:";
}

TEST_F(RacesTest, FencesOrderThroughAFlag) {
  const std::string zero = "@%p4 st.shared.u32 [c], 0; bar.sync 0;\n";
  EXPECT_EQ(races(zero + handed_over("membar.cta;", "membar.cta;")), 0u);
  EXPECT_NE(races(zero + handed_over("", "membar.cta;")), 0u);
  EXPECT_NE(races(zero + handed_over("membar.cta;", "")), 0u);
  EXPECT_NE(races(zero + handed_over("", "")), 0u);
}

TEST_F(RacesTest, ReleaseAndAcquireAreFencesThemselves) {
  EXPECT_EQ(races("@%p4 st.shared.u32 [c], 0; bar.sync 0;\n"
                  "@!%p4 bra R; st.shared.u32 [s], %r0; st.release.cta.shared.u32 [c], 1;\n"
                  "R: setp.ne.u32 %p6, %r0, 64; @%p6 bra E;\n"
                  "W: ld.acquire.cta.shared.u32 %r5, [c]; setp.eq.u32 %p6, %r5, 0; @%p6 bra W;\n"
                  "ld.shared.u32 %r5, [s]; E:"),
            0u);
}

// Of three threads the one in the middle learns that the word is there, and lets the last one know.
TEST_F(RacesTest, ARelaxedFlagHandsNothingOn) {
  const auto handed_on = [](const std::string& load, const std::string& store) {
    return "@%p4 st.shared.u32 [c], 0; @%p4 st.shared.u32 [c+4], 0; bar.sync 0;\n"
           "@!%p4 bra R; st.shared.u32 [s], %r0; st.release.cta.shared.u32 [c], 1; bra E;\n"
           "R: setp.eq.u32 %p6, %r0, 32; @%p6 bra M; setp.eq.u32 %p6, %r0, 64; @!%p6 bra E;\n"
           "W: ld.acquire.cta.shared.u32 %r5, [c+4]; setp.eq.u32 %p6, %r5, 0; @%p6 bra W;\n"
           "ld.shared.u32 %r5, [s]; bra E;\n"
           "M: ld." +
           load + ".cta.shared.u32 %r5, [c]; setp.eq.u32 %p6, %r5, 0; @%p6 bra M;\n st." + store +
           ".cta.shared.u32 [c+4], 1; E:";
  };
  EXPECT_EQ(races(handed_on("acquire", "release")), 0u);
  EXPECT_NE(races(handed_on("acquire", "relaxed")), 0u);
  EXPECT_NE(races(handed_on("relaxed", "release")), 0u);
}

TEST_F(RacesTest, AFlagInGlobalMemoryOrdersToo) {
  EXPECT_EQ(
    races("@!%p4 bra R; st.shared.u32 [s], %r0; membar.gl; st.volatile.global.u32 [%x0], 1;\n"
          "R: setp.ne.u32 %p6, %r0, 64; @%p6 bra E;\n"
          "W: ld.volatile.global.u32 %r5, [%x0]; setp.eq.u32 %p6, %r5, 0; @%p6 bra W;\n"
          "membar.gl; ld.shared.u32 %r5, [s]; E:"),
    0u);
}

// As the tiles of several warps of cooperative groups do.
TEST_F(RacesTest, AFlagInTheSystemsPartOfSharedMemoryOrdersToo) {
  EXPECT_EQ(races("mov.u32 %r8, %reserved_smem_offset_1;\n"
                  "@%p4 st.volatile.shared.u32 [%r8], 0; bar.sync 0;\n"
                  "@!%p4 bra R; st.shared.u32 [s], %r0; red.release.cta.shared.add.u32 [%r8], 1;\n"
                  "R: setp.ne.u32 %p6, %r0, 64; @%p6 bra E;\n"
                  "W: ld.acquire.cta.shared.u32 %r5, [%r8]; setp.eq.u32 %p6, %r5, 0; @%p6 bra W;\n"
                  "ld.shared.u32 %r5, [s]; E:"),
            0u);
}

// The store has 8 bytes, and the load the upper 4 of them.
TEST_F(RacesTest, AFlagMayBeLoadedInPart) {
  EXPECT_EQ(races("mov.u64 %x2, 0x100000000; @%p4 st.shared.u64 [c], 0; bar.sync 0;\n"
                  "@!%p4 bra R; st.shared.u32 [s], %r0; membar.cta;\n"
                  "st.volatile.shared.u64 [c], %x2; R: setp.ne.u32 %p6, %r0, 64; @%p6 bra E;\n"
                  "W: ld.volatile.shared.u32 %r5, [c + 4]; setp.eq.u32 %p6, %r5, 0; @%p6 bra W;\n"
                  "membar.cta; ld.shared.u32 %r5, [s]; E:"),
            0u);
}

// A word that each thread counts up under a lock.
std::string locked(const char* fence) {
  return std::string(
           "@%p4 st.shared.u32 [c], 0; @%p4 st.shared.u32 [s], 0; bar.sync 0;\n"
           "setp.ne.u32 %p6, %r6, 0; @%p6 bra E;\n"
           "L: atom.shared.cas.b32 %r5, [c], 0, 1; setp.ne.u32 %p6, %r5, 0; @%p6 bra L;\n") +
         fence + "ld.shared.u32 %r5, [s]; add.u32 %r5, %r5, 1; st.shared.u32 [s], %r5;\n" + fence +
         "atom.shared.exch.b32 %r5, [c], 0; E:";
}

TEST_F(RacesTest, ALockNeedsItsFences) {
  EXPECT_EQ(races(locked("membar.cta;")), 0u);
  EXPECT_NE(races(locked("")), 0u);
}

TEST_F(RacesTest, NamedBarriersOrderThoseWhoTakePart) {
  EXPECT_EQ(races("@%p0 st.shared.u32 [%r3], %r0; @%p0 bar.sync 1, 64; @%p3 bar.sync 1, 64;\n"
                  "@%p3 ld.shared.u32 %r5, [%r3];"),
            0u);
  EXPECT_NE(races("@%p0 st.shared.u32 [%r3], %r0; @%p1 bar.sync 1, 64; @%p2 bar.sync 1, 64;\n"
                  "@%p3 ld.shared.u32 %r5, [%r3];"),
            0u);
  EXPECT_NE(races("@%p0 st.shared.u32 [%r3], %r0; @%p0 bar.sync 1, 64; @%p1 bar.sync 1, 64;\n"
                  "@%p3 ld.shared.u32 %r5, [%r3];"),
            0u);
}

TEST_F(RacesTest, OrderGoesOnThroughAThirdWarp) {
  EXPECT_EQ(races("@%p0 st.shared.u32 [%r3], %r0; @%p0 bar.sync 1, 64; @%p1 bar.sync 1, 64;\n"
                  "@%p1 bar.sync 2, 64; @%p2 bar.sync 2, 64; @%p2 ld.shared.u32 %r5, [%r3];"),
            0u);
}

// Who arrives and does not wait is before the others, and not behind them.
TEST_F(RacesTest, ArrivingOrdersOneWay) {
  EXPECT_EQ(races("@%p0 st.shared.u32 [%r3], %r0; @%p0 bar.arrive 1, 64; @%p3 bar.sync 1, 64;\n"
                  "@%p3 ld.shared.u32 %r5, [%r3];"),
            0u);
  EXPECT_NE(races("@%p3 st.shared.u32 [%r3], %r0; @%p0 bar.arrive 1, 64; @%p3 bar.sync 1, 64;\n"
                  "@%p0 ld.shared.u32 %r5, [%r3];"),
            0u);
}

TEST_F(RacesTest, AWarpsBarrierOrdersTheLanesThatItNames) {
  const std::string store = "st.shared.u32 [%r2], %r0;\n", load = "\nld.shared.u32 %r5, [%r4];";
  const std::string next = "xor.b32 %r4, %r0, 1; mad.lo.u32 %r4, %r4, 4, %r1;";
  const std::string far = "xor.b32 %r4, %r0, 16; mad.lo.u32 %r4, %r4, 4, %r1;";
  const std::string tiles = "mov.u32 %r8, 0xffff; @!%p5 mov.u32 %r8, 0xffff0000;"
                            "bar.warp.sync %r8;";
  EXPECT_EQ(races(store + "bar.warp.sync -1;" + far + load), 0u);
  EXPECT_EQ(races(store + tiles + next + load), 0u);
  EXPECT_NE(races(store + tiles + far + load), 0u);
  EXPECT_NE(races(store + "@%p5 bar.warp.sync 0xffff;" + far + load), 0u);
}

TEST_F(RacesTest, ShufflesAndVotesOrderNothing) {
  const std::string store = "st.shared.u32 [%r2], %r0; xor.b32 %r4, %r0, 1;\n"
                            "mad.lo.u32 %r4, %r4, 4, %r1;\n";
  EXPECT_NE(races(store + "shfl.sync.idx.b32 %r5, %r0, 3, 31, -1; ld.shared.u32 %r5, [%r4];"), 0u);
  EXPECT_NE(races(store + "vote.sync.ballot.b32 %r5, %p5, -1; ld.shared.u32 %r5, [%r4];"), 0u);
}

// All lanes load a word, and behind the warp's barrier one of them stores it.
TEST_F(RacesTest, LoadsBeforeAWarpsBarrier) {
  const std::string load = "@%p4 st.shared.u32 [s], 1; bar.sync 0; setp.ne.u32 %p6, %r7, 0;\n"
                           "@%p6 bra E; ld.shared.u32 %r5, [s];\n",
                    store = "@!%p4 bra E; ld.shared.u32 %r5, [s]; add.u32 %r5, %r5, 1;\n"
                            "st.shared.u32 [s], %r5; E:";
  EXPECT_EQ(races(load + "bar.warp.sync -1;" + store), 0u);
  EXPECT_NE(races(load + store), 0u);
}

std::string with_object(const char* count, const std::string& wait) {
  return std::string("mov.u32 %r8, b; @%p4 mbarrier.init.shared.b64 [%r8], ") + count +
         "; bar.sync 0;\n" + reversed("mbarrier.arrive.shared.b64 %x2, [%r8];\n" + wait);
}

TEST_F(RacesTest, AnMbarrierOrdersThoseWhoWaitForIt) {
  const std::string wait = "W: mbarrier.test_wait.shared.b64 %p6, [%r8], %x2; @!%p6 bra W;";
  EXPECT_EQ(races(with_object("128", wait)), 0u);
  EXPECT_NE(races(with_object("128", "")), 0u);
  EXPECT_NE(races(with_object("32", wait)), 0u) << "a phase of the first warp's threads alone";
}

// Of three warps each arrives for a phase of its own, and the last waits for the second's alone.
TEST_F(RacesTest, AnEarlierPhaseComesBeforeALaterOne) {
  const std::string polls = "ld.relaxed.cta.shared.u32 %r5, [c]; setp.ne.u32 %p6, %r5, ";
  EXPECT_EQ(
    races("mov.u32 %r8, b; @%p4 mbarrier.init.shared.b64 [%r8], 1;\n"
          "@%p4 st.shared.u32 [c], 0; bar.sync 0; setp.ne.u32 %p6, %r6, 0; @%p6 bra E;\n"
          "@%p1 bra B; @%p2 bra C; @%p3 bra E; st.shared.u32 [s], %r0;\n"
          "mbarrier.arrive.shared.b64 %x2, [%r8]; st.relaxed.cta.shared.u32 [c], 1; bra E;\n"
          "B: " +
          polls +
          "1; @%p6 bra B; mbarrier.arrive.shared.b64 %x2, [%r8];\n"
          "st.relaxed.cta.shared.u32 [c], 2; bra E;\n"
          "C: " +
          polls +
          "2; @%p6 bra C; mbarrier.test_wait.parity.shared.b64 %p6, [%r8], 1;\n"
          "@%p6 ld.shared.u32 %r5, [s]; E:"),
    0u);
}

TEST_F(RacesTest, AtomicsRaceWithPlainAccesses) {
  EXPECT_NE(races("@%p4 st.shared.u32 [c], 0; red.shared.add.u32 [c], 1;"), 0u);
  EXPECT_NE(races("@%p4 st.shared.u32 [c], 0; bar.sync 0; red.shared.add.u32 [c], 1;\n"
                  "@%p4 ld.shared.u32 %r5, [c];"),
            0u);
  EXPECT_EQ(recorder_.reports.front().other_access, Access::kAtomic);
  EXPECT_EQ(races("@%p4 st.shared.u32 [c], 0; bar.sync 0; red.shared.add.u32 [c], 1;\n"
                  "bar.sync 0; ld.shared.u32 %r5, [c];"),
            0u);
}

TEST_F(RacesTest, VolatileAccessesRaceWithPlainOnesAlone) {
  EXPECT_NE(races("@%p0 st.volatile.shared.u32 [%r3], %r0; @%p1 ld.shared.u32 %r5, [%r3];"), 0u);
  EXPECT_NE(races("@%p0 st.shared.u32 [%r3], %r0; @%p1 ld.volatile.shared.u32 %r5, [%r3];"), 0u);
}

TEST_F(RacesTest, VolatileAccessesOrderNothing) {
  const std::string store = "@%p0 st.volatile.shared.u32 [%r3], %r0;",
                    load = "@%p1 ld.volatile.shared.u32 %r5, [%r3];";
  EXPECT_NE(unordered(store + load), 0u);
  EXPECT_NE(unordered(load + store), 0u);
  EXPECT_NE(unordered("st.volatile.shared.u32 [s], %r0;"), 0u) << "of stores";
  EXPECT_EQ(recorder_.reports.front().message, "volatile");
  EXPECT_EQ(unordered(store + "bar.sync 0;" + load), 0u);
  EXPECT_EQ(unordered("@%p0 ld.volatile.shared.u32 %r5, [%r3];" + load), 0u) << "of loads";
  EXPECT_EQ(unordered("st.volatile.shared.u32 [s], 1;"), 0u) << "of equal values";
}

// A flag, or an access that the program does not take for more than it is.
TEST_F(RacesTest, VolatileFlagsAndOtherStrongAccessesMayHaveNoOrder) {
  const std::string zero = "st.shared.u32 [%r2], 0; bar.sync 0;",
                    load = "@%p1 ld.volatile.shared.u32 %r5, [%r3];";
  EXPECT_EQ(unordered(zero + "@%p0 membar.cta; @%p0 st.volatile.shared.u32 [%r3], %r0;" + load),
            0u);
  EXPECT_EQ(unordered(zero + "@%p0 st.relaxed.cta.shared.u32 [%r3], %r0;" + load), 0u);
  EXPECT_EQ(unordered(zero + "@%p0 atom.shared.exch.b32 %r5, [%r3], %r0;" + load), 0u);
}

// Zeros that the program stored are values as all others are: equal ones excuse writers alone.
TEST_F(RacesTest, AStoreOfWhatIsThereRacesWithALoad) {
  EXPECT_NE(races("st.shared.u32 [%r2], 0; bar.sync 0; @%p1 st.shared.u32 [%r3], 0;\n"
                  "@%p0 ld.shared.u32 %r5, [%r3];"),
            0u);
  EXPECT_NE(races("st.shared.u32 [%r2], 0; bar.sync 0; @%p0 ld.shared.u32 %r5, [%r3];\n"
                  "@%p1 st.shared.u32 [%r3], 0;"),
            0u);
  EXPECT_EQ(races("st.shared.u32 [c], 7; ld.shared.u32 %r5, [c];"), 0u);
}

} // namespace
} // namespace gmt::executor
