// SPDX-License-Identifier: Apache-2.0
// Rows off sectors and lines: costs by hand, kinds of memory, textures; pitches that do not fit the
// allocation.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Pitch : public AnalysisTest {
protected:
  Pitch() { expect_only({"api-error", "pitch-misaligned", "pitch-mismatch"}); }
  struct Row {
    std::uint64_t width, height, depth = 1, slice = 0;
  };
  void copy_2d(std::uint64_t to, std::uint64_t to_pitch, std::uint64_t from,
               std::uint64_t from_pitch, Row rows, Side to_side = Side::kDevice,
               Side from_side = Side::kHost, std::uint16_t code = 0) {
    log().record({.api = "cuMemcpy2DUnaligned_v2",
                  .via = "cudaMemcpy2D",
                  .result = code,
                  .stack = {0x310},
                  .flags = trace::copy_flags(to_side, from_side, false)},
                 Made<trace::CopyFields>()
                   .destination(to)
                   .source(from)
                   .bytes(rows.width * rows.height * rows.depth)
                   .destination_pitch(to_pitch)
                   .source_pitch(from_pitch)
                   .width(rows.width)
                   .height(rows.height)
                   .depth(rows.depth)
                   .destination_rows(rows.slice)
                   .source_rows(rows.slice));
  }
  void set_2d(std::uint64_t to, std::uint64_t pitch, std::uint64_t width, std::uint64_t height,
              std::uint64_t element = 1, std::uint16_t code = 0) {
    log().record(
      {.api = "cuMemsetD2D8_v2", .via = "cudaMemset2D", .result = code, .stack = {0x320}},
      Made<trace::SetFields>()
        .destination(to)
        .bytes(width * height)
        .pitch(pitch)
        .width(width)
        .height(height)
        .element_bytes(element));
  }
  void malloc_pitch(std::uint64_t address, std::uint64_t pitch, std::uint64_t width,
                    std::uint64_t height, std::uint64_t depth = 1) {
    log().alloc({.api = "cuMemAllocPitch_v2", .via = "cudaMallocPitch", .stack = {0x120}},
                MemoryKind::kPitched, address, pitch * height * depth, 0,
                {pitch, width, height, depth, 4, 0, 0});
  }
  // P0 ordinal, bytes, texture alignment, texture pitch alignment, surface alignment, ...
  void h200() {
    log().context(1, 0xc0, 0, true);
    log().record({}, Made<trace::DeviceFields>()
                       .bytes(141ull << 30)
                       .texture_alignment(512)
                       .texture_pitch_alignment(32)
                       .surface_alignment(512)
                       .reads_pageable_memory(0)
                       .uses_host_page_tables(0)
                       .compute_capability(90)
                       .concurrent_managed(1)
                       .largest_pitch(0x7fffffff));
  }
};

// Rows start at 0 and 16 in turn modulo 32. At 16 the three whole requests of a row access 5
// sectors, not 4; the last one, 16 bytes, still accesses one: 3 extra in every other row.
TEST_F(Pitch, RowsOfAPlainAllocation) {
  h200();
  cuda_malloc(kA, 400 * 64);
  copy_2d(kA, 400, kHost, 400, {400, 64});
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-misaligned");
  const ReportedFinding& f = *find("pitch-misaligned");
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy2D writes 64 rows of 400 bytes at a pitch of 400 bytes in 25.0 KiB of device memory "
    "allocated by cudaMalloc: 56 of 64 rows (88 %) start off a 128-byte line, 32 inside a 32-byte "
    "sector, so that reading each row in full costs 96 extra sectors (3,072 bytes, 12 % more).");
  EXPECT_EQ(
    f.advice,
    "Allocate with cudaMallocPitch(&p, &pitch, 400, 64), which returns a pitch of 512 on this "
    "device, and use its pitch in every row address, copy and kernel.");
  EXPECT_EQ(f.bytes, 3072u);
  EXPECT_EQ(labels(f), "copied here|allocated here");
}

TEST_F(Pitch, OneFindingForAllCallsOfACallSite) {
  cuda_malloc(kA, 400 * 64);
  for (int i = 0; i < 3; ++i) copy_2d(kA, 400, kHost, 400, {400, 64});
  copy_2d(kHost, 400, kA, 400, {400, 64}, Side::kHost, Side::kDevice);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-misaligned pitch-misaligned");
  EXPECT_EQ(result.findings[0].count, 3u);
  EXPECT_EQ(result.findings[0].bytes, 3 * 3072u);
  EXPECT_NE(result.findings[1].message.find("cudaMemcpy2D reads 64 rows"), std::string::npos);
  EXPECT_NE(result.findings[0].advice.find("(&p, &pitch, 400, 64), which aligns every row"),
            std::string::npos);
}

TEST_F(Pitch, OffALineOnASectorIsANote) {
  cuda_malloc(kA, 416 * 10);
  copy_2d(kA, 416, kHost, 416, {416, 10});
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-misaligned");
  EXPECT_EQ(find("pitch-misaligned")->severity, Severity::kNote);
  EXPECT_NE(find("pitch-misaligned")
              ->message.find("7 of 10 rows (70 %) start off a 128-byte line, all on a "
                             "32-byte sector, so that reading each row in full costs no "
                             "extra sector."),
            std::string::npos);
}

TEST_F(Pitch, VolumesRepeatBySlices) {
  cuda_malloc(kA, 200 * 20 * 10);
  copy_2d(kA, 200, kHost, 200, {200, 20, 10, 20});
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-misaligned");
  // Starts modulo 32 repeat 0 8 16 24: 150 of 200 rows are off. Of their two requests the whole one
  // costs one more; the tail of 72 bytes accesses 3 sectors at 0, 8, 16 and 24 alike.
  EXPECT_EQ(find("pitch-misaligned")->bytes, 150 * 32u);
  EXPECT_NE(find("pitch-misaligned")->advice.find("cudaMalloc3D(&p, make_cudaExtent(200, 20, 10))"),
            std::string::npos);
}

TEST_F(Pitch, WhatNeedsNoAlignment) {
  cuda_malloc(kA, kMiB);
  cuda_malloc_host(kB, kMiB);
  malloc_pitch(kC, 512, 400, 64);
  set_2d(kC, 512, 400, 64);
  copy_2d(kA, 512, kHost, 400, {400, 64});                          // the host may have any pitch
  copy_2d(kA, 512, kB, 400, {400, 64});                             // pinned or not
  copy_2d(kB, 400, kC, 512, {400, 64}, Side::kHost, Side::kDevice); // rows of pitched memory
  copy_2d(kC + 4, 512, kHost, 100, {100, 63});                      // a part of them
  copy_2d(kA, 400, kHost, 400, {400, 1});                           // one row is no matrix
  copy_2d(kA, 4, kHost, 400, {4, 100});                             // a column becomes a vector
  copy_2d(kA, 400, kHost, 400, {400, 64}, Side::kDevice, Side::kHost, 1); // refused
  cuda_free(kA);
  log().release({.api = "cuMemFreeHost", .via = "cudaFreeHost"}, FreeFunction::kMemFreeHost, kB);
  cuda_free(kC);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Pitch, ElementThatDoesNotDivideThePitch) {
  cuda_malloc(kA, kMiB);
  set_2d(kA, 402, 400, 64, 4);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-misaligned");
  EXPECT_NE(find("pitch-misaligned")->message.find("elements of 4 bytes do not divide the pitch"),
            std::string::npos);
  EXPECT_EQ(labels(*find("pitch-misaligned")), "set here|allocated here");
}

TEST_F(Pitch, TextureOffItsAlignment) {
  h200();
  cuda_malloc(kA, 400 * 64);
  const auto texture = [this](std::uint64_t address, std::uint64_t pitch, std::uint16_t code) {
    log().record({.api = "cuTexObjectCreate", .via = "cudaCreateTextureObject", .result = code},
                 Made<trace::UseFields>()
                   .address(address)
                   .bytes(pitch * 64)
                   .use(trace::UseClass::kTexture)
                   .pitch(pitch)
                   .width(400)
                   .height(64)
                   .element_bytes(4));
  };
  texture(kA, 400, 1);
  texture(kA, 416, 0);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "pitch-misaligned");
  EXPECT_EQ(
    find("pitch-misaligned")->message,
    "cudaCreateTextureObject failed: a texture over 64 rows of 400 bytes at a pitch of 400 bytes in 25.0 "
    "KiB of device memory allocated by cudaMalloc needs a pitch that is a multiple of 32 bytes on this "
    "device, and 400 is 16 off.");
  EXPECT_EQ(labels(*find("pitch-misaligned")), "failed here|allocated here");
}

TEST_F(Pitch, TextureWhoseBaseIsOffItsAlignment) {
  h200();
  cuda_malloc(kA, 512 * 64);
  const auto message = [this](std::uint64_t pitch) {
    log().record(
      {.api = "cuTexObjectCreate", .via = "cudaCreateTextureObject", .result = 1, .stack = {pitch}},
      Made<trace::UseFields>()
        .address(kA + 4)
        .bytes(pitch * 32)
        .use(trace::UseClass::kTexture)
        .pitch(pitch)
        .width(400)
        .height(32)
        .element_bytes(4));
    const std::string& words = run().findings.back().message;
    return words.substr(words.find(" needs"));
  };
  EXPECT_EQ(
    message(416),
    " needs a base that is a multiple of 512 bytes on this device, and 0x7f32a0000004 is 4 off.");
  EXPECT_EQ(find("pitch-misaligned")->advice,
            "Give the texture a base that cudaMalloc or cudaMallocPitch returned.");
  EXPECT_EQ(
    message(400),
    " needs a pitch that is a multiple of 32 bytes on this device, and 400 is 16 off, and a base "
    "that is a multiple of 512 bytes, and 0x7f32a0000004 is 4 off.");
}

TEST_F(Pitch, TextureRefusedForAnotherReason) {
  h200();
  cuda_malloc(kA, 512 * 64);
  log().record({.api = "cuTexObjectCreate", .result = 1}, Made<trace::UseFields>()
                                                            .address(kA)
                                                            .bytes(512 * 64)
                                                            .use(trace::UseClass::kTexture)
                                                            .pitch(512)
                                                            .width(400)
                                                            .height(6400)
                                                            .element_bytes(4));
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

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
