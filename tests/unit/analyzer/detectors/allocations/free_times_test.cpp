// SPDX-License-Identifier: Apache-2.0
// Releases at a time that CUDA does not allow: while the driver unloads, inside host callbacks.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class FreeTimes : public AnalysisTest {
protected:
  FreeTimes() { expect_only({"api-error", "free-in-callback", "late"}); }
};

TEST_F(FreeTimes, FreeDuringUnloadingIsNoLeakButLate) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA, 4);
  cuda_malloc_host(kB, kMiB);
  log().release({.api = "cudaFreeHost", .result = 4, .flags = trace::kFlagRuntime},
                FreeFunction::kMemFreeHost, kB);
  run();
  ASSERT_EQ(kinds(), "late late");
  EXPECT_EQ(result.findings[0].severity, Severity::kNote);
  EXPECT_EQ(
    result.findings[0].message,
    "cudaFree came too late for 1.0 MiB of device memory allocated by cudaMalloc: CUDA was already being "
    "unloaded (CUDA_ERROR_DEINITIALIZED (4)).");
  EXPECT_EQ(labels(result.findings[0]), "freed too late here|allocated here");
}

TEST_F(FreeTimes, InsideAHostCallback) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA, 800);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "free-in-callback");
  const ReportedFinding& f = *find("free-in-callback");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "cudaFree was called inside a host callback, where CUDA refuses it with cudaErrorNotPermitted "
    "(800): 1.0 MiB of device memory allocated by cudaMalloc stays allocated.");
  EXPECT_EQ(labels(f), "freed here|allocated here");
}

TEST_F(FreeTimes, WhatAStaticRuntimeRefusesIsNotSeen) {
  const auto retain = [this](const char* via) {
    log().life({.api = "cuDevicePrimaryCtxRetain", .via = via}, 0,
               trace::ObjectClass::kPrimaryContext, trace::LifeOp::kRetain);
  };
  const auto callback = [this] {
    log().record({.api = "cuLaunchHostFunc"},
                 Made<trace::SyncFields>().stream(0x51).op(trace::SyncOp::kHostFunction));
  };
  retain("");
  run();
  EXPECT_FALSE(is_not_checked("free-in-callback", "statically linked")); // there is none
  callback();
  run();
  EXPECT_TRUE(is_not_checked("free-in-callback", "statically linked"));
  retain("cudaMalloc");
  run();
  EXPECT_FALSE(is_not_checked("free-in-callback", "statically linked"));
}

TEST_F(FreeTimes, AProgramThatCallsTheDriverAloneHasNoRuntime) {
  const auto retain = [this](std::uint64_t runtime) {
    log().record({.api = "cuDevicePrimaryCtxRetain"}, Made<trace::LifeFields>()
                                                        .object(trace::ObjectClass::kPrimaryContext)
                                                        .op(trace::LifeOp::kRetain)
                                                        .runtime(runtime));
  };
  log().record({.api = "cuLaunchHostFunc"},
               Made<trace::SyncFields>().stream(0x51).op(trace::SyncOp::kHostFunction));
  retain(1); // none had asked the driver for its functions
  run();
  EXPECT_FALSE(is_not_checked("free-in-callback", "statically linked"));
  retain(2);
  run();
  EXPECT_TRUE(is_not_checked("free-in-callback", "statically linked"));
}

// Of a thread that is not joined.
TEST_F(FreeTimes, WorkWhileTheProcessEndsIsAWarning) {
  log(1).alloc({.api = "cudaMalloc", .result = 4, .stack = {0x100}}, MemoryKind::kDevice, 0, kMiB);
  log(1).alloc({.api = "cudaMalloc", .result = 4, .stack = {0x100}}, MemoryKind::kDevice, 0, kMiB);
  run();
  ASSERT_EQ(kinds(), "late");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(result.findings[0].count, 2u);
  EXPECT_NE(result.findings[0].message.find("cudaMalloc came too late: CUDA was already"),
            std::string::npos);
}

TEST_F(FreeTimes, LeaksThatACallbackMayHaveTriedToPrevent) {
  expect_only({"leak"});
  const auto alloc = [this](std::uint64_t address, std::uint64_t from) {
    log().alloc({.api = "cuMemAlloc_v2", .stack = {from}}, MemoryKind::kDevice, address, kMiB);
  };
  log().life({.api = "cuDevicePrimaryCtxRetain"}, 0, trace::ObjectClass::kPrimaryContext,
             trace::LifeOp::kRetain);
  alloc(kA, 0x100);
  log().record({.api = "cuLaunchHostFunc"},
               Made<trace::SyncFields>().stream(0x51).op(trace::SyncOp::kHostFunction));
  alloc(kB, 0x101); // behind the callback
  run();
  ASSERT_EQ(kinds(), "leak leak");
  EXPECT_NE(result.findings[0].advice.find(
              "A host callback was given to a stream after the allocation, and may have tried"),
            std::string::npos);
  EXPECT_EQ(result.findings[1].advice.find("callback"), std::string::npos);
  EXPECT_TRUE(is_not_checked("late", "such memory is among the leaks")); // a static object's
}

// A known library keeps its memory until the end, however the runtime is linked.
TEST_F(FreeTimes, MemoryOfALibraryIsNotAmongThose) {
  expect_only({"leak"});
  trace.modules = {"+\t1\t100\t500\t0\t-\t/usr/lib/libcublasLt.so.13"};
  log().alloc({.api = "cuMemAlloc_v2", .stack = {0x300}}, MemoryKind::kDevice, kA, kMiB);
  log().life({.api = "cuDevicePrimaryCtxRetain"}, 0, trace::ObjectClass::kPrimaryContext,
             trace::LifeOp::kRetain);
  run();
  EXPECT_FALSE(is_not_checked("late", "such memory is among the leaks"));
}

TEST_F(FreeTimes, OtherCallsInsideAHostCallbackAreApiErrors) {
  cuda_malloc(kA, kMiB);
  cuda_memcpy(kA, kHost, 100, 800);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "api-error");
  EXPECT_NE(find("api-error")->advice.find("host callback"), std::string::npos);
}

} // namespace
} // namespace gmt::test
