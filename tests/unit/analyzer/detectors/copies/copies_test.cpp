// SPDX-License-Identifier: Apache-2.0
// Ranges of copies and sets: past the end by the byte, 2D and 3D extents, both sides, freed memory,
// host memory that may belong to others by now, mappings side by side.

#include "tests/unit/analyzer/detectors/copies/rows_fixture.h"

namespace gmt::test {
namespace {

class Copies : public RowsTest {
protected:
  Copies() {
    expect_only({"api-error", "copy-out-of-bounds", "unfinished-call", "use-after-free"});
  }
  void copy_2d(std::uint64_t to, std::uint64_t to_pitch, std::uint64_t from,
               std::uint64_t from_pitch, Rows rows) {
    copy_rows({.via = "cudaMemcpy2D",
               .result = 1,
               .flags = trace::copy_flags(Side::kDevice, Side::kHost, false)},
              to, to_pitch, from, from_pitch, rows);
  }
  void free_all_and_run() {
    for (const std::uint64_t address : {kA, kB, kC}) cuda_free(address);
    run();
  }
};

TEST_F(Copies, ExactFitIsClean) {
  cuda_malloc(kA, 1000);
  cuda_memcpy(kA, kHost, 1000);
  cuda_memcpy(kA + 999, kHost, 1);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(result.process.totals.copied_bytes, 1001u);
}

TEST_F(Copies, OneBytePastTheEnd) {
  cuda_malloc(kA, 1000);
  cuda_memcpy(kA, kHost, 1001, 1);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  const ReportedFinding& f = *find("copy-out-of-bounds");
  EXPECT_EQ(
    f.message,
    "cudaMemcpy writes 1 byte past the end of its destination: 1,001 bytes of a block of 1,000 "
    "bytes of device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(f), "copied here|allocated here");
  EXPECT_EQ(f.bytes, 1u);
}

TEST_F(Copies, CheckedWhateverCudaAnswers) {
  cuda_malloc(kA, 1000);
  cuda_memcpy(kA + 10, kHost, 1000, 0);
  cuda_memcpy(kA + 10, kHost, 1000, trace::kResultInFlight);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds unfinished-call");
  EXPECT_EQ(find("copy-out-of-bounds")->count, 2u);
  EXPECT_NE(find("copy-out-of-bounds")->message.find("at offset 10"), std::string::npos);
}

TEST_F(Copies, BothSidesAreChecked) {
  cuda_malloc(kA, 100);
  cuda_malloc(kB, 50);
  log().copy({.api = "cuMemcpyDtoD_v2", .result = 1}, kA, kB, 200, Side::kDevice, Side::kDevice);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds");
}

TEST_F(Copies, ExplainedFailureIsNoApiError) {
  cuda_malloc(kA, 100);
  cuda_memcpy(kA, kHost, 101, 1);
  cuda_memcpy(kA, kHost, 50, 1); // refused for a reason we do not see
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "copy-out-of-bounds api-error");
}

TEST_F(Copies, TwoDimensionalLastRowNeedsItsWidthOnly) {
  cuda_malloc(kA, 512 * 9 + 400);
  copy_2d(kA, 512, kHost, 400, {400, 10});
  cuda_free(kA);
  run();
  EXPECT_EQ(find("copy-out-of-bounds"), nullptr);
}

TEST_F(Copies, TwoDimensionalPastTheEnd) {
  cuda_malloc(kA, 512 * 9 + 399);
  copy_2d(kA, 512, kHost, 400, {400, 10});
  cuda_free(kA);
  run();
  ASSERT_NE(find("copy-out-of-bounds"), nullptr);
  EXPECT_EQ(find("copy-out-of-bounds")->bytes, 1u);
}

TEST_F(Copies, PastPitchTimesHeightOfPitchedMemory) {
  log().alloc({.api = "cuMemAllocPitch_v2", .via = "cudaMallocPitch"}, MemoryKind::kPitched, kA,
              512 * 4, 0, {512, 400, 4, 1, 4, 0, 0});
  copy_2d(kA, 512, kHost, 400, {512, 4}); // whole pitches: fine
  copy_2d(kA, 512, kHost, 400, {400, 5});
  cuda_free(kA);
  run();
  ASSERT_NE(find("copy-out-of-bounds"), nullptr);
  EXPECT_EQ(find("copy-out-of-bounds")->count, 1u);
  EXPECT_EQ(find("copy-out-of-bounds")->bytes, 400u);
  EXPECT_NE(find("copy-out-of-bounds")->message.find("2,048 bytes (4 rows at a pitch of 512)"),
            std::string::npos);
}

TEST_F(Copies, ThreeDimensionalBySlices) {
  cuda_malloc(kA, 512 * 6 * 2 + 512 * 3 + 400); // 3 slices of 6 rows, 4 rows copied of each
  copy_2d(kA, 512, kHost, 400, {400, 4, 3, 6});
  cuda_malloc(kB, 512 * 6 * 2 + 512 * 3 + 399);
  copy_2d(kB, 512, kHost, 400, {400, 4, 3, 6});
  cuda_free(kA);
  cuda_free(kB);
  run();
  ASSERT_NE(find("copy-out-of-bounds"), nullptr);
  EXPECT_EQ(find("copy-out-of-bounds")->count, 1u);
  EXPECT_EQ(find("copy-out-of-bounds")->bytes, 1u);
}

TEST_F(Copies, ArraysAreNotCheckedByAddress) {
  cuda_malloc(kA, 100);
  log().copy({.api = "cuMemcpy2D_v2"}, kA, kHost, 5000, Side::kArray, Side::kHost);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Copies, SetPastTheEnd) {
  cuda_malloc(kA, 100);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .result = 1}, kA, 200);
  log().record(
    {.api = "cuMemsetD2D8_v2", .via = "cudaMemset2D", .result = 1},
    Made<trace::SetFields>().destination(kA).bytes(100).pitch(64).width(50).height(2).element_bytes(
      1)); // 64 + 50 > 100
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds");
  EXPECT_EQ(result.findings[0].stacks[0].label, "set here");
  EXPECT_EQ(result.findings[1].bytes, 14u);
}

TEST_F(Copies, NullAndZeroBytesAreNotChecked) {
  cuda_memcpy(0, kHost, 100, 1);
  cuda_malloc(kA, 100);
  cuda_free(kA);
  cuda_memcpy(kA, kHost, 0);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Copies, UseAfterFree) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_memcpy(kA + 4096, kHost, 256, 1);
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  const ReportedFinding& f = *find("use-after-free");
  EXPECT_EQ(
    f.message,
    "cudaMemcpy writes 256 bytes to 0x7f32a0001000, 4,096 bytes into memory that was already "
    "freed: 1.0 MiB of device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(f), "copied here|freed here|allocated here");
}

TEST_F(Copies, ReallocatedMemoryIsNoUseAfterFree) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_malloc(kA + 4096, 4096);
  cuda_memcpy(kA + 5000, kHost, 256);
  cuda_free(kA + 4096);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Copies, TheRestOfAPartlyReallocatedBlockStaysFreed) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_malloc(kA, 4096);
  cuda_free(kA);
  cuda_memcpy(kA + 100, kHost, 16, 1);  // the newer one
  cuda_memcpy(kA + 8192, kHost, 16, 1); // the older one
  run();
  ASSERT_EQ(kinds(), "use-after-free"); // same stacks
  EXPECT_EQ(find("use-after-free")->count, 2u);
}

TEST_F(Copies, SetAndPrefetchOfFreedMemory) {
  log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync"}, MemoryKind::kStreamOrdered, kA,
              kMiB, 7);
  log().release({.api = "cuMemFreeAsync", .via = "cudaFreeAsync"}, FreeFunction::kMemFreeAsync, kA,
                0, 7);
  log().set({.api = "cuMemsetD8Async", .via = "cudaMemsetAsync", .result = 1}, kA, 100);
  log().record({.api = "cuTexRefSetAddress", .result = 1},
               Made<trace::UseFields>().address(kA).bytes(64).use(trace::UseClass::kTexture));
  run();
  EXPECT_EQ(kinds(), "use-after-free use-after-free");
  EXPECT_EQ(result.findings[0].stacks[0].label, "set here");
  EXPECT_EQ(result.findings[1].stacks[0].label, "called here");
}

// Once freed, host addresses may be malloc's again: a copy that CUDA accepted is fine.
TEST_F(Copies, FreedPinnedMemoryIsBlamedOnlyIfCudaRefused) {
  cuda_malloc(kA, kMiB);
  cuda_malloc_host(kB, 4096);
  log().release({.api = "cuMemFreeHost", .via = "cudaFreeHost"}, FreeFunction::kMemFreeHost, kB);
  cuda_memcpy(kA, kB, 256, 0);
  cuda_memcpy(kA, kB, 256, 1);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  EXPECT_EQ(find("use-after-free")->count, 1u);
}

TEST_F(Copies, UnregisteredMemoryIsOrdinaryMemory) {
  cuda_malloc(kA, kMiB);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kHost, 4096);
  log().release({.api = "cuMemHostUnregister"}, FreeFunction::kHostUnregister, kHost);
  cuda_memcpy(kA, kHost, 256, 0);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Copies, PinnedHostSideIsBounded) {
  cuda_malloc(kA, kMiB);
  cuda_malloc_host(kB, 4096);
  cuda_memcpy(kA, kB, 5000, 1);
  cuda_free(kA);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kB);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  EXPECT_NE(find("copy-out-of-bounds")->message.find("past the end of its source"),
            std::string::npos);
}

TEST_F(Copies, RegisteredRangeMayGoOnUnlessRefused) {
  cuda_malloc(kA, kMiB);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kHost, 4096);
  cuda_memcpy(kA, kHost, 5000, 0);
  run();
  EXPECT_EQ(find("copy-out-of-bounds"), nullptr);
  cuda_memcpy(kA, kHost, 5000, 1);
  run();
  EXPECT_NE(find("copy-out-of-bounds"), nullptr);
}

TEST_F(Copies, MappingsSideBySideAreOnePieceOfMemory) {
  log().alloc({.api = "cuMemAddressReserve"}, MemoryKind::kVmmReservation, kA, 16 * kMiB);
  log().alloc({.api = "cuMemMap"}, MemoryKind::kVmmMapping, kA, 2 * kMiB);
  log().alloc({.api = "cuMemMap"}, MemoryKind::kVmmMapping, kA + 2 * kMiB, 2 * kMiB);
  cuda_memcpy(kA + kMiB, kHost, 3 * kMiB);
  cuda_memcpy(kA + kMiB, kHost, 3 * kMiB + 1, 1);
  log().release({.api = "cuMemUnmap"}, FreeFunction::kMemUnmap, kA, 4 * kMiB);
  log().release({.api = "cuMemAddressFree"}, FreeFunction::kAddressFree, kA, 16 * kMiB);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  EXPECT_EQ(find("copy-out-of-bounds")->bytes, 1u);
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(Copies, LaunchArgumentsIntoFreedMemory) {
  cuda_malloc(kA, kMiB);
  cuda_malloc(kB, kMiB);
  cuda_free(kA);
  log().record({.api = "cuLaunchKernel", .via = "cudaLaunchKernel"},
               Made<trace::LaunchFields>().function(0xf).grid({1, 1, 1}).block({1, 1, 1}),
               {kB + 100, 12, kA + 8, 0, 0, 0});
  cuda_free(kB);
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  EXPECT_NE(find("use-after-free")
              ->message.find("a kernel passes in parameter 1 the pointer 0x7f32a0000008"),
            std::string::npos);
}

TEST_F(Copies, NotCheckedAfterAStickyError) {
  cuda_malloc(kA, 100);
  log().record({.api = "cuLaunchKernel", .result = 719},
               Made<trace::LaunchFields>().function(0xf).grid({1, 1, 1}).block({1, 1, 1}));
  cuda_memcpy(kA, kHost, 200, 719);
  cuda_memcpy(kA, kHost, 200, 1);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Copies, DamagedSizesDoNotOverflow) {
  cuda_malloc(kA, 100);
  cuda_memcpy(kA, kHost, UINT64_MAX, 1);
  copy_2d(kA, UINT64_MAX, kHost, UINT64_MAX, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX});
  free_all_and_run();
  EXPECT_NE(find("copy-out-of-bounds"), nullptr);
}

} // namespace
} // namespace gmt::test
