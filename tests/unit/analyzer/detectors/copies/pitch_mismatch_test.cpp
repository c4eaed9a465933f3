// SPDX-License-Identifier: Apache-2.0
// Pitches that do not fit the allocation, and rows wider than their pitch.

#include "tests/unit/analyzer/detectors/copies/pitch_fixture.h"

namespace gmt::test {
namespace {

TEST_F(Pitch, WidthGivenAsPitch) {
  malloc_pitch(kA, 512, 400, 64);
  copy_2d(kA, 400, kHost, 400, {400, 64});
  set_2d(kA, 400, 400, 64);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-mismatch pitch-mismatch");
  const ReportedFinding& f = *find("pitch-mismatch");
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy2D writes 64 rows of 400 bytes at a pitch of 400 in 32.0 KiB of pitched device memory "
    "allocated by cudaMallocPitch with a pitch of 512: all rows but the first are put in the wrong place.");
  EXPECT_EQ(f.advice, "Pass the pitch that cudaMallocPitch returned (512).");
  EXPECT_EQ(labels(f), "copied here|allocated here");
}

TEST_F(Pitch, WidthGivenAsThePitchOfTheSource) {
  malloc_pitch(kA, 512, 400, 64);
  copy_2d(kHost, 400, kA, 400, {400, 64}, Side::kHost, Side::kDevice);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-mismatch");
  const ReportedFinding& f = *find("pitch-mismatch");
  EXPECT_EQ(
    f.message,
    "cudaMemcpy2D reads 64 rows of 400 bytes at a pitch of 400 in 32.0 KiB of pitched device memory "
    "allocated by cudaMallocPitch with a pitch of 512: all rows but the first are taken from the wrong place.");
  EXPECT_EQ(f.advice, "Pass the pitch that cudaMallocPitch returned (512) as the source pitch.");
}

// I420: a plane of 64 rows, behind it two of 32 rows with half the pitch; also parts of these, and
// both at once.
TEST_F(Pitch, ChromaPlanes) {
  constexpr std::uint64_t kU = kA + 64 * 1024, kV = kU + 32 * 512;
  malloc_pitch(kA, 1024, 1000, 96);
  copy_2d(kA, 1024, kHost, 1000, {1000, 64});
  copy_2d(kU, 512, kHost, 500, {500, 32});
  copy_2d(kV, 512, kHost, 500, {500, 32});
  copy_2d(kV + 512 * 3 + 7, 512, kHost, 100, {100, 9});
  copy_2d(kHost, 500, kU, 512, {500, 64}, Side::kHost, Side::kDevice);
  set_2d(kU, 512, 500, 32);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Pitch, HalfThePitchAtTheBaseIsAMistake) {
  malloc_pitch(kA, 512, 256, 64);
  copy_2d(kA, 256, kHost, 256, {256, 64});
  copy_2d(kA + 512 * 8, 256, kHost, 256, {256, 48}); // no plane of this size is before it
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-mismatch");
  EXPECT_EQ(find("pitch-mismatch")->count, 2u);
}

TEST_F(Pitch, PitchesThatFit) {
  malloc_pitch(kA, 512, 400, 64);
  malloc_pitch(kB, 512, 400, 10, 20);
  copy_2d(kA, 512, kHost, 400, {400, 64});
  copy_2d(kA + 512, 1024, kHost, 400, {400, 32});         // every second row
  copy_2d(kA, 400, kHost, 400, {400, 1});                 // one row needs no pitch
  copy_2d(kB, 512, kHost, 400, {400, 10, 20, 10});        // by slices
  cuda_memcpy(kA + 512 * 3, kHost, 400);                  // one row, flat
  cuda_memcpy(kA + 512 * 3 + 8, kHost, 504);              // to the end of its padding
  log().set({.api = "cuMemsetD8_v2"}, kA, 512 * 64);      // whole pitches
  log().set({.api = "cuMemsetD8_v2"}, kA, 512 * 9 + 400); // and the last row's width
  log().copy({.api = "cuMemcpyDtoD_v2"}, kA + 4, kB + 4, 512 * 9, Side::kDevice, Side::kDevice);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Pitch, FlatCopyOverRows) {
  malloc_pitch(kA, 512, 400, 64);
  malloc_pitch(kB, 1024, 800, 32);
  set_2d(kA, 512, 400, 64);
  cuda_memcpy(kA, kHost, 400 * 64); // 50 whole pitches, as it happens
  // 512 bytes: whole
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset"}, kA, 400 * 64 - 512 * 49);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset"}, kA, 400 * 63);
  log().copy({.api = "cuMemcpyDtoD_v2"}, kB, kA, 512 * 64, Side::kDevice, Side::kDevice);
  cuda_free(kA);
  cuda_free(kB);
  run();
  ASSERT_EQ(kinds(), "pitch-mismatch pitch-mismatch");
  EXPECT_EQ(
    result.findings[0].message,
    "cudaMemcpy writes 25,600 bytes in one piece over the rows of 32.0 KiB of pitched device memory "
    "allocated "
    "by cudaMallocPitch (rows of 400 at a pitch of 512): the padding between rows is taken for data, so that "
    "all rows but the first are misplaced.");
  EXPECT_EQ(labels(result.findings[1]), "set here|allocated here");
}

TEST_F(Pitch, WidthLargerThanPitchIsExplained) {
  malloc_pitch(kA, 512, 400, 64);
  log().record({.api = "cudaMemcpy2D",
                .via = "cudaMemcpy2D",
                .result = 12,
                .flags = trace::kFlagRuntime | 0x200},
               Made<trace::CopyFields>()
                 .destination(kA)
                 .source(kHost)
                 .bytes(512 * 64)
                 .destination_pitch(512)
                 .source_pitch(400)
                 .width(512)
                 .height(64)
                 .depth(1)
                 .destination_rows(0)
                 .source_rows(0));
  copy_2d(kA, 512, kHost, 0, {400, 2}, Side::kDevice, Side::kHost, 1);
  set_2d(kA, 396, 400, 2, 1, 1);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-mismatch pitch-mismatch pitch-mismatch");
  EXPECT_EQ(
    result.findings[0].message,
    "cudaMemcpy2D asks for rows of 512 bytes at a source pitch of 400 bytes: a row cannot be wider than the "
    "way to the next, and CUDA refused the call.");
  EXPECT_EQ(labels(result.findings[0]), "failed here");
  EXPECT_EQ(labels(result.findings[2]), "failed here|allocated here");
  EXPECT_FALSE(is_not_checked("pitch-mismatch"));
}

TEST_F(Pitch, RefusedForAnotherReason) {
  malloc_pitch(kA, 512, 400, 64);
  copy_2d(kA, 512, kHost, 400, {400, 64}, Side::kDevice, Side::kHost, 1);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

// The static runtime refuses such a call where no hook sees it.
TEST_F(Pitch, StaticRuntimeIsNotChecked) {
  log().life({.api = "cuDevicePrimaryCtxRetain"}, 0, trace::ObjectClass::kPrimaryContext,
             trace::LifeOp::kRetain);
  log().alloc({.api = "cuMemAllocPitch_v2"}, MemoryKind::kPitched, kA, 512 * 64, 0,
              {512, 400, 64, 1, 4, 0, 0});
  log().record({.api = "cuMemsetD2D8_v2"}, Made<trace::SetFields>()
                                             .destination(kA)
                                             .bytes(400 * 64)
                                             .pitch(512)
                                             .width(400)
                                             .height(64)
                                             .element_bytes(1));
  log().release({.api = "cuMemFree_v2"}, FreeFunction::kMemFree, kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("pitch-mismatch", "statically linked"));
}

} // namespace
} // namespace gmt::test
