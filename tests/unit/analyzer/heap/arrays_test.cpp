// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: copies past their extents, of freed ones, inside one, and out of what nothing wrote;
// levels too.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;
using trace::UseClass;

constexpr std::uint64_t kArray = 0x55550000, kOther = 0x55560000, kMipmapped = 0x55570000;
constexpr std::uint64_t kLevel = 0x55580000; // of level 0; others follow

class Arrays : public AnalysisTest {
protected:
  Arrays() {
    expect_only(
      {"api-error", "copy-out-of-bounds", "copy-overlap", "uninitialized-read", "use-after-free"});
  }
  struct Shape {
    std::uint64_t width, height = 0, depth = 0, element = 4, flags = 0;
  };
  void make(std::uint64_t handle, Shape s, MemoryKind memory_kind = MemoryKind::kArray,
            std::uint64_t bytes = 1 << 20, const char* via = "cudaMallocArray") {
    log().alloc(
      {.api = memory_kind == MemoryKind::kArray ? "cuArray3DCreate_v2" : "cuMipmappedArrayCreate",
       .via = via,
       .stack = {0x100}},
      memory_kind, handle, bytes, 0, {0, s.width, s.height, s.depth, s.element, 0, s.flags});
  }
  void destroy(std::uint64_t handle) {
    log().release({.api = "cuArrayDestroy", .via = "cudaFreeArray", .stack = {0x200}},
                  FreeFunction::kArrayDestroy, handle);
  }
  void level(std::uint64_t number) {
    log().record({.api = "cuMipmappedArrayGetLevel"}, Made<trace::LifeFields>()
                                                        .handle(kLevel + number)
                                                        .object(ObjectClass::kArrayView)
                                                        .op(LifeOp::kCreate)
                                                        .extra(kMipmapped)
                                                        .value(number));
  }
  struct Position {
    std::uint64_t handle, x = 0, y = 0, z = 0;
  };
  struct Extent {
    std::uint64_t width, height = 1, depth = 1;
  };
  void copy(Position to, Side to_side, Position from, Side from_side, Extent e, std::uint16_t code,
            std::uint64_t stack, std::uint16_t flags = 0) {
    log().record(
      {.api = "cuMemcpy3D_v2",
       .via = "cudaMemcpy2DToArray",
       .result = code,
       .stack = {stack},
       .flags = static_cast<std::uint16_t>(trace::copy_flags(to_side, from_side, false) | flags)},
      Made<trace::CopyFields>()
        .destination(to.handle)
        .source(from.handle)
        .bytes(e.width * e.height * e.depth)
        .destination_pitch(e.width)
        .source_pitch(e.width)
        .width(e.width)
        .height(e.height)
        .depth(e.depth)
        .destination_rows(e.height)
        .source_rows(e.height)
        .destination_x(to.x)
        .destination_y(to.y)
        .destination_z(to.z)
        .source_x(from.x)
        .source_y(from.y)
        .source_z(from.z));
  }
  void write(Position to, Extent e, std::uint16_t code = 0, std::uint64_t stack = 0x300) {
    copy(to, Side::kArray, {kHost}, Side::kHost, e, code, stack);
  }
  void read(Position from, Extent e, std::uint16_t code = 0, std::uint64_t stack = 0x310) {
    copy({kHost}, Side::kHost, from, Side::kArray, e, code, stack);
  }
  void move(Position to, Position from, Extent e) {
    copy(to, Side::kArray, from, Side::kArray, e, 0, 0x320);
  }
  void bind(UseClass use, std::uint64_t handle, std::uint16_t code = 0) {
    log().record({.api = "cuSurfObjectCreate", .via = "cudaCreateSurfaceObject", .result = code},
                 Made<trace::UseFields>().address(handle).use(use));
  }
};

TEST_F(Arrays, CopiesThatFit) {
  make(kArray, {256, 64});
  write({kArray}, {256, 64});
  write({kArray, 252, 63}, {4});
  read({kArray, 0, 32}, {256, 32});
  make(kOther, {256}); // one row
  write({kOther, 128}, {128});
  destroy(kArray);
  destroy(kOther);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Arrays, PastTheExtent) {
  make(kArray, {256, 64});
  write({kArray, 0, 60}, {256, 8}, 1, 0x301);
  write({kArray, 4}, {256, 64}, 1, 0x302);
  read({kArray, 0, 0, 1}, {256, 64}, 1, 0x303);
  destroy(kArray);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds copy-out-of-bounds");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy2DToArray writes 8 rows of 256 bytes at row 60, past the extent of its destination: an "
    "array of 64 rows of 256 bytes allocated by cudaMallocArray.");
  EXPECT_EQ(f.bytes, 4 * 256u);
  EXPECT_EQ(labels(f), "copied here|allocated here");
  EXPECT_EQ(result.findings[1].bytes, 64 * 4u);
  EXPECT_NE(result.findings[2].message.find(
              "reads 64 rows of 256 bytes at slice 1, past the extent of its source"),
            std::string::npos);
}

TEST_F(Arrays, PastTheExtentOfALevel) {
  make(kMipmapped, {256, 64, 0, 4}, MemoryKind::kMipmappedArray);
  for (const std::uint64_t number : {0u, 2u, 5u}) level(number);
  write({kLevel}, {256, 64});
  write({kLevel + 2}, {64, 16});
  write({kLevel + 5}, {8, 2});
  run();
  EXPECT_EQ(find("copy-out-of-bounds"), nullptr);
  write({kLevel + 2}, {64, 17}, 1);
  run();
  ASSERT_NE(find("copy-out-of-bounds"), nullptr);
  EXPECT_EQ(
    find("copy-out-of-bounds")->message,
    "cudaMemcpy2DToArray writes 17 rows of 64 bytes, past the extent of its destination: level 2 (16 rows of "
    "64 bytes) of a mipmapped array allocated by cudaMallocArray.");
  EXPECT_EQ(find("copy-out-of-bounds")->bytes, 64u);
}

TEST_F(Arrays, LayersDoNotShrink) {
  constexpr std::uint64_t kLayered = 1;
  make(kMipmapped, {256, 64, 5, 4, kLayered}, MemoryKind::kMipmappedArray);
  level(1);
  write({kLevel + 1, 0, 0, 4}, {128, 32});
  write({kLevel + 1, 0, 0, 5}, {128, 32}, 1);
  make(kArray, {256, 0, 3, 4, kLayered}); // of rows
  write({kArray, 0, 0, 2}, {256});
  run();
  ASSERT_NE(find("copy-out-of-bounds"), nullptr);
  EXPECT_EQ(find("copy-out-of-bounds")->count, 1u);
}

// Formats that are not made of elements, a level whose number was not recorded, a run of bytes over
// several rows.
TEST_F(Arrays, WhatIsNotKnownIsNotChecked) {
  make(kArray, {0, 64, 0, 0});
  write({kArray}, {5000, 64}, 1);
  make(kMipmapped, {256, 64}, MemoryKind::kMipmappedArray);
  log().record({.api = "cuMipmappedArrayGetLevel"}, Made<trace::LifeFields>()
                                                      .handle(kLevel)
                                                      .object(ObjectClass::kArrayView)
                                                      .op(LifeOp::kCreate)
                                                      .extra(kMipmapped));
  write({kLevel}, {5000, 64}, 1);
  make(kOther, {256, 64});
  copy({kOther}, Side::kArray, {kHost}, Side::kHost, {256 * 64}, 1, 0x304,
       trace::kFlagRuntime); // cudaMemcpyToArray
  write({kOther}, {512});
  run();
  EXPECT_EQ(find("copy-out-of-bounds"), nullptr);
  copy({kOther, 0, 63}, Side::kArray, {kHost}, Side::kHost, {512}, 1, 0x304, trace::kFlagRuntime);
  run();
  EXPECT_NE(find("copy-out-of-bounds"), nullptr);
}

TEST_F(Arrays, UseAfterFree) {
  make(kArray, {256, 64});
  destroy(kArray);
  write({kArray}, {256, 64}, 400);
  bind(UseClass::kSurface, kArray, 400);
  run();
  ASSERT_EQ(kinds(), "use-after-free use-after-free");
  EXPECT_EQ(
    find("use-after-free")->message,
    "cudaMemcpy2DToArray writes 16.0 KiB to 0x55550000, memory that was already freed: 1.0 MiB of CUDA array "
    "memory allocated by cudaMallocArray.");
  EXPECT_EQ(labels(*find("use-after-free")), "copied here|freed here|allocated here");
}

TEST_F(Arrays, LevelOfAFreedArray) {
  make(kMipmapped, {256, 64}, MemoryKind::kMipmappedArray);
  level(1);
  log().release({.api = "cuMipmappedArrayDestroy"}, FreeFunction::kMipmappedArrayDestroy,
                kMipmapped);
  read({kLevel + 1}, {128, 32}, trace::kResultInFlight);
  run();
  EXPECT_NE(find("use-after-free"), nullptr);
}

// The driver may have given the handle to an array that we did not see.
TEST_F(Arrays, WhatCudaAcceptedIsAnotherArray) {
  make(kArray, {256, 64});
  destroy(kArray);
  write({kArray}, {256, 64});
  bind(UseClass::kTexture, kArray);
  make(kArray, {256, 64});
  write({kArray}, {256, 64}, 1); // alive again
  destroy(kArray);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Arrays, Overlap) {
  make(kArray, {256, 64});
  make(kOther, {256, 64});
  write({kArray}, {256, 64});
  move({kOther}, {kArray}, {256, 64});
  move({kArray}, {kArray, 0, 32}, {256, 32});
  move({kArray, 128}, {kArray}, {128, 64});
  EXPECT_TRUE(run().findings.empty());
  move({kArray}, {kArray, 16, 8}, {128, 32});
  destroy(kArray);
  destroy(kOther);
  run();
  ASSERT_EQ(kinds(), "copy-overlap");
  const ReportedFinding& f = *find("copy-overlap");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy2DToArray copies 32 rows of 128 bytes inside one array, from byte 16 of row 8 to "
    "byte 0 of row 0, and these overlap: what arrives is undefined.");
  EXPECT_EQ(labels(f), "copied here|allocated here");
}

TEST_F(Arrays, CopyOfAPartOntoItselfIsANote) {
  make(kArray, {256, 64, 4}, MemoryKind::kArray, 256 * 64 * 4);
  move({kArray, 16, 8}, {kArray, 16, 8}, {128, 32});
  copy({kArray, 0, 0, 2}, Side::kArray, {kArray, 0, 0, 2}, Side::kArray, {128, 1}, 0, 0x777);
  run();
  ASSERT_NE(find("copy-overlap"), nullptr);
  EXPECT_EQ(
    find("copy-overlap")->message,
    "cudaMemcpy2DToArray copies 32 rows of 128 bytes byte 16 of row 8 of an array onto themselves.");
  EXPECT_EQ(
    result.findings[1].message,
    "cudaMemcpy2DToArray copies 128 bytes byte 0 of row 0 in slice 2 of an array onto themselves.");
}

TEST_F(Arrays, OverlapInALevelByTwoHandles) {
  make(kMipmapped, {256, 64}, MemoryKind::kMipmappedArray);
  level(1);
  level(2);
  log().record({.api = "cuMipmappedArrayGetLevel"}, Made<trace::LifeFields>()
                                                      .handle(kLevel + 9)
                                                      .object(ObjectClass::kArrayView)
                                                      .op(LifeOp::kCreate)
                                                      .extra(kMipmapped)
                                                      .value(1));
  write({kLevel + 1}, {128, 32});
  move({kLevel + 2}, {kLevel + 1}, {64, 16});
  run();
  EXPECT_EQ(find("copy-overlap"), nullptr);
  move({kLevel + 9}, {kLevel + 1, 0, 1}, {64, 16});
  run();
  EXPECT_NE(find("copy-overlap"), nullptr);
}

TEST_F(Arrays, ReadOfWhatNothingWrote) {
  make(kArray, {256, 64}, MemoryKind::kArray, 256 * 64);
  write({kArray}, {256, 32});
  read({kArray}, {256, 32});
  run();
  EXPECT_EQ(find("uninitialized-read"), nullptr);
  read({kArray, 0, 16}, {256, 32});
  read({kArray, 0, 16}, {256, 32}); // reported once
  destroy(kArray);
  run();
  ASSERT_EQ(kinds(), "uninitialized-read");
  const ReportedFinding& f = *find("uninitialized-read");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.bytes, 16 * 256u);
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(f.address, kArray);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy2DToArray reads 8,192 bytes of a block of 16.0 KiB of CUDA array memory allocated by "
    "cudaMallocArray, and nothing has written 4,096 of them: no copy, and no surface was made of "
    "it.");
}

TEST_F(Arrays, ReadOfALevelThatNothingWrote) {
  make(kMipmapped, {256, 64}, MemoryKind::kMipmappedArray);
  for (const std::uint64_t number : {0u, 1u}) level(number);
  write({kLevel}, {256, 64});
  read({kLevel}, {256, 64});
  run();
  EXPECT_EQ(find("uninitialized-read"), nullptr);
  read({kLevel + 1}, {128, 32});
  run();
  ASSERT_NE(find("uninitialized-read"), nullptr);
  EXPECT_EQ(find("uninitialized-read")->bytes, 128 * 32u);
}

TEST_F(Arrays, OthersMayHaveWrittenIt) {
  constexpr std::uint64_t kSparse = 0x40;
  make(kArray, {256, 64});
  bind(UseClass::kSurface, kArray);
  read({kArray}, {256, 64});
  make(kOther, {256, 64, 0, 4, kSparse});
  read({kOther}, {256, 64});
  make(kMipmapped, {256, 64}, MemoryKind::kMipmappedArray, 1 << 20,
       "cudaExternalMemoryGetMappedMipmappedArray");
  level(0);
  read({kLevel}, {256, 64});
  run();
  EXPECT_EQ(find("uninitialized-read"), nullptr);
}

TEST_F(Arrays, DamagedShapesDoNotOverflow) {
  constexpr std::uint64_t kHuge = UINT64_MAX;
  make(kArray, {kHuge, kHuge, kHuge, 1});
  write({kArray, kHuge, kHuge, kHuge}, {kHuge, kHuge, kHuge}, 1);
  make(kOther, {256, 64});
  write({kOther, kHuge, kHuge, kHuge}, {kHuge, kHuge, kHuge});
  read({kOther, kHuge, kHuge, kHuge}, {kHuge, kHuge, kHuge});
  run();
  EXPECT_NE(find("copy-out-of-bounds"), nullptr);
}

} // namespace
} // namespace gmt::test
