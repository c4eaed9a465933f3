// SPDX-License-Identifier: Apache-2.0
// Leaks: grouping, kinds of memory, contexts, ways to end, references, graphs.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

class Leaks : public AnalysisTest {
protected:
  Leaks() { expect_only({"churn", "double-free", "leak", "uncoalesced"}); }
};

TEST_F(Leaks, GroupedByStackAndMemoryKind) {
  for (std::uint64_t i = 0; i < 16; ++i) cuda_malloc(kA + i * 4 * kMiB, 4 * kMiB, 0x111);
  cuda_malloc(kB, kMiB, 0x222);
  run();
  ASSERT_EQ(kinds(), "leak leak");
  EXPECT_EQ(result.findings[0].message, "64.0 MiB of device memory in 16 blocks was never freed.");
  EXPECT_EQ(result.findings[0].bytes, 64 * kMiB);
  EXPECT_EQ(result.findings[0].count, 16u);
  EXPECT_EQ(result.findings[0].address, kA);
  EXPECT_EQ(labels(result.findings[0]), "allocated here");
  EXPECT_EQ(address_of(result.findings[0].stacks[0]), 0x111u);
  EXPECT_EQ(result.findings[1].message, "1.0 MiB of device memory was never freed.");
  EXPECT_NE(result.findings[1].advice.find("cudaFree"), std::string::npos);
  EXPECT_EQ(result.process.totals.live_blocks, 17u);
  EXPECT_EQ(result.process.totals.live_bytes, 65 * kMiB);
}

TEST_F(Leaks, SameStackInTwoThreadsIsOneGroup) {
  log(0).alloc({.api = "cuMemAlloc_v2", .stack = {1, 2}}, MemoryKind::kDevice, kA, 10);
  log(1).alloc({.api = "cuMemAlloc_v2", .stack = {9}}, MemoryKind::kDevice, kC, 10);
  log(1).alloc({.api = "cuMemAlloc_v2", .stack = {1, 2}}, MemoryKind::kDevice, kB, 10);
  run();
  EXPECT_EQ(kinds(), "leak leak");
}

TEST_F(Leaks, EachMemoryKindInItsWords) {
  const auto leak = [this](MemoryKind memory_kind, const char* words, const char* release) {
    TraceWriter fresh;
    std::swap(trace, fresh);
    log().alloc({.api = "cuSomething"}, memory_kind, kA, 4096);
    run();
    ASSERT_EQ(kinds(), "leak") << words;
    EXPECT_NE(result.findings[0].message.find(words), std::string::npos)
      << result.findings[0].message;
    EXPECT_NE(result.findings[0].advice.find(release), std::string::npos)
      << result.findings[0].advice;
    std::swap(trace, fresh);
  };
  leak(MemoryKind::kPitched, "pitched device memory", "cuMemFree");
  leak(MemoryKind::kManaged, "managed memory", "cuMemFree");
  leak(MemoryKind::kPinned, "pinned host memory", "cuMemFreeHost");
  leak(MemoryKind::kRegistered, "registered host memory was never unregistered",
       "cuMemHostUnregister");
  leak(MemoryKind::kStreamOrdered, "stream-ordered device memory", "cuMemFreeAsync");
  leak(MemoryKind::kArray, "CUDA array memory", "cuArrayDestroy");
  leak(MemoryKind::kMipmappedArray, "mipmapped array memory", "cuMipmappedArrayDestroy");
  leak(MemoryKind::kVmmHandle, "physical memory (VMM handle) was never released", "cuMemRelease");
  leak(MemoryKind::kVmmReservation, "reserved address space (VMM)", "cuMemAddressFree");
  leak(MemoryKind::kVmmMapping, "mapped memory (VMM) was never unmapped", "cuMemUnmap");
  leak(MemoryKind::kIpc, "another process's memory (IPC) was never closed", "cuIpcCloseMemHandle");
  leak(MemoryKind::kPoolImport, "imported pool memory", "cuMemFree");
  leak(MemoryKind::kExternal, "mapped external memory", "cuMemFree");
}

TEST_F(Leaks, StaticMemoryNever) {
  log().alloc({.api = "cuModuleGetGlobal_v2"}, MemoryKind::kModuleGlobal, kA, 4096);
  log().alloc({.api = "cuModuleGetGlobal_v2"}, MemoryKind::kModuleGlobal, kA, 4096);
  log().alloc({.api = "cuLibraryGetManaged"}, MemoryKind::kManagedVariable, kB, 4096);
  log().alloc({.api = "cuLibraryGetManaged"}, MemoryKind::kManagedVariable, kB, 4096);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
  EXPECT_EQ(result.process.totals.allocations, 0u);
}

TEST_F(Leaks, FailedAndZeroSizedAllocationsAreNothing) {
  log().alloc({.api = "cuMemAlloc_v2", .result = 1}, MemoryKind::kDevice, kA, 4096);
  log().alloc({.api = "cuMemAlloc_v2", .result = trace::kResultInFlight}, MemoryKind::kDevice, kB,
              4096);
  log().alloc({.api = "cudaMalloc", .flags = trace::kFlagRuntime}, MemoryKind::kDevice, 0, 0);
  run();
  EXPECT_EQ(find("leak"), nullptr);
}

TEST_F(Leaks, EndedWithTheirContextAndSaysSo) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 0, false);
  cuda_malloc(kA, kMiB, 0x111);
  log().alloc({.api = "cuMemAlloc_v2", .context = 2}, MemoryKind::kDevice, kB, 2 * kMiB);
  log().alloc({.api = "cuMemAllocAsync", .context = 2}, MemoryKind::kStreamOrdered, kC, 3 * kMiB);
  log().life({.api = "cuCtxDestroy_v2", .stack = {0x333}}, 0xc2, ObjectClass::kContext,
             LifeOp::kDestroy);
  cuda_free(kA);
  log().release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, kC);
  run();
  ASSERT_EQ(kinds(), "leak");
  const ReportedFinding& f = *find("leak");
  EXPECT_EQ(f.message,
            "2.0 MiB of device memory was still not freed when cuCtxDestroy ended its context.");
  EXPECT_EQ(labels(f), "allocated here|context ended here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x333u);
}

TEST_F(Leaks, LastPrimaryReleaseEnds) {
  log().context(1, 0xc1, 0, true);
  for (int i = 0; i < 2; ++i) {
    log().life({.api = "cuDevicePrimaryCtxRetain"}, 0, ObjectClass::kPrimaryContext,
               LifeOp::kRetain);
  }
  cuda_malloc(kA, kMiB);
  log().life({.api = "cuDevicePrimaryCtxRelease"}, 0, ObjectClass::kPrimaryContext,
             LifeOp::kRelease);
  cuda_free(kA);
  cuda_malloc(kB, kMiB);
  log().life({.api = "cuDevicePrimaryCtxRelease"}, 0, ObjectClass::kPrimaryContext,
             LifeOp::kRelease);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_NE(find("leak")->message.find("cuDevicePrimaryCtxRelease ended its context"),
            std::string::npos);
}

TEST_F(Leaks, ResetOfOneDeviceLeavesTheOther) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 1, true);
  cuda_malloc(kA, kMiB);
  log().alloc({.api = "cuMemAlloc_v2", .context = 2}, MemoryKind::kDevice, kB, kMiB);
  log().life({.api = "cuDevicePrimaryCtxReset"}, 1, ObjectClass::kPrimaryContext, LifeOp::kReset);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "leak");
  EXPECT_EQ(find("leak")->address, kB);
}

TEST_F(Leaks, FreeAcceptedAfterAllMeansTheContextLived) {
  log().context(1, 0xc1, 0, true);
  cuda_malloc(kA, kMiB);
  log().life({.api = "cuDevicePrimaryCtxReset"}, 0, ObjectClass::kPrimaryContext, LifeOp::kReset);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(Leaks, NotCalledLeaksAfterASignal) {
  cuda_malloc(kA, 4 * kMiB);
  cuda_malloc(kB, 4 * kMiB);
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked(
    "leak", "the program was killed by SIGKILL, so memory alive then (8.0 MiB in 2 blocks) "
            "is not called a leak"));
}

TEST_F(Leaks, WaysToEnd) {
  cuda_malloc(kA, kMiB);
  trace.complete.clear();
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("leak", "the program's end is not in the trace"));
  log().exit(trace::ExitWay::kUnderscoreExit, 3);
  run();
  EXPECT_EQ(kinds(), "leak");
  EXPECT_EQ(result.process.ended.how, Ending::How::kExited);
  EXPECT_EQ(result.process.ended.status, 3);
  log().exit(trace::ExitWay::kExec, 0);
  trace.complete = "how=exited\nstatus=0\n";
  run();
  EXPECT_TRUE(is_not_checked("leak", "exec"));
  EXPECT_FALSE(is_not_checked("leak", "the end of the log is missing"));
  log().exit(trace::ExitWay::kExecFailed, 0);
  run();
  EXPECT_EQ(kinds(), "leak");
  EXPECT_TRUE(is_not_checked("leak", "the end of the log is missing"));
}

TEST_F(Leaks, ReferencesOfIpcAndVmmHandles) {
  for (int i = 0; i < 2; ++i) {
    log().alloc({.api = "cuIpcOpenMemHandle_v2"}, MemoryKind::kIpc, kA, 0);
    log().alloc({.api = "cuMemRetainAllocationHandle"}, MemoryKind::kVmmHandle, 7, 2 * kMiB);
  }
  log().release({.api = "cuIpcCloseMemHandle"}, FreeFunction::kIpcClose, kA);
  log().release({.api = "cuMemRelease"}, FreeFunction::kMemRelease, 7);
  run();
  EXPECT_EQ(kinds(), "leak leak");
  EXPECT_NE(result.findings[0].message.find("(IPC) of unknown size"), std::string::npos);
  log().release({.api = "cuIpcCloseMemHandle"}, FreeFunction::kIpcClose, kA);
  log().release({.api = "cuMemRelease"}, FreeFunction::kMemRelease, 7);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(Leaks, CapturedAllocationsAreGraphMemory) {
  log().record({.api = "cuStreamBeginCapture_v2"},
               Made<trace::SyncFields>().stream(7).op(trace::SyncOp::kBeginCapture));
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kA, kMiB, 7);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kB, kMiB, 8); // not captured
  log().record({.api = "cuStreamEndCapture"},
               Made<trace::SyncFields>().stream(7).op(trace::SyncOp::kEndCapture));
  log().release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, kB);
  run();
  EXPECT_EQ(kinds(), ""); // the graph never ran
  log().record(
    {.api = "cuGraphLaunch"},
    Made<trace::SyncFields>().stream(7).executable_graph(0x9a).op(trace::SyncOp::kGraphLaunch));
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_NE(find("leak")->message.find("graph memory"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    log().release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, kA);
  run();
  EXPECT_EQ(kinds(), ""); // once for each launch
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(Leaks, PeakCountsDeviceMemoryOnly) {
  cuda_malloc(kA, 3 * kMiB);
  cuda_malloc_host(kB, 50 * kMiB);
  cuda_malloc(kC, 2 * kMiB);
  cuda_free(kA);
  cuda_free(kC);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kB);
  run();
  EXPECT_EQ(result.process.totals.peak_bytes, 5 * kMiB);
  EXPECT_EQ(result.process.totals.peak_order, 3u);
  EXPECT_EQ(result.process.totals.allocated_bytes, 55 * kMiB);
}

} // namespace
} // namespace gmt::test
