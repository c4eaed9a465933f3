// SPDX-License-Identifier: Apache-2.0
// Findings about calls that cost time: churn, copies from pageable memory, many small copies.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Costs : public AnalysisTest {
protected:
  Costs() { expect_only({"churn", "pageable-copy", "small-copies"}); }
  // One tick is two nanoseconds.
  void set_clock() {
    trace.info.push_back("tsc=1000\nmonotonic_ns=0");
    trace.complete += "tsc=2000\nmonotonic_ns=2000\n";
  }
  void pair(std::uint64_t bytes, MemoryKind memory_kind = MemoryKind::kDevice,
            std::uint64_t ticks = 0, std::uint64_t from = 0x100) {
    const bool ordered = memory_kind == MemoryKind::kStreamOrdered;
    const char* malloc_name = ordered ? "cudaMallocAsync" : "cudaMalloc";
    log().alloc({.api = "cuSomeAlloc", .via = malloc_name, .stack = {from}, .ticks = ticks},
                memory_kind, kA, bytes);
    log().release({.api = "cuSomeFree",
                   .via = ordered ? "cudaFreeAsync" : "cudaFree",
                   .stack = {0x200},
                   .ticks = ticks},
                  ordered ? FreeFunction::kMemFreeAsync : FreeFunction::kMemFree, kA);
  }
};

TEST_F(Costs, ChurnIsCheckedByCount) {
  for (int i = 0; i < 999; ++i) pair(4096);
  run();
  EXPECT_EQ(kinds(), "");
  pair(4096);
  run();
  ASSERT_EQ(kinds(), "churn");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(f.count, 1000u);
  EXPECT_EQ(f.message,
            "4.0 KiB of device memory was allocated and freed 1,000 times from one place; how long "
            "that took is not known.");
  EXPECT_NE(f.advice.find("cudaMallocAsync"), std::string::npos);
  EXPECT_EQ(labels(f), "allocated here|freed here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x100u);
  EXPECT_EQ(address_of(f.stacks[1]), 0x200u);
}

TEST_F(Costs, ChurnOfRegisteredMemory) {
  for (int i = 0; i < 1000; ++i) {
    log().alloc({.api = "cuMemHostRegister_v2", .via = "cudaHostRegister", .stack = {0x100}},
                MemoryKind::kRegistered, kHost, 4096);
    log().release({.api = "cuMemHostUnregister", .via = "cudaHostUnregister", .stack = {0x200}},
                  FreeFunction::kHostUnregister, kHost);
  }
  run();
  ASSERT_EQ(kinds(), "churn");
  EXPECT_EQ(
    result.findings[0].message,
    "4.0 KiB of registered host memory was registered and unregistered 1,000 times from one place; how long "
    "that took is not known.");
  EXPECT_EQ(result.findings[0].advice,
            "Register it once and keep it registered: pinning memory is slow.");
  EXPECT_EQ(labels(result.findings[0]), "registered here|unregistered here");
}

TEST_F(Costs, ChurnOfADriverProgramIsCuredByTheDriver) {
  for (int i = 0; i < 1000; ++i) {
    log().alloc({.api = "cuMemAlloc_v2", .stack = {0x100}}, MemoryKind::kDevice, kA, 4096);
    log().release({.api = "cuMemFree_v2", .stack = {0x200}}, FreeFunction::kMemFree, kA);
  }
  run();
  ASSERT_EQ(kinds(), "churn");
  EXPECT_EQ(
    result.findings[0].advice,
    "Allocate it once and use it again, or call cuMemAllocAsync and cuMemFreeAsync on the stream that uses it: they "
    "take it from a pool and do not wait for the device.");
}

TEST_F(Costs, ChurnSaysItsTime) {
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, MemoryKind::kDevice, 10'000); // 20 us a call
  run();
  ASSERT_EQ(kinds(), "churn");
  EXPECT_NE(result.findings[0].message.find("which took 80.0 ms (40.0 us a pair)"),
            std::string::npos)
    << result.findings[0].message;
}

TEST_F(Costs, ChurnOfDifferentSizesIsNone) {
  for (std::uint64_t i = 0; i < 3000; ++i) pair(4096 + i);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, ChurnAmongOtherSizes) {
  for (std::uint64_t i = 0; i < 1500; ++i) {
    pair(64);
    pair(128);
    pair(4096 + i);
  }
  run();
  ASSERT_EQ(kinds(), "churn churn");
  EXPECT_EQ(result.findings[0].count, 1500u);
  EXPECT_EQ(result.findings[1].count, 1500u);
}

TEST_F(Costs, ChurnFromDifferentCallSitesIsNone) {
  for (std::uint64_t i = 0; i < 3000; ++i) pair(4096, MemoryKind::kDevice, 0, 0x100 + i % 4);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, BlocksThatStayAreNoChurn) {
  for (std::uint64_t i = 0; i < 2000; ++i) cuda_malloc(kA + i * 8192, 4096);
  run();
  EXPECT_EQ(find("churn"), nullptr);
}

TEST_F(Costs, PoolsAreTheCure) {
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, MemoryKind::kStreamOrdered, 250);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, UnlessTheyGiveTheMemoryBack) {
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, MemoryKind::kStreamOrdered, 25'000);
  run();
  ASSERT_EQ(kinds(), "churn");
  EXPECT_NE(result.findings[0].advice.find("cudaMemPoolAttrReleaseThreshold"), std::string::npos);
}

TEST_F(Costs, TheSimulatedDevicesTimeOfAPoolSaysNothing) {
  trace.info.push_back("device=simulated");
  set_clock();
  for (int i = 0; i < 2000; ++i) pair(4096, MemoryKind::kStreamOrdered, 25'000);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Costs, LargeCopiesFromPageableMemory) {
  set_clock();
  cuda_malloc(kA, 64 * kMiB);
  const auto copy = [this](std::uint64_t bytes) {
    log().copy(
      {.api = "cuMemcpyHtoD_v2", .via = "cudaMemcpy", .stack = {0x300}, .ticks = 2'000'000}, kA,
      kHost, bytes, Side::kDevice, Side::kHost);
  };
  for (int i = 0; i < 9; ++i) copy(32 * kMiB); // enough bytes, too few copies
  run();
  EXPECT_EQ(find("pageable-copy"), nullptr);
  copy(32 * kMiB);
  run();
  const ReportedFinding* f = find("pageable-copy");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kWarning);
  EXPECT_EQ(
    f->message,
    "cudaMemcpy copied 320.0 MiB from pageable host memory to the device in 10 copies from one "
    "place, which took 40.0 ms (8.4 GB/s).");
  EXPECT_NE(f->advice.find("cudaMallocHost"), std::string::npos);
  EXPECT_EQ(labels(*f), "copied here");
}

TEST_F(Costs, FewBytesInAllAreNotWorthPinning) {
  cuda_malloc(kA, 64 * kMiB);
  for (int i = 0; i < 20; ++i) cuda_memcpy(kA, kHost, 2 * kMiB);
  run();
  EXPECT_EQ(find("pageable-copy"), nullptr);
}

TEST_F(Costs, PageableDestinationsAndUndeclaredSides) {
  cuda_malloc(kA, 64 * kMiB);
  for (int i = 0; i < 10; ++i) {
    cuda_memcpy(kHost, kA, 32 * kMiB, 0, Side::kUnified, Side::kUnified);
  }
  run();
  ASSERT_NE(find("pageable-copy"), nullptr);
  EXPECT_NE(find("pageable-copy")->message.find("from the device to pageable"), std::string::npos);
}

TEST_F(Costs, PinnedRegisteredAndManagedMemoryIsNotPageable) {
  cuda_malloc(kA, 64 * kMiB);
  cuda_malloc_host(kB, 64 * kMiB);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kHost, 64 * kMiB);
  log().alloc({.api = "cuMemAllocManaged"}, MemoryKind::kManaged, kC, 64 * kMiB);
  for (const std::uint64_t host : {kB, kHost, kC}) {
    for (int i = 0; i < 10; ++i) cuda_memcpy(kA, host, 32 * kMiB);
  }
  for (int i = 0; i < 10; ++i)
    cuda_memcpy(kHost + 128 * kMiB, kHost + 256 * kMiB, 32 * kMiB, 0, Side::kHost);
  run();
  EXPECT_EQ(find("pageable-copy"), nullptr);
}

TEST_F(Costs, GpusThatReadPageableMemoryNeedNoPinning) {
  log().context(1, 0xc1, 0, true);
  log().record({.api = ""}, Made<trace::DeviceFields>()
                              .bytes(1 << 30)
                              .texture_alignment(512)
                              .texture_pitch_alignment(32)
                              .surface_alignment(512)
                              .reads_pageable_memory(1)
                              .uses_host_page_tables(1)
                              .compute_capability(90)
                              .concurrent_managed(1)
                              .largest_pitch(1 << 20));
  cuda_malloc(kA, 64 * kMiB);
  for (int i = 0; i < 10; ++i) cuda_memcpy(kA, kHost, 32 * kMiB);
  run();
  EXPECT_EQ(find("pageable-copy"), nullptr);
}

TEST_F(Costs, ManySmallCopies) {
  cuda_malloc(kA, kMiB);
  for (std::uint64_t i = 0; i < 999; ++i) cuda_memcpy(kA + i * 16, kHost + i * 16, 16);
  run();
  EXPECT_EQ(find("small-copies"), nullptr);
  cuda_memcpy(kA, kHost, 16);
  run();
  const ReportedFinding* f = find("small-copies");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(
    f->message,
    "cudaMemcpy made 1,000 copies of less than 4.0 KiB from one place with no kernel between "
    "them, 15.6 KiB in all.");
  EXPECT_EQ(f->count, 1000u);
}

TEST_F(Costs, SmallCopiesBetweenKernelsAreNoRun) {
  cuda_malloc(kA, kMiB);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    log().record({.api = "cuLaunchKernel"},
                 Made<trace::LaunchFields>().function(0xf0).grid({1, 1, 1}).block({1, 1, 1}));
    cuda_memcpy(kHost + i * 4, kA, 4, 0, Side::kHost, Side::kDevice);
  }
  run();
  EXPECT_EQ(find("small-copies"), nullptr);
}

TEST_F(Costs, BatchedRepeatedAndLargerCopiesAreNotSmallOnes) {
  cuda_malloc(kA, 64 * kMiB);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    log().copy({.api = "cuMemcpyBatchAsync", .stack = {0x301}, .flags = trace::kCopyBatched},
               kA + i * 16, kHost, 16);
    log().copy({.api = "cuMemcpyHtoD_v2", .stack = {0x302}}, kA, kHost, 16);
    log().copy({.api = "cuMemcpyHtoD_v2", .stack = {0x303}}, kA + i * 4096, kHost, 4096);
  }
  run();
  EXPECT_EQ(find("small-copies"), nullptr);
}

} // namespace
} // namespace gmt::test
