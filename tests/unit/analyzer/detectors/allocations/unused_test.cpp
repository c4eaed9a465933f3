// SPDX-License-Identifier: Apache-2.0
// Memory that nothing was ever given, and what only looks as if: blocks that served their purpose
// by being allocated, programs that failed before they came to use what they have.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Unused : public AnalysisTest {
protected:
  void SetUp() override { expect_only({"unused"}); }
  void read(std::uint64_t from, std::uint64_t bytes) {
    log().copy({.api = "cuMemcpyDtoH_v2", .via = "cudaMemcpy", .stack = {0x301}}, kHost, from,
               bytes, Side::kHost, Side::kDevice);
  }
  void write(std::uint64_t to, std::uint64_t bytes) { cuda_memcpy(to, kHost, bytes); }
  // With one pointer among its arguments.
  void launch(std::uint64_t pointer = 0) {
    log().record({.api = "cuLaunchKernel", .flags = trace::kLaunchScanned},
                 Made<trace::LaunchFields>().function(0xf).grid({1, 1, 1}).block({1, 1, 1}),
                 {pointer == 0 ? 0 : trace::argument_word(pointer, 0)});
  }
  void use(std::uint64_t address, trace::UseClass what) {
    log().record({.api = "cuIpcGetMemHandle"}, Made<trace::UseFields>().address(address).use(what));
  }
  void from_pool(std::uint64_t address, std::uint64_t bytes, std::uint64_t pool = 0) {
    log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .stack = {0x102}},
                MemoryKind::kStreamOrdered, address, bytes, 0, {0, 0, 0, 0, 0, pool});
  }
  void back_to_pool(std::uint64_t address) {
    log().release({.api = "cuMemFreeAsync", .via = "cudaFreeAsync", .stack = {0x202}},
                  FreeFunction::kMemFreeAsync, address);
  }
  std::string severities() const {
    std::string all;
    for (const ReportedFinding& f : result.findings)
      all += f.severity == Severity::kWarning ? 'W' : 'n';
    return all;
  }
};

TEST_F(Unused, IsWhatNoCallWasGiven) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_malloc(kA, kMiB);
  run();
  const ReportedFinding* f = find("unused");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kWarning);
  EXPECT_EQ(
    f->message,
    "2.0 MiB of device memory in 2 blocks allocated by cudaMalloc was never used: no copy, set, "
    "texture or kernel was given a pointer into it.");
  EXPECT_EQ(f->count, 2u);
  EXPECT_EQ(labels(*f), "allocated here");
}

TEST_F(Unused, AnyUseIsAUse) {
  std::uint64_t address = kA;
  const auto next = [&] {
    cuda_malloc(address += kMiB, 1000);
    return address;
  };
  write(next(), 10);
  read(next() + 10, 10);
  log().set({.api = "cuMemsetD8_v2"}, next(), 10);
  launch(next() + 100);
  use(next(), trace::UseClass::kTexture);
  use(next(), trace::UseClass::kExport);
  use(next(), trace::UseClass::kAttach);
  cuda_memcpy(next(), kHost, 10, 1); // tried
  for (const MemoryKind memory_kind :
       {MemoryKind::kManaged, MemoryKind::kPinned, MemoryKind::kVmmMapping, MemoryKind::kGraph}) {
    log().alloc({.api = "cuMemAllocManaged"}, memory_kind, address += kMiB, 1000);
  }
  run();
  EXPECT_EQ(find("unused"), nullptr);
}

TEST_F(Unused, WhileKernelsRanIsANote) {
  cuda_malloc(kA, kMiB);
  launch();
  cuda_free(kA);
  run();
  EXPECT_EQ(severities(), "n");
}

TEST_F(Unused, OfKilledProgramsIsWhatTheyFreed) {
  cuda_malloc(kA, kMiB);
  cuda_malloc(kB, kMiB);
  cuda_free(kB);
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  run();
  ASSERT_NE(find("unused"), nullptr);
  EXPECT_EQ(find("unused")->count, 1u);
  EXPECT_EQ(find("unused")->message,
            "The program was killed by SIGKILL: 1.0 MiB of device memory in 1 block was "
            "never used, maybe because it did not come that far.");
}

// One note with all call sites, those with most bytes first; blocks of one call site are one.
TEST_F(Unused, OfAProgramThatFailedAreOneNote) {
  trace.complete = "how=exited\nstatus=3\nsignal=0\ncore=0\n";
  cuda_malloc(kA, 768, 0x100);
  cuda_malloc(kA + kMiB, 1024, 0x101);
  launch();
  cuda_malloc(kA + 2 * kMiB, 1024, 0x101);
  cuda_malloc(kA + 3 * kMiB, 1024, 0x102);
  cuda_free(kA);
  run();
  ASSERT_EQ(severities(), "n");
  const ReportedFinding& f = *find("unused");
  EXPECT_EQ(
    f.message,
    "The program ended with exit status 3: 3.8 KiB of device memory in 4 blocks from 3 places was "
    "never used, maybe because it did not come that far.");
  EXPECT_EQ(f.count, 4u);
  EXPECT_EQ(f.bytes, 3840u);
  EXPECT_EQ(labels(f), "allocated here: 2.0 KiB in 2 blocks|allocated here: 1.0 KiB in 1 block|"
                       "allocated here: 768 bytes in 1 block");
  EXPECT_EQ(address_of(f.stacks[1]), 0x102u);
}

TEST_F(Unused, OfAProgramThatMetAStickyErrorAreANote) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_malloc(kB, kMiB);
  write(kB, kMiB);
  cuda_free(kB, 700);
  run();
  ASSERT_EQ(severities(), "n");
  EXPECT_TRUE(find("unused")->message.starts_with(
    "The program met CUDA_ERROR_ILLEGAL_ADDRESS (700): 1.0 MiB"))
    << find("unused")->message;
}

// The first call in a context, for next to nothing: it is the call that was wanted.
TEST_F(Unused, WhatStartsCudaServesItsPurpose) {
  trace.log().context(1, 0x5000, 0, true);
  cuda_malloc(kA, 1);
  cuda_free(kA);
  trace.log().context(2, 0x6000, 1, true);
  log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .context = 2}, MemoryKind::kDevice, kB,
              256);
  run();
  EXPECT_EQ(find("unused"), nullptr);
}

// CUB asks for a byte of temporary storage that it never uses, and takes a call without it for a
// question. Nothing is saved without such blocks, unless they are many.
TEST_F(Unused, ASingleSmallBlockIsNoWaste) {
  cuda_malloc(kB, kMiB);
  write(kB, kMiB);
  for (int i = 0; i < 99; ++i) {
    cuda_malloc(kA, i == 0 ? 1 : 512);
    cuda_free(kA);
  }
  run();
  EXPECT_EQ(severities(), "");
  cuda_malloc(kA, 1);
  run();
  EXPECT_EQ(severities(), "W");
  EXPECT_EQ(find("unused")->count, 100u);
}

TEST_F(Unused, WhatTakesMoreThanTheSmallestBlockIsWaste) {
  cuda_malloc(kB, kMiB);
  write(kB, kMiB);
  cuda_malloc(kA, 513);
  run();
  EXPECT_EQ(severities(), "W");
}

TEST_F(Unused, ALargeFirstBlockIsNoStart) {
  cuda_malloc(kA, 513);
  cuda_free(kA);
  run();
  EXPECT_EQ(severities(), "W");
}

// The usual way to make a pool grow once, before the work begins.
TEST_F(Unused, ABlockThatAPoolGrewWithServedItsPurpose) {
  from_pool(kA, 64 * kMiB);
  back_to_pool(kA);
  from_pool(kA, kMiB);
  write(kA, kMiB);
  back_to_pool(kA);
  from_pool(kB, 64 * kMiB, 7);
  from_pool(kC, 64 * kMiB, 7);
  back_to_pool(kB);
  back_to_pool(kC);
  from_pool(kB, kMiB, 7); // alive at the end
  write(kB, kMiB);
  run();
  EXPECT_EQ(find("unused"), nullptr);
}

TEST_F(Unused, APoolThatGaveOutNothingElseWasNotMadeToGrow) {
  from_pool(kA, 64 * kMiB);
  back_to_pool(kA);
  from_pool(kB, kMiB, 7); // another pool
  write(kB, kMiB);
  back_to_pool(kB);
  run();
  EXPECT_EQ(severities(), "W");
}

TEST_F(Unused, BlocksBesideOthersOfTheirPoolMakeNothingGrow) {
  from_pool(kA, kMiB); // freed too late
  from_pool(kB, kMiB);
  write(kB, kMiB);
  back_to_pool(kA);
  from_pool(kA, 2 * kMiB); // behind the first one
  back_to_pool(kA);
  back_to_pool(kB);
  run();
  EXPECT_EQ(severities(), "W");
  EXPECT_EQ(find("unused")->count, 2u);
}

TEST_F(Unused, ASmallerBlockMakesNoRoomForALargerOne) {
  from_pool(kA, kMiB);
  back_to_pool(kA);
  from_pool(kA, 2 * kMiB);
  write(kA, kMiB);
  run();
  EXPECT_EQ(severities(), "W");
}

} // namespace
} // namespace gmt::test
