// SPDX-License-Identifier: Apache-2.0
// Failed calls: api-error and what it leaves out, out-of-memory with its holders, calls that never
// returned.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Errors : public AnalysisTest {
protected:
  Errors() {
    expect_only({"api-error", "leak", "out-of-memory", "unfinished-call", "use-after-free"});
  }
  void note(const Call& call) { log().record(Kind::kNote, call, {0, 0, 0, 0}); }
};

TEST_F(Errors, FailedCallByName) {
  note({.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .result = 9, .stack = {1}});
  note({.api = "cuMemPoolTrimTo", .result = 1});
  note({.api = "cuMemPoolTrimTo", .result = 1234});
  run();
  ASSERT_EQ(kinds(), "api-error api-error api-error");
  EXPECT_EQ(result.findings[0].message,
            "cudaLaunchKernel failed with cudaErrorInvalidConfiguration (9).");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(labels(result.findings[0]), "failed here");
  EXPECT_EQ(result.findings[1].message,
            "cuMemPoolTrimTo failed with CUDA_ERROR_INVALID_VALUE (1).");
  EXPECT_EQ(result.findings[2].message, "cuMemPoolTrimTo failed with error 1234.");
}

TEST_F(Errors, OfACaptureSayWhatToDo) {
  note({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .result = 900});
  note({.api = "cuStreamEndCapture", .via = "cudaStreamEndCapture", .result = 904});
  run();
  ASSERT_EQ(kinds(), "api-error api-error");
  EXPECT_TRUE(result.findings[0].advice.starts_with("A stream was being captured, and this call"));
  EXPECT_NE(result.findings[1].advice.find("its work was not joined"), std::string::npos);
}

TEST_F(Errors, ProbingIsNoError) {
  note({.api = "cuPointerGetAttributes", .result = 1});
  note({.api = "cuCtxGetDevice", .result = 201});
  note({.api = "cuStreamQuery", .result = 600});
  note({.api = "cuCtxEnablePeerAccess", .via = "cudaDeviceEnablePeerAccess", .result = 704});
  note({.api = "cuDeviceGetP2PAttribute", .result = 1});
  note({.api = "cuInit", .result = 100});
  note({.api = "cuModuleGetGlobal_v2", .result = 500});
  note({.api = "cuMemFree_v2", .result = 4});
  note({.api = "cuMemCreate", .result = 800}); // no IMEX channel for a fabric handle
  note({.api = "cuMemPoolCreate", .result = 801});
  run();
  EXPECT_EQ(kinds(), "");
}

// exit() takes CUDA down under threads that still run. Destructors run in the thread that called
// it.
TEST_F(Errors, WhileAnotherThreadExits) {
  const auto fail = [&](std::size_t thread, const char* api) {
    log(thread).set({.api = api, .result = 400}, 0x5000, 4);
  };
  trace.complete.clear(); // it has an exit of its own, before all that is recorded
  fail(0, "cuMemsetD8_v2");
  fail(1, "cuMemsetD16_v2");
  log(0).exit(trace::ExitWay::kExit, 0);
  fail(0, "cuMemsetD32_v2");
  fail(1, "cuMemsetD8Async");
  run();
  ASSERT_EQ(result.findings.size(), 4u);
  for (const auto& finding : result.findings) {
    const bool is_other = finding.message == "While another thread was in exit(), cuMemsetD8Async "
                                             "failed with CUDA_ERROR_INVALID_HANDLE (400).";
    EXPECT_EQ(finding.severity, is_other ? Severity::kNote : Severity::kWarning);
    EXPECT_EQ(finding.message.find("exit()") != std::string::npos, is_other) << finding.api;
  }
}

TEST_F(Errors, RegisteringTwiceIsOne) {
  log().alloc({.api = "cuMemHostRegister_v2", .via = "cudaHostRegister", .result = 712},
              MemoryKind::kRegistered, kHost, 64);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Errors, RuntimesRetryIsForgiven) {
  for (const std::uint16_t code : std::initializer_list<std::uint16_t>{3, 201, 709}) {
    log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .result = code},
                MemoryKind::kStreamOrdered, 0, 64);
    note({.api = "cuDevicePrimaryCtxRetain", .via = "cudaMallocAsync"});
    log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync"}, MemoryKind::kStreamOrdered,
                kA, 64);
    log().release({.api = "cuMemFreeAsync", .via = "cudaFreeAsync"}, FreeFunction::kMemFreeAsync,
                  kA);
  }
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Errors, RetryThatNeverSucceedsIsOne) {
  log(0).alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .result = 201},
               MemoryKind::kStreamOrdered, 0, 64);
  log(1).alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync"}, MemoryKind::kStreamOrdered, kA,
               64); // another thread
  log(1).release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, kA);
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Errors, WithoutTheRuntimeThereIsNoRetry) {
  note({.api = "cuMemPoolTrimTo", .result = 201});
  run();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(Errors, OnlyTheFirstReportOfAStickyError) {
  note({.api = "cuMemPoolTrimTo", .result = 1});
  log().record(
    {.api = "cuStreamSynchronize", .via = "cudaStreamSynchronize", .result = 719, .stack = {7}},
    Made<trace::SyncFields>().op(trace::SyncOp::kStreamSynchronize));
  for (int i = 0; i < 5; ++i) note({.api = "cuMemPoolTrimTo", .result = 719});
  run();
  ASSERT_EQ(kinds(), "api-error api-error");
  EXPECT_EQ(result.findings[1].message,
            "The context has died though no kernel was launched: cudaErrorLaunchFailure (719) was "
            "reported by cudaStreamSynchronize, and 5 later calls failed because of it.");
}

// A copy to a mapping that no device was given access to, and what may have been refused for
// something else.
class Mappings : public Errors {
protected:
  void SetUp() override {
    trace.format = "1.4";
    map(kA);
  }
  void map(std::uint64_t address) {
    log().alloc({.api = "cuMemMap", .stack = {0x400}}, MemoryKind::kVmmMapping, address, kMiB,
                0x71);
  }
  void access(std::uint64_t address, std::uint64_t bytes, std::uint16_t flags,
              std::uint16_t code = 0) {
    log().record(
      {.api = "cuMemSetAccess", .result = code, .flags = flags},
      Made<trace::UseFields>().address(address).bytes(bytes).use(trace::UseClass::kAccess));
  }
  std::string refused_copy(std::uint64_t bytes = kMiB, std::uint16_t code = 1) {
    log().copy({.api = "cuMemcpyHtoD_v2", .result = code}, kA, kHost, bytes, Side::kDevice,
               Side::kHost);
    run();
    return find("api-error") != nullptr ? find("api-error")->message : "";
  }
  static constexpr std::uint16_t kBoth = trace::kUseReads | trace::kUseWrites;
  static constexpr const char* kUnexplained =
    "cuMemcpyHtoD failed with CUDA_ERROR_INVALID_VALUE (1).";
};

TEST_F(Mappings, NoDeviceWasGivenAccess) {
  access(kA, kMiB, 0); // takes away
  EXPECT_EQ(
    refused_copy(),
    "cuMemcpyHtoD failed with CUDA_ERROR_INVALID_VALUE (1): its destination is 1.0 MiB of mapped "
    "memory (VMM) allocated by cuMemMap, to which no device was given access.");
  const ReportedFinding& f = *find("api-error");
  EXPECT_EQ(
    f.advice,
    "After cuMemMap, give each device that uses the mapping access to it with cuMemSetAccess.");
  EXPECT_EQ(labels(f), "failed here|allocated here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x400u);
}

TEST_F(Mappings, RefusedAccessIsNone) {
  access(kA, kMiB, kBoth, 1);
  refused_copy();
  ASSERT_EQ(kinds(), "api-error api-error leak");
  EXPECT_EQ(labels(result.findings[1]), "failed here|allocated here");
}

TEST_F(Mappings, AccessMakesItSomethingElse) {
  access(kA, kMiB, trace::kUseReads);
  EXPECT_EQ(refused_copy(), kUnexplained);
}

TEST_F(Mappings, OneOfTwoSideBySide) {
  map(kA + kMiB);
  access(kA, kMiB, kBoth);
  EXPECT_NE(refused_copy(2 * kMiB).find("no device was given access"), std::string::npos);
}

TEST_F(Mappings, AccessToTwoSideBySide) {
  map(kA + kMiB);
  access(kA, 2 * kMiB, kBoth);
  EXPECT_EQ(refused_copy(2 * kMiB), kUnexplained);
}

TEST_F(Mappings, AccessEndsWithTheMapping) {
  access(kA, kMiB, kBoth);
  log().release({.api = "cuMemUnmap"}, FreeFunction::kMemUnmap, kA, kMiB);
  map(kA);
  EXPECT_NE(refused_copy().find("no device was given access"), std::string::npos);
}

TEST_F(Mappings, OtherErrorsAreNotExplained) {
  EXPECT_EQ(refused_copy(kMiB, 400), "cuMemcpyHtoD failed with CUDA_ERROR_INVALID_HANDLE (400).");
}

TEST_F(Mappings, OlderTracesDoNotRecordWhoHasAccess) {
  trace.format = "1.3";
  EXPECT_EQ(refused_copy(), kUnexplained);
}

TEST_F(Mappings, AnIllegalAddressMayBeThat) {
  EXPECT_EQ(
    refused_copy(kMiB, 700),
    "The context has died: CUDA_ERROR_ILLEGAL_ADDRESS (700) was reported by cuMemcpyHtoD: its destination is 1.0 "
    "MiB of mapped memory (VMM) allocated by cuMemMap, to which no device was given access.");
}

TEST_F(Mappings, ASetAndASource) {
  log().set({.api = "cuMemsetD8_v2", .result = 1}, kA, 16);
  log().copy({.api = "cuMemcpyDtoH_v2", .result = 1}, kHost, kA, 16, Side::kHost, Side::kDevice);
  run();
  ASSERT_EQ(kinds(), "api-error api-error leak");
  EXPECT_NE(result.findings[0].message.find("its target is 1.0 MiB"), std::string::npos);
  EXPECT_NE(result.findings[1].message.find("its source is 1.0 MiB"), std::string::npos);
}

TEST_F(Errors, NestedFailuresAreTheOuterCalls) {
  note({.api = "cuMemPoolTrimTo", .result = 1, .flags = trace::kFlagNested});
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(Errors, OutOfMemoryNamesTheHolders) {
  for (std::uint64_t i = 0; i < 40; ++i)
    cuda_malloc(0x700000000000 + i * 32 * kMiB, 30 * kMiB, 0x1000);
  for (std::uint64_t i = 0; i < 8; ++i) cuda_malloc(kB + i * 2 * kMiB, kMiB, 0x2000 + i);
  for (std::uint64_t i = 0; i < 2; ++i) cuda_malloc(kC + i * kMiB, kMiB, 0x3000);
  for (std::uint64_t i = 0; i < 2; ++i) cuda_free(kC + i * kMiB);
  for (int i = 0; i < 3; ++i) {
    log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .result = 2, .stack = {0x4000}},
                MemoryKind::kDevice, 0, 2048 * kMiB);
  }
  run();
  const ReportedFinding* f = find("out-of-memory");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kWarning);
  EXPECT_EQ(f->count, 3u);
  EXPECT_EQ(
    f->message,
    "cudaMalloc of 2.0 GiB of device memory failed for lack of memory; this program held 1.2 GiB "
    "of device memory in 48 blocks, and the largest piece it had freed is 2.0 MiB (the first of "
    "3 such failures).");
  ASSERT_EQ(f->stacks.size(), 6u);
  EXPECT_EQ(f->stacks[0].label, "failed here");
  EXPECT_EQ(f->stacks[1].label, "held here: 1.2 GiB in 40 blocks");
  EXPECT_EQ(f->stacks[2].label, "held here: 1.0 MiB in 1 block");
  EXPECT_EQ(find("api-error"), nullptr);
}

TEST_F(Errors, FreedAndLiveAgainIsNoHole) {
  cuda_malloc(kA, 8 * kMiB);
  cuda_free(kA);
  cuda_malloc(kA + 2 * kMiB, kMiB); // leaves 2 and 5 MiB
  log().alloc({.api = "cuMemAlloc_v2", .result = 2}, MemoryKind::kDevice, 0, 64 * kMiB);
  run();
  EXPECT_NE(find("out-of-memory")->message.find("largest piece it had freed is 5.0 MiB"),
            std::string::npos);
}

TEST_F(Errors, UnfinishedCalls) {
  log(0).record(Kind::kNote,
                {.api = "cuMemPoolTrimTo", .result = trace::kResultInFlight, .stack = {1}},
                {0, 0, 0, 0});
  log(1).record({.api = "cuCtxSynchronize",
                 .via = "cudaDeviceSynchronize",
                 .result = trace::kResultInFlight,
                 .stack = {2}},
                Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  trace.complete = "how=signalled\nsignal=11\n";
  run();
  ASSERT_EQ(kinds(), "unfinished-call unfinished-call");
  EXPECT_EQ(result.findings[0].message,
            "cudaDeviceSynchronize had not returned when the program was killed by SIGSEGV.");
  EXPECT_EQ(result.findings[0].severity, Severity::kNote);
  EXPECT_EQ(labels(result.findings[0]), "called here");
  trace.complete = "how=exited\n";
  run();
  EXPECT_NE(result.findings[0].message.find("was still running in another thread"),
            std::string::npos);
  trace.complete = "how=unknown\n";
  run();
  EXPECT_EQ(result.findings[0].message,
            "cudaDeviceSynchronize had not returned when the recording ended.");
  EXPECT_EQ(result.findings[0].advice,
            "If the program crashed, look at the arguments of this call first.");
}

} // namespace
} // namespace gmt::test
