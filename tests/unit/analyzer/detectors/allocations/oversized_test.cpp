// SPDX-License-Identifier: Apache-2.0
// Large blocks that copies and sets used to a small part, and what only looks like one: blocks that
// something else may have used.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kKiB = 1024;

class Oversized : public AnalysisTest {
protected:
  void SetUp() override { expect_only({"oversized", "unused"}); }
  void read(std::uint64_t from, std::uint64_t bytes) {
    log().copy({.api = "cuMemcpyDtoH_v2", .via = "cudaMemcpy", .stack = {0x301}}, kHost, from,
               bytes, Side::kHost, Side::kDevice);
  }
  void write(std::uint64_t to, std::uint64_t bytes) { cuda_memcpy(to, kHost, bytes); }
  void launch(std::uint64_t pointer = 0, std::uint16_t flags = trace::kLaunchScanned) {
    log().record({.api = "cuLaunchKernel", .flags = flags},
                 Made<trace::LaunchFields>().function(0xf).grid({1, 1, 1}).block({1, 1, 1}),
                 {pointer == 0 ? 0 : trace::argument_word(pointer, 0)});
  }
  void use(std::uint64_t address, trace::UseClass what) {
    log().record({.api = "cuIpcGetMemHandle"}, Made<trace::UseFields>().address(address).use(what));
  }
  // A block of 4 MiB of which 64 KiB are written.
  void oversized_block(std::uint64_t from = 0x100) {
    cuda_malloc(kA, 4 * kMiB, from);
    write(kA, 64 * kKiB);
  }
};

TEST_F(Oversized, SaysHowMuchWasUsed) {
  oversized_block();
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "oversized");
  const ReportedFinding& f = *find("oversized");
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(f.message,
            "Only 64.0 KiB of 4.0 MiB of device memory allocated by cudaMalloc was ever used: "
            "copies and sets reached no more, and no texture or kernel was given a pointer into "
            "it.");
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(f.bytes, 4 * kMiB);
  EXPECT_EQ(labels(f), "allocated here");
}

TEST_F(Oversized, BlocksOfOneStackAreOneFinding) {
  oversized_block();
  cuda_free(kA);
  oversized_block();
  cuda_malloc(kB, 4 * kMiB); // alive at the end
  write(kB, 64 * kKiB);
  run();
  ASSERT_EQ(kinds(), "oversized");
  EXPECT_EQ(find("oversized")->count, 3u);
  EXPECT_TRUE(
    find("oversized")
      ->message.starts_with(
        "Only 192.0 KiB of 12.0 MiB of device memory in 3 blocks allocated by cudaMalloc"))
    << find("oversized")->message;
}

TEST_F(Oversized, AQuarterIsStillAFinding) {
  cuda_malloc(kA, kMiB);
  write(kA, kMiB / 4);
  run();
  EXPECT_EQ(kinds(), "oversized");
}

TEST_F(Oversized, MoreThanAQuarterIsNone) {
  cuda_malloc(kA, kMiB);
  write(kA, kMiB / 4 + 1);
  run();
  EXPECT_EQ(kinds(), "");
}

// The same bytes count once, wherever they lie.
TEST_F(Oversized, BytesCountOnce) {
  cuda_malloc(kA, kMiB);
  for (int i = 0; i < 3; ++i) write(kA, kMiB / 8);
  read(kA, kMiB / 8);
  log().set({.api = "cuMemsetD8_v2"}, kA + kMiB - kKiB, kKiB);
  run();
  ASSERT_EQ(kinds(), "oversized");
  EXPECT_TRUE(find("oversized")->message.starts_with("Only 129.0 KiB of 1.0 MiB"))
    << find("oversized")->message;
}

TEST_F(Oversized, PiecesFarApartAddUp) {
  cuda_malloc(kA, kMiB);
  for (std::uint64_t i = 0; i < 3; ++i) write(kA + i * kMiB / 4, kMiB / 8);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, SmallBlocksAreNotWorthIt) {
  cuda_malloc(kA, kMiB - 1);
  write(kA, 10);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, OfNoUseAtAllIsUnused) {
  cuda_malloc(kA, 4 * kMiB);
  run();
  EXPECT_EQ(kinds(), "unused");
}

TEST_F(Oversized, AKernelMayUseAllOfItsArgument) {
  oversized_block();
  launch(kA + kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, WhileKernelsRanIsANote) {
  oversized_block();
  launch();
  run();
  ASSERT_EQ(kinds(), "oversized");
  EXPECT_EQ(find("oversized")->severity, Severity::kNote);
}

// A kernel that found the block in memory wrote it.
TEST_F(Oversized, AResultThatNoCopyWroteMayFillTheBlock) {
  oversized_block();
  launch();
  read(kA + kMiB, kKiB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, OtherUsesMayReachAllOfIt) {
  for (const auto what :
       {trace::UseClass::kTexture, trace::UseClass::kExport, trace::UseClass::kAttach}) {
    oversized_block(0x100 + static_cast<std::uint64_t>(what));
    use(kA, what);
    cuda_free(kA);
  }
  oversized_block(0x180);
  cuda_memcpy(kA, kHost, 10, 1); // tried
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, UnreadLaunchesMayHaveUsedIt) {
  oversized_block();
  launch(0, 0);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, OtherKindsOfMemoryAreNotChecked) {
  std::uint64_t address = kA;
  for (const MemoryKind memory_kind :
       {MemoryKind::kManaged, MemoryKind::kPinned, MemoryKind::kVmmMapping, MemoryKind::kGraph}) {
    log().alloc({.api = "cuMemAllocManaged"}, memory_kind, address += 8 * kMiB, 4 * kMiB);
    write(address, 10);
  }
  run();
  EXPECT_EQ(kinds(), "");
}

// Buffers of one size that are filled as the work needs it.
TEST_F(Oversized, StacksWhoseOtherBlocksWereUsedFurtherAreLeftOut) {
  oversized_block();
  cuda_free(kA);
  cuda_malloc(kA, 4 * kMiB);
  write(kA, 3 * kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Oversized, LostRecordsMayBeUses) {
  oversized_block();
  cuda_free(kB); // of what was never seen allocated
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("oversized", "some calls were not seen"));
}

TEST_F(Oversized, ProgramsThatFailedAreNotChecked) {
  oversized_block();
  trace.complete = "how=exited\nstatus=3\nsignal=0\ncore=0\n";
  run();
  EXPECT_EQ(find("oversized"), nullptr);
}

} // namespace
} // namespace gmt::test
