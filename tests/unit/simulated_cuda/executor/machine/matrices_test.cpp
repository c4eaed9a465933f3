// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix and mma: what they move, and which of their accesses are reported.
#include "tests/unit/simulated_cuda/executor/support/tracking_runner.h"

#include <numeric>

namespace gmt::executor {
namespace {

// `tile` has 256 elements of 16 bits, 512 bytes: of four matrices a row each 16 bytes. %r1 is the
// address of a lane's row, %x2 that of its word of p, %x3 that of its word of q.
class Matrices : public TrackingRunner {
protected:
  static std::string kernel(const std::string& statements) {
    return ".shared .align 128 .b8 tile[1024];\n"
           ".visible .entry k(.param .u64 p, .param .u64 q) { .reg .pred %p<4>;\n"
           ".reg .b32 %r<32>; .reg .b64 %x<8>; ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q];\n"
           "mov.u32 %r0, %laneid; mov.u32 %r2, tile; mad.lo.u32 %r1, %r0, 16, %r2;\n"
           "mul.wide.u32 %x4, %r0, 4; add.u64 %x2, %x0, %x4; add.u64 %x3, %x1, %x4;\n" +
           statements + "ret; }\n";
  }
  // Four words of each lane from p into the tile, word by word.
  static std::string fill() {
    std::string text;
    for (int i = 0; i < 4; ++i) {
      const std::string at = std::to_string(128 * i);
      text += "ld.global.b32 %r3, [%x2+" + at +
              "]; mad.lo.u32 %r4, %r0, 4, %r2;\n"
              "st.shared.b32 [%r4+" +
              at + "], %r3;\n";
    }
    return text + "bar.warp.sync 0xffffffff;\n";
  }
  static std::string give(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text +=
        "st.global.b32 [%x3+" + std::to_string(128 * i) + "], %r" + std::to_string(10 + i) + ";\n";
    return text;
  }
  // Element e of the tile is e.
  std::vector<std::uint16_t> run_on_numbers(const std::string& statements) {
    recorder_.reports.clear();
    load(kernel(statements));
    std::vector<std::uint16_t> numbers(256);
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{0});
    const std::uint64_t a = put(numbers), b = allocate(512);
    memory_.mark_initialized(b, 512);
    EXPECT_EQ(run({1}, {32}, {a, b}).end, End::kDone);
    return get<std::uint16_t>(b, 256);
  }
  std::size_t count_of(ReportKind kind) const {
    std::size_t count = 0;
    for (const Report& report : recorder_.reports) count += report.kind == kind ? 1 : 0;
    return count;
  }
  static constexpr const char* kLoad =
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r1];\n";
};

TEST_P(Matrices, AreLoadedAsFragments) {
  const auto plain = run_on_numbers(fill() + kLoad + give(4));
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(plain[i], i);
  const auto turned = run_on_numbers(
    fill() +
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r10, %r11, %r12, %r13}, [%r1];\n" +
    give(4));
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(turned[i], i / 64 * 64 + i % 8 * 8 + i / 8 % 8);
  expect_no_reports();
}

// Only the addresses of the first 8 or 16 lanes count.
TEST_P(Matrices, OfFewerRowsNeedFewerAddresses) {
  const std::string others = "setp.gt.u32 %p0, %r0, 15; @%p0 mov.u32 %r1, 7;\n";
  const auto two = run_on_numbers(
    fill() + others + "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r1];\n" + give(2));
  for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(two[i], i);
  const auto one = run_on_numbers(
    fill() + others + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r1+128];\n" + give(1));
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(one[i], 64 + i);
  expect_no_reports();
}

TEST_P(Matrices, AreStoredAndTurned) {
  const auto back = run_on_numbers(
    fill() + kLoad +
    "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r10;\n"
    "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r1+512], {%r10, %r11, %r12, %r13};\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r1+512];\n" +
    give(4));
  for (std::uint32_t i = 0; i < 256; ++i)
    ASSERT_EQ(back[i], i < 64 ? i : i / 64 * 64 + i % 8 * 8 + i / 8 % 8);
  expect_no_reports();
}

TEST_P(Matrices, OnGuardedAndDividedWarpsMeet) {
  const auto out = run_on_numbers(
    fill() +
    "setp.lt.u32 %p0, %r0, 7; @%p0 bra A; mov.u32 %r9, 1; bra B; A: mov.u32 %r9, 2;\n"
    "B: setp.ne.u32 %p1, %r9, 0; @%p1 " +
    kLoad + give(4));
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(out[i], i);
  expect_no_reports();
}

TEST_P(Matrices, RowsBesideTheirAlignmentAreReported) {
  run_on_numbers(fill() + "add.u32 %r1, %r1, 8;\n" + kLoad + give(4));
  EXPECT_NE(count_of(ReportKind::kMisaligned), 0u) << "a row begins at a multiple of 16";
  run_on_numbers(fill() + "add.u32 %r1, %r1, 528;\n" + kLoad + give(4));
  EXPECT_EQ(count_of(ReportKind::kOutOfBounds), 1u)
    << "lane 31's row ends behind the block's memory";
}

// A row that nothing wrote spoils its row of D alone.
TEST_P(Matrices, UnwrittenRowsSpoilTheirRowsAlone) {
  const std::string load_product =
    "setp.ne.u32 %p0, %r0, 5; @%p0 st.shared.v4.b32 [%r1], {%r0, %r0, %r0, %r0};\n"
    "bar.warp.sync 0xffffffff;\n" +
    std::string(kLoad) +
    "mov.b32 %r20, 0; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13},\n"
    "{%r10, %r11, %r12, %r13}, {%r20, %r20}, {%r20, %r20, %r20, %r20};\n";
  run_on_numbers(load_product + "and.b32 %r21, %r0, 28; setp.ne.u32 %p1, %r21, 20;\n" // row 5
                                "@%p1 st.global.b32 [%x3], %r10; st.global.b32 [%x3+128], %r12;\n");
  expect_no_reports();
  run_on_numbers(load_product + give(1));
  EXPECT_NE(count_of(ReportKind::kUninitializedRead), 0u);
}

TEST_P(Matrices, RowsOfAnotherWarpNeedABarrier) {
  const std::string crossed = "mov.u32 %r0, %tid.x; mad.lo.u32 %r1, %r0, 16, %r2;\n"
                              "st.shared.v4.b32 [%r1], {%r0, %r0, %r0, %r0};\n";
  const std::string other = "xor.b32 %r1, %r0, 32; mad.lo.u32 %r1, %r1, 16, %r2;\n";
  for (const bool has_barrier : {false, true}) {
    recorder_.reports.clear();
    load(kernel(crossed + (has_barrier ? "bar.sync 0;\n" : "") + other + kLoad));
    EXPECT_EQ(run({1}, {64}, {put(std::vector<std::uint32_t>(64)), allocate(256)}).end, End::kDone);
    EXPECT_EQ(count_of(ReportKind::kSharedRace) == 0, has_barrier);
  }
}

// ptxas takes none of these.
TEST_P(Matrices, FragmentsOfAnotherSizeAreNotExecuted) {
  std::string many = "{%r10";
  for (int i = 1; i < 32; ++i) many += ", %r10";
  many += "}";
  const std::string four = "{%r10, %r11, %r12, %r13}", two = "{%r10, %r11}";
  const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  for (const std::string& statement :
       {mma + four + ", " + many + ", " + two + ", " + four,
        mma + four + ", " + four + ", " + many + ", " + four,
        mma + four + ", " + four + ", " + two + ", " + many,
        "wmma.load.a.sync.aligned.row.m16n16k1.f16 " + four + ", [%x0]",
        "wmma.load.a.sync.aligned.row.m16n16k16.b128 " + four + ", [%x0]"}) {
    load(kernel(statement + ";\n"));
    EXPECT_EQ(run({1}, {32}, {allocate(512), allocate(512)}).end, End::kSkipped) << statement;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Matrices, testing::Values(Checks::kDefault, Checks::kFull));

} // namespace
} // namespace gmt::executor
