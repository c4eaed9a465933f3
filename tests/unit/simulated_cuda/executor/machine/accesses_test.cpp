// SPDX-License-Identifier: Apache-2.0
// Which memory a launch used, as it says behind it: bytes, put together to rows.
#include "tests/unit/simulated_cuda/executor/support/global_race_runner.h"

namespace gmt::executor {
namespace {

class AccessesTest : public GlobalRaceRunner {
protected:
  // Four blocks of 64 threads over two arrays.
  Accesses of(const std::string& statements) {
    load_kernel(statements);
    a_ = put(std::vector<std::uint32_t>(4096));
    b_ = put(std::vector<std::uint32_t>(4096));
    const std::vector<std::uint64_t> parameters{a_, b_};
    Accesses accesses;
    Launch launch;
    launch.module = module_.get();
    launch.kernel = &module_->kernels()[0];
    launch.grid = {4};
    launch.block = {64};
    launch.parameters = std::as_bytes(std::span(parameters));
    launch.memory = &memory_;
    launch.accesses = &accesses;
    EXPECT_EQ(executor::run(launch, recorder_).end, End::kDone);
    EXPECT_TRUE(accesses.is_known);
    return accesses;
  }
  static void expect_rows(const UsedRows& rows, std::uint64_t address, std::uint64_t width,
                          std::uint64_t pitch, std::uint64_t count) {
    EXPECT_EQ(rows.address, address);
    EXPECT_EQ(rows.width, width);
    EXPECT_EQ(rows.count, count);
    if (count > 1) {
      EXPECT_EQ(rows.pitch, pitch);
    }
  }
  std::uint64_t a_ = 0, b_ = 0;
};

TEST_F(AccessesTest, LoadsOfMemoryThatIsNeverWrittenCount) {
  const Accesses accesses = of("ld.global.u32 %r5, [%x2]; st.global.u32 [%x3], %r5;");
  EXPECT_TRUE(accesses.is_whole);
  EXPECT_FALSE(accesses.may_wait);
  ASSERT_EQ(accesses.rows.size(), 2u);
  EXPECT_TRUE(accesses.rows[0].is_read);
  expect_rows(accesses.rows[0], a_, 1024, 0, 1);
  EXPECT_TRUE(accesses.rows[1].is_written);
  expect_rows(accesses.rows[1], b_, 1024, 0, 1);
}

TEST_F(AccessesTest, EveryOtherWordIsRows) {
  const Accesses accesses = of("mad.wide.u32 %x4, %r2, 8, %x0; st.global.u32 [%x4], %r0;");
  ASSERT_EQ(accesses.rows.size(), 1u);
  expect_rows(accesses.rows[0], a_, 4, 8, 256);
}

TEST_F(AccessesTest, BytesAreNoWords) {
  const Accesses accesses = of("@!%p0 bra E; mad.wide.u32 %x4, %r1, 256, %x0; cvt.u16.u32 %h0, %r1;"
                               "st.global.u8 [%x4 + 2], %h0;");
  ASSERT_EQ(accesses.rows.size(), 1u);
  expect_rows(accesses.rows[0], a_ + 2, 1, 256, 4);
}

TEST_F(AccessesTest, AtomicsAreStrongAndMayWait) {
  const Accesses accesses = of("red.global.add.u32 [%x0], 1; ld.volatile.global.u32 %r5, [%x1];");
  EXPECT_TRUE(accesses.may_wait);
  ASSERT_EQ(accesses.rows.size(), 2u);
  EXPECT_TRUE(accesses.rows[0].is_strong && accesses.rows[0].is_read);
  EXPECT_TRUE(accesses.rows[1].is_strong && accesses.rows[1].is_written);
  expect_rows(accesses.rows[1], a_, 4, 0, 1);
}

TEST_F(AccessesTest, ScatteredOnesAreNotWhole) {
  const Accesses accesses =
    of("mul.lo.u32 %r5, %r2, %r2; rem.u32 %r5, %r5, 4093; mad.wide.u32 %x4, %r5, 4, %x0;"
       "st.global.u32 [%x4], 1;");
  EXPECT_FALSE(accesses.is_whole);
  EXPECT_EQ(accesses.rows.size(), 16u);
}

TEST_F(AccessesTest, OfTheLaunchAlone) {
  of("st.global.u32 [%x2], %r0;");
  const std::uint64_t before = a_;
  const Accesses accesses = of("st.global.u32 [%x3], %r0;");
  ASSERT_EQ(accesses.rows.size(), 1u);
  EXPECT_EQ(accesses.rows[0].address, b_);
  EXPECT_NE(accesses.rows[0].address, before);
}

} // namespace
} // namespace gmt::executor
