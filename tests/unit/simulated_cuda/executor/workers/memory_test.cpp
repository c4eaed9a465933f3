// SPDX-License-Identifier: Apache-2.0
// Blocks of several workers that use the same memory: atomics, bytes of one word, locks, flags, the
// device heap and printed text give what one worker gives.
#include "tests/unit/simulated_cuda/executor/workers/worker_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kBlocks = 64, kThreads = 128, kAll = kBlocks * kThreads;

class WorkersTest : public KernelRunner, public testing::WithParamInterface<unsigned> {
protected:
  WorkersTest() {
    workers_ = GetParam();
    limits_.seconds = 100;
  }
  void run_all(std::uint64_t p, std::uint64_t q = 0) {
    const Outcome outcome = run({kBlocks}, {kThreads}, {p, q});
    EXPECT_EQ(outcome.end, End::kDone) << outcome.reason;
    EXPECT_EQ(outcome.blocks_done, kBlocks);
    expect_no_reports();
  }
};

INSTANTIATE_TEST_SUITE_P(Executor, WorkersTest, testing::Values(1u, 2u, 4u));

TEST_P(WorkersTest, AtomicsOfIntegers) {
  load(worker_kernel("atom.global.add.u32 %r4, [%x0], 1; red.global.add.u64 [%x0+8], %x3;\n"
                     "red.global.max.u32 [%x0+16], %r3; neg.s32 %r5, %r3;\n"
                     "red.global.min.s32 [%x0+24], %r5; red.global.xor.b32 [%x0+32], %r3;\n"
                     "and.b32 %r6, %r3, 63; mov.u64 %x4, 1; shl.b64 %x5, %x4, %r6;\n"
                     "red.global.or.b64 [%x0+40], %x5; not.b64 %x6, %x5;\n"
                     "red.global.and.b64 [%x0+48], %x6; red.global.inc.u32 [%x0+56], 999;\n"
                     "red.global.dec.u32 [%x0+64], 999; red.add.u32 [%x0+72], %r4;"));
  std::vector<std::uint64_t> cells(10);
  cells[6] = ~std::uint64_t{0};
  const std::uint64_t at = put(cells);
  run_all(at);
  cells = get<std::uint64_t>(at, cells.size());
  std::uint64_t sum = 0, bits = 0;
  for (std::uint32_t i = 0; i < kAll; ++i) {
    sum += i;
    bits ^= i;
  }
  EXPECT_EQ(cells[0], kAll);
  EXPECT_EQ(cells[1], sum);
  EXPECT_EQ(cells[2], kAll - 1);
  EXPECT_EQ(static_cast<std::int32_t>(cells[3]), 1 - static_cast<std::int32_t>(kAll));
  EXPECT_EQ(cells[4], bits);
  EXPECT_EQ(cells[5], ~std::uint64_t{0});
  EXPECT_EQ(cells[6], 0u);
  EXPECT_EQ(cells[7], kAll % 1000);
  EXPECT_EQ(cells[8], (1000 - kAll % 1000) % 1000);
  EXPECT_EQ(cells[9], static_cast<std::uint32_t>(sum)) << "each old value came once";
}

TEST_P(WorkersTest, AtomicsOfFloatsAndHalves) {
  load(worker_kernel("red.global.add.f32 [%x0], 0f3F800000;\n"
                     "red.global.add.f64 [%x0+8], 0d3FF0000000000000; setp.lt.u32 %p1, %r0, 16;\n"
                     "mov.b32 %r4, 0x3C003C00; @%p1 red.global.add.noftz.f16x2 [%x0+16], %r4;\n"
                     "and.b32 %r5, %r1, 1; setp.eq.u32 %p2, %r5, 1; mov.u64 %x4, %x0;\n"
                     "@%p2 add.u64 %x4, %x4, 2; ld.volatile.global.u16 %h1, [%x4+24];\n"
                     "A: add.u16 %h2, %h1, 1; atom.global.cas.b16 %h3, [%x4+24], %h1, %h2;\n"
                     "setp.ne.u16 %p3, %h3, %h1; mov.u16 %h1, %h3; @%p3 bra A;"));
  const std::uint64_t at = put(std::vector<std::uint64_t>(4));
  run_all(at);
  EXPECT_EQ(get<float>(at, 1)[0], static_cast<float>(kAll));
  EXPECT_EQ(get<double>(at + 8, 1)[0], static_cast<double>(kAll));
  EXPECT_EQ(get<std::uint32_t>(at + 16, 1)[0], 0x64006400u) << "1024, twice";
  const auto halves = get<std::uint16_t>(at + 24, 2);
  EXPECT_EQ(halves[0], kAll / 2);
  EXPECT_EQ(halves[1], kAll / 2);
}

TEST_P(WorkersTest, AtomicsOfVectors) {
  load(worker_kernel(".reg .f32 %f<8>; mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;\n"
                     "red.global.add.v2.f32 [%x0], {%f1, %f2};\n"
                     "red.relaxed.gpu.global.add.v4.f32 [%x0+16], {%f1, %f2, %f1, %f2};\n"
                     "atom.global.add.v2.f32 {%f3, %f4}, [%x0+32], {%f1, %f1};\n"
                     "cvt.rzi.u32.f32 %r4, %f3; cvt.u64.u32 %x4, %r4;\n"
                     "red.global.add.u64 [%x0+40], %x4;\n"
                     "setp.lt.u32 %p1, %r0, 16; mov.b32 %r5, 0x3C003C00;\n"
                     "@%p1 red.global.add.noftz.v2.f16x2 [%x0+48], {%r5, %r5};"));
  const std::uint64_t at = put(std::vector<std::uint64_t>(8));
  run_all(at);
  const float one = kAll, two = 2 * kAll;
  const auto floats = get<float>(at, 10);
  EXPECT_EQ(floats, (std::vector<float>{one, two, 0, 0, one, two, one, two, one, one}));
  EXPECT_EQ(get<std::uint64_t>(at + 40, 1)[0], std::uint64_t{kAll} * (kAll - 1) / 2);
  EXPECT_EQ(get<std::uint64_t>(at + 48, 1)[0], 0x6400640064006400u);
}

TEST_P(WorkersTest, VectorsAreAlignedAsAWhole) {
  load(worker_kernel(".reg .f32 %f<8>; mov.f32 %f1, 0f3F800000;\n"
                     "red.global.add.v2.f32 [%x0+4], {%f1, %f1};"));
  const std::uint64_t at = put(std::vector<std::uint64_t>(2));
  run({1}, {1}, {at, 0});
  EXPECT_EQ(only().kind, ReportKind::kMisaligned);
  EXPECT_EQ(only().bytes, 8u);
  EXPECT_EQ(get<std::uint64_t>(at, 2), (std::vector<std::uint64_t>{0, 0}));
}

TEST_P(WorkersTest, ExchangesLoseNothing) {
  load(worker_kernel("add.u32 %r4, %r3, 1; atom.global.exch.b32 %r5, [%x0], %r4;\n"
                     "cvt.u64.u32 %x4, %r5; red.global.add.u64 [%x0+8], %x4;\n"
                     "ld.volatile.global.u32 %r6, [%x0+16]; A: add.u32 %r7, %r6, 3;\n"
                     "atom.global.cas.b32 %r8, [%x0+16], %r6, %r7; setp.ne.u32 %p1, %r8, %r6;\n"
                     "mov.u32 %r6, %r8; @%p1 bra A;"));
  const std::uint64_t at = put(std::vector<std::uint64_t>(3));
  run_all(at);
  const auto cells = get<std::uint64_t>(at, 3);
  EXPECT_EQ(cells[0] + cells[1], std::uint64_t{kAll} * (kAll + 1) / 2);
  EXPECT_EQ(cells[2], 3u * kAll);
}

// Four blocks write the bytes of each word, two its halves: no block may undo what others did, to
// the bytes or to what is known of them.
TEST_P(WorkersTest, NeighboursInAWord) {
  for (int round = 0; round < 20; ++round) {
    load(
      worker_kernel("mad.lo.u32 %r4, %r0, %r2, %r1; cvt.u64.u32 %x4, %r4; add.u64 %x5, %x0, %x4;\n"
                    "st.global.u8 [%x5], %r1; mad.lo.u64 %x6, %x4, 2, %x1;\n"
                    "cvt.u16.u32 %h1, %r4; st.global.u16 [%x6], %h1;"));
    const std::uint64_t bytes = allocate(kAll), halves = allocate(2 * kAll);
    run_all(bytes, halves);
    EXPECT_EQ(memory_.first_uninitialized(bytes, kAll), bytes + kAll);
    EXPECT_EQ(memory_.first_uninitialized(halves, 2 * kAll), halves + 2 * kAll);
    const auto written = get<std::uint8_t>(bytes, kAll);
    for (std::uint32_t i = 0; i < kAll; ++i) ASSERT_EQ(written[i], i % kBlocks);
    const auto words = get<std::uint16_t>(halves, kAll);
    for (std::uint32_t i = 0; i < kAll; ++i) ASSERT_EQ(words[i], static_cast<std::uint16_t>(i));
  }
}

TEST_P(WorkersTest, ALockBetweenBlocks) {
  load(worker_kernel("setp.ne.u32 %p0, %r0, 0; @%p0 ret;\n"
                     "A: atom.global.cas.b32 %r4, [%x0], 0, 1; setp.ne.u32 %p1, %r4, 0;\n"
                     "@%p1 bra A; membar.gl; ld.global.u32 %r5, [%x0+4]; add.u32 %r5, %r5, 1;\n"
                     "st.global.u32 [%x0+4], %r5; membar.gl; atom.global.exch.b32 %r6, [%x0], 0;"));
  const std::uint64_t at = put(std::vector<std::uint32_t>(2));
  run_all(at);
  EXPECT_EQ(get<std::uint32_t>(at, 2)[1], kBlocks);
}

// Each block waits for the one before it, as scans that look back do.
TEST_P(WorkersTest, BlocksThatLookBack) {
  load(worker_kernel("mul.wide.u32 %x4, %r1, 8; add.u64 %x5, %x0, %x4; mov.u32 %r5, 0;\n"
                     "setp.eq.u32 %p1, %r1, 0; @%p1 bra B;\n"
                     "A: ld.acquire.gpu.global.u32 %r4, [%x5+-4]; setp.eq.u32 %p2, %r4, 0;\n"
                     "@%p2 bra A; ld.global.u32 %r5, [%x5+-8]; B: bar.sync 0;\n"
                     "setp.ne.u32 %p3, %r0, 0; @%p3 bra C; add.u32 %r6, %r5, %r1;\n"
                     "st.global.u32 [%x5], %r6; mov.u32 %r7, 1;\n"
                     "st.release.gpu.global.u32 [%x5+4], %r7; C:"));
  const std::uint64_t at = put(std::vector<std::uint32_t>(2 * kBlocks));
  run_all(at);
  const auto sums = get<std::uint32_t>(at, 2 * kBlocks);
  for (std::uint32_t i = 0; i < kBlocks; ++i) EXPECT_EQ(sums[2 * i], i * (i + 1) / 2);
}

// Three rounds in which each block reads what its neighbour wrote in the round before.
TEST_P(WorkersTest, BlocksOfAGridMeet) {
  load(worker_kernel("mov.u32 %r4, %envreg1; mov.u32 %r5, %envreg2; mov.b64 %x4, {%r5, %r4};\n"
                     "mul.wide.u32 %x5, %r1, 4; add.u64 %x5, %x0, %x5; add.u32 %r6, %r1, 1;\n"
                     "rem.u32 %r6, %r6, %r2; mul.wide.u32 %x6, %r6, 4; add.u64 %x6, %x0, %x6;\n"
                     "mov.u32 %r7, 0; mov.u32 %r8, %r1;\n"
                     "L: add.u32 %r7, %r7, 1; st.global.u32 [%x5], %r8; membar.gl;\n"
                     "atom.add.u32 %r9, [%x4], 1; mad.lo.u32 %r10, %r7, 2, -1;\n"
                     "mul.lo.u32 %r11, %r10, %r2;\n"
                     "A: ld.volatile.u32 %r12, [%x4]; setp.lt.u32 %p1, %r12, %r11; @%p1 bra A;\n"
                     "ld.global.u32 %r8, [%x6]; membar.gl; atom.add.u32 %r9, [%x4], 1;\n"
                     "add.u32 %r11, %r11, %r2;\n"
                     "B: ld.volatile.u32 %r12, [%x4]; setp.lt.u32 %p1, %r12, %r11; @%p1 bra B;\n"
                     "setp.lt.u32 %p2, %r7, 3; @%p2 bra L; st.global.u32 [%x5], %r8;"));
  cooperative_ = true;
  const std::uint64_t at = put(std::vector<std::uint32_t>(40));
  const Outcome outcome = run({40}, {1}, {at, 0});
  EXPECT_EQ(outcome.end, End::kDone) << outcome.reason;
  expect_no_reports();
  const auto values = get<std::uint32_t>(at, 40);
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(values[i], (i + 3) % 40);
}

TEST_P(WorkersTest, TheHeapAndItsEvents) {
  heap_ = DeviceHeap::create(memory_, kDeviceBase + (32 << 20), 1 << 20);
  load(
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n" +
    worker_kernel(
      "and.b32 %r4, %r0, 63; add.u32 %r4, %r4, 5; cvt.u64.u32 %x4, %r4;\n"
      "{ .param .b64 n; .param .b64 r; st.param.b64 [n], %x4; call.uni (r), malloc, (n);\n"
      "ld.param.b64 %x5, [r]; } st.u8 [%x5], %r0; st.u8 [%x5+4], %r1;\n"
      "ld.u8 %r5, [%x5]; and.b32 %r6, %r3, 1; setp.eq.u32 %p1, %r6, 1; @%p1 bra A;\n"
      "{ .param .b64 a; st.param.b64 [a], %x5; call.uni free, (a); }\n"
      "A: mul.wide.u32 %x6, %r3, 4; add.u64 %x6, %x6, %x0; st.global.u32 [%x6], %r5;"));
  const std::uint64_t out = put(std::vector<std::uint32_t>(kAll));
  OneThread observer;
  run_with(observer, {kBlocks}, {kThreads}, {out, 0});
  EXPECT_TRUE(observer.is_right);
  std::map<std::uint64_t, std::uint64_t> alive;
  std::uint64_t bytes = 0;
  for (const HeapEvent& event : observer.heap_events) {
    if (event.kind == HeapEvent::Kind::kMalloc) {
      ASSERT_NE(event.address, 0u);
      ASSERT_TRUE(alive.emplace(event.address, event.bytes).second);
      bytes += event.bytes;
    } else {
      ASSERT_EQ(event.kind, HeapEvent::Kind::kFree);
      ASSERT_EQ(alive.count(event.address), 1u);
      ASSERT_EQ(alive[event.address], event.bytes);
      bytes -= event.bytes;
      alive.erase(event.address);
    }
    ASSERT_EQ(event.alive_bytes, bytes);
  }
  EXPECT_EQ(alive.size(), kAll / 2);
  EXPECT_EQ(heap_->alive_bytes(), bytes);
  const auto values = get<std::uint32_t>(out, kAll);
  for (std::uint32_t i = 0; i < kAll; ++i) ASSERT_EQ(values[i], i % kThreads);
  EXPECT_EQ(in_words(observer), "");
}

TEST_P(WorkersTest, LinesOfPrintedTextStayWhole) {
  load(".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
       ".global .align 1 .b8 form[4] = {37, 117, 10, 0};\n" +
       worker_kernel(".local .align 8 .b8 room[8]; mov.u64 %x4, room; cvta.local.u64 %x5, %x4;\n"
                     "st.local.u32 [%x4], %r3; mov.u64 %x8, form; cvta.global.u64 %x8, %x8;\n"
                     "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %x8;\n"
                     "st.param.b64 [a], %x5; call.uni (r), vprintf, (f, a); }"));
  OneThread observer;
  run_with(observer, {kBlocks}, {kThreads}, {0, 0});
  EXPECT_TRUE(observer.is_right);
  std::istringstream lines(observer.printed);
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; lines >> number;) numbers.push_back(number);
  ASSERT_EQ(numbers.size(), kAll);
  for (std::uint32_t i = 0; i < kAll; ++i)
    ASSERT_EQ(numbers[i], numbers[i / 32 * 32] + i % 32) << "a warp's lines come together";
  std::sort(numbers.begin(), numbers.end());
  for (std::uint32_t i = 0; i < kAll; ++i) ASSERT_EQ(numbers[i], i);
}

} // namespace
} // namespace gmt::executor
