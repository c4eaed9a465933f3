// SPDX-License-Identifier: Apache-2.0
// cp.async goes on until it is waited for: its bytes come there, and not before. Who uses them, or
// changes its source, before that races with it.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include "simulated_cuda/executor/program/tensor_map.h"

#include <cstring>
#include <numeric>

namespace gmt::executor {
namespace {

class AsyncCopiesTest : public KernelRunner {
protected:
  // 128 threads, of which each copies its word of p to `s`. %r0 is the thread, %r2 the address of
  // its word of `s`, %r3 that of the thread 127 - t; %x2 and %x3 are its words of p and q.
  std::vector<std::uint32_t> run_kernel(const std::string& statements) {
    load(".shared .align 16 .b8 s[1024]; .shared .align 8 .b64 b;\n"
         ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
         ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %x<8>; ld.param.u64 %x0, [p];\n"
         "ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x; mov.u32 %r1, s;\n"
         "mad.lo.u32 %r2, %r0, 4, %r1; sub.u32 %r3, 127, %r0; mad.lo.u32 %r3, %r3, 4, %r1;\n"
         "mul.wide.u32 %x4, %r0, 4; add.u64 %x2, %x0, %x4; add.u64 %x3, %x1, %x4;\n"
         "setp.eq.u32 %p0, %r0, 0; mov.u32 %r9, 0;\n" +
         statements + "\nst.global.u32 [%x3], %r9; ret; }\n");
    recorder_.reports.clear();
    std::vector<std::uint32_t> numbers(256);
    std::iota(numbers.begin(), numbers.end(), 1000u);
    const std::uint64_t p = put(numbers), q = put(std::vector<std::uint32_t>(256));
    EXPECT_EQ(run({1}, {128}, {p, q}).end, End::kDone);
    return get<std::uint32_t>(q, 128);
  }
  // The only finding, a race with a copy that is not waited for.
  void expect_race_with_copy(const char* instruction) {
    EXPECT_EQ(only().kind, ReportKind::kSharedRace);
    EXPECT_EQ(only().message, "not waited for");
    EXPECT_EQ(only().location.instruction, instruction);
    EXPECT_TRUE(only().other.instruction.starts_with("cp.async.ca.shared.global"));
    EXPECT_TRUE(only().other.has_thread);
  }
  static constexpr const char* kCopy = "cp.async.ca.shared.global [%r2], [%x2], 4;\n"
                                       "cp.async.commit_group;\n";
};

TEST_F(AsyncCopiesTest, BytesComeWhereTheyAreWaitedFor) {
  const auto out = run_kernel(std::string(kCopy) + "cp.async.wait_group 0; bar.sync 0;\n"
                                                   "ld.shared.u32 %r9, [%r3];");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 1127 - i);
  expect_no_reports();
}

TEST_F(AsyncCopiesTest, NotBefore) {
  const auto out = run_kernel(std::string(kCopy) + "ld.shared.u32 %r9, [%r2];");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 0u);
  expect_race_with_copy("ld.shared.u32 %r9, [%r2]");
  EXPECT_EQ(only().location.thread.x, only().other.thread.x) << "its own copy";
}

TEST_F(AsyncCopiesTest, ABarrierIsNoWait) {
  run_kernel(std::string(kCopy) + "bar.sync 0; ld.shared.u32 %r9, [%r3];");
  expect_race_with_copy("ld.shared.u32 %r9, [%r3]");
  EXPECT_EQ(only().other.thread.x, 127 - only().location.thread.x);
}

TEST_F(AsyncCopiesTest, AWaitIsNoBarrier) {
  run_kernel(std::string(kCopy) + "cp.async.wait_all; ld.shared.u32 %r9, [%r3];");
  ASSERT_FALSE(recorder_.reports.empty());
  for (const Report& report : recorder_.reports) EXPECT_EQ(report.kind, ReportKind::kSharedRace);
}

// Cooperative groups let the lanes that are left over copy the last element, too.
TEST_F(AsyncCopiesTest, SeveralThreadsCopyTheSameBytes) {
  const auto copy = [](const char* source) {
    return "min.u32 %r4, %r0, 100; mul.wide.u32 %x4, %r4, 4; add.u64 %x5, %x0, %x4;\n"
           "mad.lo.u32 %r5, %r4, 4, %r1; cp.async.ca.shared.global [%r5], [" +
           std::string(source) + "], 4;\ncp.async.wait_all; bar.sync 0; ld.shared.u32 %r9, [%r5];";
  };
  EXPECT_EQ(run_kernel(copy("%x5"))[120], 1100u);
  expect_no_reports();
  run_kernel(copy("%x2")); // from places of their own: a race
  EXPECT_FALSE(recorder_.reports.empty());
}

TEST_F(AsyncCopiesTest, AnOlderGroupIsThereAndAYoungerIsNot) {
  const std::string two = std::string(kCopy) +
                          "cp.async.ca.shared.global [%r2+512], [%x2+512], 4;\n"
                          "cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;\n";
  const auto older = run_kernel(two + "ld.shared.u32 %r9, [%r3];");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(older[i], 1127 - i);
  expect_no_reports();
  run_kernel(two + "ld.shared.u32 %r9, [%r3+512];");
  expect_race_with_copy("ld.shared.u32 %r9, [%r3+512]");
}

TEST_F(AsyncCopiesTest, AGroupThatWasNotBegunIsWaitedForByAllAlone) {
  const std::string open = "cp.async.ca.shared.global [%r2], [%x2], 4;\n";
  run_kernel(open + "cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r9, [%r3];");
  expect_race_with_copy("ld.shared.u32 %r9, [%r3]");
  const auto out = run_kernel(open + "cp.async.wait_all; bar.sync 0; ld.shared.u32 %r9, [%r3];");
  EXPECT_EQ(out[0], 1127u);
  expect_no_reports();
}

TEST_F(AsyncCopiesTest, WhatStandsInItsWay) {
  const std::string end = "cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r9, [%r2];";
  run_kernel("st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r9, [%r3];\n" +
             std::string(kCopy) + end);
  EXPECT_EQ(only().kind, ReportKind::kSharedRace);
  EXPECT_EQ(only().message, "");
  run_kernel("st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r9, [%r3]; bar.sync 0;\n" +
             std::string(kCopy) + end);
  expect_no_reports();
  run_kernel(std::string(kCopy) + "st.shared.u32 [%r2], %r0;\n" + end);
  expect_race_with_copy("st.shared.u32 [%r2], %r0");
}

TEST_F(AsyncCopiesTest, ItsSourceIsReadWhereItIsWaitedFor) {
  const std::string end = "cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r9, [%r2];";
  const auto out = run_kernel(std::string(kCopy) + "st.global.u32 [%x2], %r0;\n" + end);
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i);
  EXPECT_EQ(only().kind, ReportKind::kGlobalRace);
  EXPECT_EQ(only().location.instruction, "st.global.u32 [%x2], %r0");
  run_kernel(std::string(kCopy) + end + "\nst.global.u32 [%x2], %r0;");
  expect_no_reports();
}

TEST_F(AsyncCopiesTest, SourcesThatAreIgnoredOrShort) {
  const std::string end = "cp.async.wait_all; bar.sync 0; ld.shared.u32 %r9, [%r2];";
  auto out = run_kernel("setp.lt.u32 %p1, %r0, 64; st.shared.u32 [%r2], 7;\n"
                        "cp.async.ca.shared.global [%r2], [%x2], 4, %p1;\n" +
                        end);
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 64 ? 0 : 1000 + i);
  out = run_kernel("and.b32 %r4, %r0, 3; cp.async.ca.shared.global [%r2], [%x2], 4, %r4;\n" + end);
  for (std::uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], (1000 + i) & ((1u << 8 * (i % 4)) - 1)) << i;
  expect_no_reports();
}

TEST_F(AsyncCopiesTest, AnMbarrierWaitsForThem) {
  const std::string start = "@%p0 mbarrier.init.shared.b64 [b], 128; bar.sync 0;\n"
                            "cp.async.ca.shared.global [%r2], [%x2], 4;\n"
                            "cp.async.mbarrier.arrive.noinc.shared.b64 [b];\n";
  const auto out = run_kernel(start + "W: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;\n"
                                      "@!%p1 bra W; ld.shared.u32 %r9, [%r3];");
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 1127 - i);
  expect_no_reports();
  run_kernel(start + "ld.shared.u32 %r9, [%r2];");
  expect_race_with_copy("ld.shared.u32 %r9, [%r2]");
}

TEST_F(AsyncCopiesTest, AMbarrierCountsBytes) {
  const auto out = run_kernel(
    "@!%p0 bra S; mbarrier.init.shared.b64 [b], 1;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 %x5, [b], 12;\n"
    "mbarrier.complete_tx.shared::cta.b64 [b], 8;\n"
    "mbarrier.pending_count.b64 %r9, %x5; st.global.u32 [%x3], %r9; S: bar.sync 0;\n"
    "mbarrier.test_wait.parity.shared.b64 %p1, [b], 0; @%p1 trap; bar.sync 0;\n"
    "@!%p0 bra T; mbarrier.complete_tx.shared::cta.b64 [b], 8;\n"
    "mbarrier.expect_tx.shared::cta.b64 [b], 4; T: bar.sync 0;\n"
    "mbarrier.test_wait.parity.shared.b64 %p1, [b], 0; @!%p1 trap; ld.global.u32 %r9, [%x3];");
  EXPECT_EQ(out[0], 1u);
}

// Another thread may come first, also one of the same warp.
TEST_F(AsyncCopiesTest, AMbarrierIsMadeBeforeOthersUseIt) {
  const auto kernel = [](const char* between) {
    return std::string("@!%p0 bra S; mbarrier.init.shared.b64 [b], 128; S:\n") + between +
           "mbarrier.arrive.shared.b64 %x5, [b];\n"
           "W: mbarrier.try_wait.shared.b64 %p1, [b], %x5; @!%p1 bra W;";
  };
  run_kernel(kernel("bar.sync 0;\n"));
  expect_no_reports();
  for (const char* between : {"", "bar.warp.sync 0xffffffff;\n"}) {
    run_kernel(kernel(between));
    EXPECT_EQ(only().kind, ReportKind::kSharedRace);
    EXPECT_EQ(only().location.instruction, "mbarrier.arrive.shared.b64 %x5, [b]");
    EXPECT_EQ(only().location.thread.x / 32, *between == 0 ? 0u : 1u);
    EXPECT_TRUE(only().other.instruction.starts_with("mbarrier.init"));
    EXPECT_EQ(only().other.thread.x, 0u);
  }
}

// Not known to need the fence of what threads store.
TEST_F(AsyncCopiesTest, AStoreForAnMbarrierMayStandBeforeABulkCopy) {
  const auto out = run_kernel(
    "@!%p0 bra S; mbarrier.init.shared.b64 [b], 1;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 %x5, [b], 16; mov.u32 %r4, b; mov.u32 %r5, 7;\n"
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r1],\n"
    "{%r5, %r5, %r5, %r5}, [%r4];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0; @!%p1 bra W;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%x1], [%r1], 16;\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.u32 %r9, [%x1];\n"
    "S: bar.sync 0;");
  EXPECT_EQ(out[0], 7u);
  expect_no_reports();
}

// Each block adds 1 to the same words: none is lost where two of them add at the same time.
TEST_F(AsyncCopiesTest, BlocksOfSeveralWorkersReduceIntoTheSameWords) {
  workers_ = 4;
  load(".shared .align 16 .b8 s[512];\n"
       ".visible .entry k(.param .u64 q) {\n"
       ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %x<2>; ld.param.u64 %x0, [q];\n"
       "mov.u32 %r0, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; mov.u32 %r3, 1;\n"
       "st.shared.u32 [%r2], %r3; fence.proxy.async.shared::cta; bar.sync 0;\n"
       "setp.ne.u32 %p0, %r0, 0; @%p0 bra E;\n"
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x0], [%r1], 512;\n"
       "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E: ret; }\n");
  constexpr std::uint32_t kBlocks = 500;
  const std::uint64_t q = put(std::vector<std::uint32_t>(128));
  EXPECT_EQ(run({kBlocks}, {128}, {q}).end, End::kDone);
  EXPECT_EQ(get<std::uint32_t>(q, 128), std::vector<std::uint32_t>(128, kBlocks));
  expect_no_reports();
}

// The kernel's own code is shorter than the function that began the copy.
TEST_F(AsyncCopiesTest, ACopyThatEndsBehindItsFunctionIsShownThere) {
  std::string moves;
  for (int i = 0; i < 40; ++i) moves += "mov.u32 %r2, 7;\n";
  load(".shared .align 16 .b8 s[16];\n"
       ".func f(.param .b64 a) { .reg .b32 %r<4>; .reg .b64 %x<2>; ld.param.u64 %x0, [a];\n"
       "mov.u32 %r1, s;\n" +
       moves +
       "cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r1], 16;\n"
       "cp.async.bulk.commit_group; ret; }\n"
       ".visible .entry k(.param .u64 q) { .reg .b32 %r<4>; .reg .b64 %x<2>;\n"
       "ld.param.u64 %x0, [q]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, s;\n"
       "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0}; fence.proxy.async.shared::cta;\n"
       "{ .param .b64 p; st.param.b64 [p], %x0; call f, (p); } ret; }\n");
  EXPECT_EQ(run({2}, {1}, {put(std::vector<std::uint32_t>(4))}).end, End::kDone);
  ASSERT_FALSE(recorder_.reports.empty());
  for (const Report& report : recorder_.reports) {
    EXPECT_EQ(report.kind, ReportKind::kGlobalRace);
    EXPECT_TRUE(report.location.instruction.starts_with("cp.async.bulk.global"));
  }
}

TEST_F(AsyncCopiesTest, WhatIsNoTensorMapIsRefused) {
  TensorMap good;
  good.magic = TensorMap::kMagic;
  good.rank = good.element = good.steps[0] = 1;
  good.box[0] = 16;
  good.sizes[0] = 16;
  std::vector<TensorMap> maps(5, good);
  maps[0].magic = 0;
  maps[1].element = 16;
  maps[2].swizzle = 40;
  maps[3].steps[0] = 0;
  maps[4].box[0] = 60'000;
  load(".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 b;\n"
       ".visible .entry k(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %x<2>;\n"
       "ld.param.u64 %x0, [p]; mov.u32 %r0, 0; mov.u32 %r1, s;\n"
       "mbarrier.init.shared.b64 [b], 1;\n"
       "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1],\n"
       "[%x0, {%r0}], [b]; ret; }\n");
  for (const TensorMap& map : maps) {
    std::vector<std::uint64_t> words(TensorMap::kBytes / sizeof(std::uint64_t));
    std::memcpy(words.data(), &map, sizeof map);
    recorder_.reports.clear();
    run({1}, {1}, {put(words)});
    EXPECT_EQ(only().kind, ReportKind::kOther);
  }
}

TEST_F(AsyncCopiesTest, AnySeedGivesTheSame) {
  std::string code = kCopy;
  code += "cp.async.ca.shared.global [%r2+512], [%x2+512], 4;\n"
          "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n"
          "ld.shared.u32 %r9, [%r3]; ld.shared.u32 %r8, [%r3+512];\n"
          "add.u32 %r9, %r9, %r8;";
  for (seed_ = 0; seed_ < 5; ++seed_) {
    const auto out = run_kernel(code);
    for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 2254 + 128 - 2 * i);
    expect_no_reports();
  }
}

} // namespace
} // namespace gmt::executor
