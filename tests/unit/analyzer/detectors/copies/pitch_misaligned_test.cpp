// SPDX-License-Identifier: Apache-2.0
// Rows off sectors and lines: costs by hand, kinds of memory, textures.

#include "tests/unit/analyzer/detectors/copies/pitch_fixture.h"

namespace gmt::test {
namespace {

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
  EXPECT_EQ(
    find("pitch-misaligned")->advice,
    "Give the texture the base that cudaMalloc or cudaMallocPitch returned, and add what lies "
    "before the part that is read to the coordinates of each fetch.");
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

} // namespace
} // namespace gmt::test
