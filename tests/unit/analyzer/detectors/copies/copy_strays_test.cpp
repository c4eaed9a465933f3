// SPDX-License-Identifier: Apache-2.0
// Copies and sets that begin in no memory: just before a block, at its end, behind it, and far from
// all.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Strays : public AnalysisTest {
protected:
  Strays() { expect_only({"api-error", "copy-out-of-bounds", "use-after-free"}); }
};

TEST_F(Strays, BeginsBeforeABlock) {
  cuda_malloc(kA, 1000);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .result = 1}, kA - 16, 100);
  cuda_memcpy(kHost, kA - 100'000, 200'000, 1, Side::kHost, Side::kDevice); // and goes on behind it
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(
    f.message,
    "cudaMemset writes 100 bytes that begin 16 bytes before a block of 1,000 bytes of device memory "
    "allocated by cudaMalloc.");
  EXPECT_EQ(f.bytes, 16u);
  EXPECT_EQ(labels(f), "set here|allocated here");
  EXPECT_EQ(result.findings[1].bytes, 199'000u);
}

TEST_F(Strays, BeginsBehindABlock) {
  cuda_malloc(kA, 1000);
  cuda_malloc(kA + 1024, 1000);
  const auto set = [this](std::uint64_t address, std::uint64_t from) {
    log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .result = 1, .stack = {from}}, address,
              100);
  };
  set(kA + 1000, 0x400); // reaches into the next one
  set(kA + 1024 + 1012, 0x401);
  set(kA + 1020, 0x402); // nearer to the next one
  cuda_free(kA);
  cuda_free(kA + 1024);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds copy-out-of-bounds");
  EXPECT_NE(result.findings[0].message.find(
              "writes 100 bytes that begin exactly at the end of a block of 1,000 bytes"),
            std::string::npos);
  EXPECT_EQ(result.findings[0].bytes, 100u);
  EXPECT_NE(result.findings[1].message.find("begin 12 bytes past the end of a block"),
            std::string::npos);
  EXPECT_NE(result.findings[2].message.find("begin 4 bytes before a block"), std::string::npos);
}

// With --kernel-checks 512 bytes at least lie behind each block, and CUDA takes a copy there.
TEST_F(Strays, BeginsInPoison) {
  trace.info.push_back("option.kernel_checks=1");
  cuda_malloc(kA, 1000);
  cuda_memcpy(kA + 1000, kHost, 16);
  cuda_memcpy(kHost, kA + 1535, 1, 0, Side::kHost, Side::kDevice);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .stack = {0x400}}, kA + 1024, 8);
  cuda_memcpy(kA + 1536, kHost, 16); // other memory, of which nothing is known
  cuda_memcpy(kA, kHost, 1000);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds copy-out-of-bounds");
  EXPECT_NE(result.findings[0].message.find(
              "writes 16 bytes that begin exactly at the end of a block of 1,000 bytes"),
            std::string::npos)
    << result.findings[0].message;
  EXPECT_EQ(result.findings[1].bytes, 1u);
}

TEST_F(Strays, WithoutPoisonWhatCudaTakesIsMemory) {
  cuda_malloc(kA, 1000);
  cuda_memcpy(kA + 1000, kHost, 16);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Strays, HostSidesBeforeAndBehind) {
  cuda_malloc(kA, kMiB);
  cuda_malloc_host(kB, 5000);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kC, 4096);
  cuda_memcpy(kA, kB - 16, 100, 1);
  cuda_memcpy(kA, kB + 5000, 100, 1);
  cuda_memcpy(kA, kC - 16, 100, 1);
  run();
  ASSERT_NE(find("copy-out-of-bounds"), nullptr);
  std::uint64_t all = 0;
  for (const ReportedFinding& f : result.findings) {
    if (f.kind == "copy-out-of-bounds") all += f.count;
  }
  EXPECT_EQ(all, 3u);
  EXPECT_NE(find("copy-out-of-bounds")
              ->message.find("begin 16 bytes before a block of 5,000 bytes of pinned"),
            std::string::npos);
}

// What CUDA took is in memory that we do not know; what is far away belongs to no block.
TEST_F(Strays, OtherMemoryIsNotTakenForANeighbour) {
  expect_only({"copy-direction", "copy-out-of-bounds", "use-after-free"});
  cuda_malloc(kA, 1000);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kHost, 4096);
  cuda_memcpy(kA - 16, kHost, 100);
  cuda_memcpy(kA + 1000, kHost, 100);
  cuda_memcpy(kA + 4 * kMiB, kHost, 100, 1);
  cuda_memcpy(kA - 4 * kMiB, kHost, 100, 1);
  cuda_memcpy(kHost + 4096, kHost, 100, 1); // ordinary memory beside registered memory
  cuda_memcpy(kHost - 16, kHost, 100, 1);
  cuda_memcpy(kA - 8 * kMiB, kHost + 8 * kMiB, UINT64_MAX, 1);
  cuda_free(kA);
  run();
  EXPECT_EQ(find("copy-out-of-bounds"), nullptr);
  ASSERT_NE(find("copy-direction"), nullptr);
}

TEST_F(Strays, FreedMemoryBesideABlockIsUseAfterFree) {
  cuda_malloc(kA, 1024);
  cuda_malloc(kA + 1024, 1024);
  cuda_free(kA);
  cuda_memcpy(kA + 1024 - 16, kHost, 100, 1);
  cuda_free(kA + 1024);
  run();
  EXPECT_EQ(kinds(), "use-after-free");
}

class Textures : public AnalysisTest {
protected:
  Textures() { expect_only({"copy-out-of-bounds"}); }
  void texture(std::uint64_t address, std::uint64_t bytes, std::uint16_t code = 0) {
    log().record(
      {.api = "cuTexObjectCreate", .via = "cudaCreateTextureObject", .result = code},
      Made<trace::UseFields>().address(address).bytes(bytes).use(trace::UseClass::kTexture));
  }
};

TEST_F(Textures, LargerThanItsBlock) {
  cuda_malloc(kA, 1000);
  texture(kA + 200, 1000);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(f.message, "cudaCreateTextureObject makes a texture of 1,000 bytes, 200 bytes past the "
                       "end of a block of 1,000 bytes of device memory allocated by cudaMalloc.");
  EXPECT_EQ(f.bytes, 200u);
  EXPECT_EQ(labels(f), "used here|allocated here");
}

TEST_F(Textures, ThatAreNone) {
  cuda_malloc(kA, 1000);
  texture(kA, 1000);
  texture(kA, UINT32_MAX); // the default of cudaBindTexture
  texture(kA, 2000, 1);    // refused
  texture(kB, 2000);       // no memory that is known
  log().alloc({.api = "cuMemMap"}, MemoryKind::kVmmMapping, kB, 2 * kMiB);
  texture(kB, 4 * kMiB); // another mapping may follow
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
