// SPDX-License-Identifier: Apache-2.0
// The verdicts on releases, in their order: accepted, mismatched, inside, double, ended, unknown;
// and what is never checked. One file, because each verdict is what the ones before it leave over.
// Arrays and the host's memory: array_and_host_frees_test.cpp.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Frees : public AnalysisTest {
protected:
  Frees() {
    expect_only(
      {"api-error", "double-free", "invalid-free", "leak", "mismatched-free", "unfinished-call"});
  }
};

TEST_F(Frees, MatchedPairIsClean) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
  EXPECT_EQ(result.process.totals.allocations, 1u);
  EXPECT_EQ(result.process.totals.frees, 1u);
  EXPECT_EQ(result.process.totals.peak_bytes, kMiB);
}

TEST_F(Frees, DoubleFreeShowsThreeStacks) {
  cuda_malloc(kA, kMiB, 0x101);
  cuda_free(kA, 0, 0x201);
  cuda_free(kA, 1, 0x202);
  run();
  ASSERT_EQ(kinds(), "double-free");
  const ReportedFinding& f = *find("double-free");
  EXPECT_EQ(
    f.message,
    "cudaFree of 0x7f32a0000000, which was already freed: 1.0 MiB of device memory allocated by "
    "cudaMalloc.");
  EXPECT_EQ(labels(f), "freed again here|first freed here|allocated here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x202u);
  EXPECT_EQ(address_of(f.stacks[1]), 0x201u);
  EXPECT_EQ(address_of(f.stacks[2]), 0x101u);
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.stacks[2].api, "cudaMalloc");
}

TEST_F(Frees, DoubleFreeByAnotherFunction) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  log().release({.api = "cuMemFreeHost", .via = "cudaFreeHost", .result = 1},
                FreeFunction::kMemFreeHost, kA);
  run();
  EXPECT_EQ(kinds(), "double-free");
}

TEST_F(Frees, DoubleFreeInALoopIsOneFinding) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    cuda_malloc(kA + i * kMiB, kMiB);
    cuda_free(kA + i * kMiB);
    cuda_free(kA + i * kMiB, 1, 0x203);
  }
  run();
  ASSERT_EQ(kinds(), "double-free");
  EXPECT_EQ(find("double-free")->count, 50u);
  EXPECT_EQ(find("double-free")->bytes, 50 * kMiB);
}

TEST_F(Frees, ReusedAddressIsNoDoubleFree) {
  for (int i = 0; i < 3; ++i) {
    cuda_malloc(kA, kMiB);
    cuda_free(kA);
  }
  cuda_malloc(kA, 2 * kMiB);
  cuda_free(kA, 0);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Frees, MismatchedFreeNamesTheRightCall) {
  cuda_malloc_host(kA, 4096);
  cuda_free(kA, 1);
  log().release({.api = "cuMemFreeHost", .via = "cudaFreeHost"}, FreeFunction::kMemFreeHost, kA);
  run();
  ASSERT_EQ(kinds(), "mismatched-free");
  const ReportedFinding& f = *find("mismatched-free");
  EXPECT_EQ(f.message,
            "cudaFree of 0x7f32a0000000, which is 4.0 KiB of pinned host memory allocated by "
            "cudaMallocHost: the call failed and the memory stays allocated.");
  EXPECT_EQ(f.advice, "Free it with cudaFreeHost.");
  EXPECT_EQ(labels(f), "freed here|allocated here");
}

TEST_F(Frees, PinnedMemoryIsNamedAsItWasAskedFor) {
  const auto pinned = [this](std::uint64_t address, std::uint64_t flags) {
    log().alloc({.api = "cuMemHostAlloc", .via = "cudaHostAlloc"}, MemoryKind::kPinned, address,
                kMiB, 0, {0, 0, 0, 0, 0, 0, flags});
    log().release({.api = "cuMemFreeHost", .via = "cudaFreeHost"}, FreeFunction::kMemFreeHost,
                  address);
    cuda_free(address, 1, 0x200 + flags);
  };
  pinned(kA, 4);
  pinned(kB, 3);
  pinned(kC, 0);
  run();
  ASSERT_EQ(kinds(), "double-free double-free double-free");
  EXPECT_NE(result.findings[0].message.find(
              "pinned host memory (write-combined) allocated by cudaHostAlloc"),
            std::string::npos);
  EXPECT_NE(result.findings[1].message.find("pinned host memory (portable, mapped) allocated"),
            std::string::npos);
  EXPECT_NE(result.findings[2].message.find("pinned host memory allocated by"), std::string::npos);
}

TEST_F(Frees, FailedFreeLeavesTheBlockAlive) {
  cuda_malloc_host(kA, 4096);
  cuda_free(kA, 1);
  run();
  EXPECT_EQ(kinds(), "mismatched-free leak");
}

TEST_F(Frees, MismatchesAcrossMemoryKinds) {
  const auto mismatch = [this](MemoryKind memory_kind, FreeFunction function, std::uint16_t code,
                               const char* right) {
    TraceWriter fresh;
    std::swap(trace, fresh);
    log().alloc({.api = "cudaAlloc"}, memory_kind, kA, 4096);
    log().release({.api = "cudaWrong", .result = code}, function, kA);
    run();
    ASSERT_NE(find("mismatched-free"), nullptr) << right;
    EXPECT_NE(find("mismatched-free")->advice.find(right), std::string::npos)
      << find("mismatched-free")->advice;
    std::swap(trace, fresh);
  };
  mismatch(MemoryKind::kDevice, FreeFunction::kMemFreeHost, 1, "cudaFree.");
  mismatch(MemoryKind::kManaged, FreeFunction::kMemFreeAsync, 801, "cudaFree.");
  mismatch(MemoryKind::kArray, FreeFunction::kMemFree, 1, "cudaFreeArray");
  mismatch(MemoryKind::kDevice, FreeFunction::kArrayDestroy, 1, "cudaFree.");
  mismatch(MemoryKind::kMipmappedArray, FreeFunction::kArrayDestroy, 1, "cudaFreeMipmappedArray");
  mismatch(MemoryKind::kRegistered, FreeFunction::kMemFreeHost, 1, "cudaHostUnregister");
  mismatch(MemoryKind::kPinned, FreeFunction::kHostUnregister, 1, "cudaFreeHost");
  mismatch(MemoryKind::kIpc, FreeFunction::kMemFree, 1, "cudaIpcCloseMemHandle");
  mismatch(MemoryKind::kVmmMapping, FreeFunction::kMemFree, 1, "cuMemUnmap");
  mismatch(MemoryKind::kVmmReservation, FreeFunction::kMemFree, 1, "cuMemAddressFree");
}

TEST_F(Frees, StaticVariablesHaveNoRightFunction) {
  log().alloc({.api = "cuModuleGetGlobal_v2", .via = "cudaGetSymbolAddress"},
              MemoryKind::kModuleGlobal, kA, 64);
  cuda_free(kA, 1);
  run();
  ASSERT_EQ(kinds(), "invalid-free");
  EXPECT_EQ(labels(*find("invalid-free")), "freed here|looked up here");
}

TEST_F(Frees, DocumentedPairsAreClean) {
  cuda_malloc(kA, kMiB);
  log().release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, kA);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kB, kMiB);
  log().release({.api = "cuMemFree_v2"}, FreeFunction::kMemFree, kB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Frees, InsideNamesBlockAndOffset) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA + 16, 1);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "invalid-free");
  EXPECT_EQ(
    find("invalid-free")->message,
    "cudaFree of 0x7f32a0000010, which is 16 bytes inside a block that begins at 0x7f32a0000000: 1.0 MiB of "
    "device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(*find("invalid-free")), "freed here|allocated here");
}

TEST_F(Frees, NeverAllocated) {
  cuda_free(kHost, 1);
  run();
  ASSERT_EQ(kinds(), "invalid-free");
  EXPECT_EQ(labels(*find("invalid-free")), "freed here");
}

TEST_F(Frees, InsideFreedMemoryIsNoDoubleFree) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  cuda_free(kA + 256, 1);
  run();
  ASSERT_EQ(kinds(), "invalid-free");
  EXPECT_NE(find("invalid-free")->message.find("256 bytes inside memory that was freed earlier"),
            std::string::npos);
}

TEST_F(Frees, EndedWithItsContext) {
  log().context(1, 0xc0, 0, true);
  cuda_malloc(kA, kMiB);
  log().life({.api = "cuDevicePrimaryCtxReset", .via = "cudaDeviceReset"}, 0,
             trace::ObjectClass::kPrimaryContext, trace::LifeOp::kReset);
  cuda_free(kA, 1);
  run();
  EXPECT_EQ(kinds(), "invalid-free leak");
  EXPECT_NE(find("invalid-free")->message.find("cudaDeviceReset had already released 1.0 MiB"),
            std::string::npos);
  EXPECT_EQ(labels(*find("invalid-free")), "freed here|context ended here|allocated here");
}

TEST_F(Frees, NullIsNeverChecked) {
  cuda_free(0);
  cuda_free(0, 1);
  run();
  EXPECT_EQ(find("invalid-free"), nullptr);
}

TEST_F(Frees, AcceptedFreeOfUnknownMemoryIsCountedNotBlamed) {
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("memory from unseen calls", "1 release"));
}

TEST_F(Frees, BirthOnTopOfALiveBlockCountsAnUnseenFree) {
  cuda_malloc(kA, kMiB);
  cuda_malloc(kA, 2 * kMiB);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("memory from unseen calls", "1 block"));
}

TEST_F(Frees, AfterAStickyErrorReleasesAreNotChecked) {
  cuda_malloc(kA, kMiB);
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize", .result = 700},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  cuda_free(kA, 700);
  cuda_free(kHost, 1);
  run();
  ASSERT_EQ(kinds(), "api-error");
  EXPECT_EQ(
    find("api-error")->message,
    "The context has died though no kernel was launched: cudaErrorIllegalAddress (700) was reported by cudaDeviceSynchronize, and "
    "2 later calls failed because of it.");
  EXPECT_TRUE(is_not_checked("leak", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_F(Frees, CodesThatSayNothingAboutTheAddress) {
  for (const std::uint16_t code : std::initializer_list<std::uint16_t>{3, 4, 100, 201, 709}) {
    TraceWriter fresh;
    std::swap(trace, fresh);
    cuda_free(kHost, code);
    run();
    EXPECT_EQ(find("invalid-free"), nullptr) << code;
    std::swap(trace, fresh);
  }
}

TEST_F(Frees, RuntimeRowsAreCheckedNeverApplied) {
  cuda_malloc(kA, kMiB);
  log().release({.api = "cudaFree", .flags = trace::kFlagRuntime}, FreeFunction::kMemFree, kA);
  log().release({.api = "cudaFreeHost", .result = 1, .flags = trace::kFlagRuntime},
                FreeFunction::kMemFreeHost, kA);
  run();
  EXPECT_EQ(kinds(), "mismatched-free leak");
}

TEST_F(Frees, NestedCallsChangeNothing) {
  cuda_malloc(kA, kMiB);
  log().release({.api = "cuMemFree_v2", .flags = trace::kFlagNested}, FreeFunction::kMemFree, kA);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(Frees, FreeInFlightIsNeitherLeakNorFreed) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA, trace::kResultInFlight);
  run();
  EXPECT_EQ(kinds(), "unfinished-call");
}

TEST_F(Frees, OrderAcrossThreadsDecides) {
  log(0).alloc({.api = "cuMemAlloc_v2", .order = 10}, MemoryKind::kDevice, kA, 64);
  log(1).release({.api = "cuMemFree_v2", .order = 11}, FreeFunction::kMemFree, kA);
  log(0).alloc({.api = "cuMemAlloc_v2", .order = 12}, MemoryKind::kDevice, kA, 64);
  log(1).release({.api = "cuMemFree_v2", .order = 13}, FreeFunction::kMemFree, kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
  EXPECT_EQ(result.process.totals.threads, 2u);
}

} // namespace
} // namespace gmt::test
