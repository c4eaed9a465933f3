// SPDX-License-Identifier: Apache-2.0
// Releases of what is no linear device memory: arrays, registered and pinned host memory.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class ArrayAndHostFrees : public AnalysisTest {
protected:
  ArrayAndHostFrees() {
    expect_only(
      {"api-error", "double-free", "invalid-free", "leak", "mismatched-free", "unfinished-call"});
  }
};

TEST_F(ArrayAndHostFrees, UnregisterTwiceIsADoubleFreeInItsOwnWords) {
  log().alloc({.api = "cuMemHostRegister_v2", .via = "cudaHostRegister"}, MemoryKind::kRegistered,
              kHost, 4096);
  log().release({.api = "cuMemHostUnregister", .via = "cudaHostUnregister"},
                FreeFunction::kHostUnregister, kHost);
  log().release({.api = "cuMemHostUnregister", .via = "cudaHostUnregister", .result = 713},
                FreeFunction::kHostUnregister, kHost);
  run();
  ASSERT_EQ(kinds(), "double-free");
  EXPECT_EQ(find("double-free")->message,
            "cudaHostUnregister of 0x55d000001000, which was already unregistered: "
            "4.0 KiB of registered host memory registered by cudaHostRegister.");
  EXPECT_EQ(labels(*find("double-free")),
            "unregistered again here|first unregistered here|registered here");
}

TEST_F(ArrayAndHostFrees, FreeHostOfMemoryOnceRegisteredIsNoDoubleFree) {
  log().alloc({.api = "cuMemHostRegister_v2", .via = "cudaHostRegister"}, MemoryKind::kRegistered,
              kHost, 4096);
  log().release({.api = "cuMemHostUnregister", .via = "cudaHostUnregister"},
                FreeFunction::kHostUnregister, kHost);
  log().release({.api = "cuMemFreeHost", .via = "cudaFreeHost", .result = 1},
                FreeFunction::kMemFreeHost, kHost);
  run();
  EXPECT_EQ(kinds(), "invalid-free");
}

// To a second destruction of an array the driver answers that its context is gone (709).
TEST_F(ArrayAndHostFrees, ALevelOfAnArrayIsNoArrayOfItsOwn) {
  log().alloc({.api = "cuMipmappedArrayCreate"}, MemoryKind::kMipmappedArray, kA, 4096);
  log().record({.api = "cuMipmappedArrayGetLevel"}, Made<trace::LifeFields>()
                                                      .handle(kB)
                                                      .object(trace::ObjectClass::kArrayView)
                                                      .op(trace::LifeOp::kCreate)
                                                      .extra(kA));
  log().release({.api = "cuArrayDestroy"}, FreeFunction::kArrayDestroy, kB);
  log().release({.api = "cuMipmappedArrayDestroy"}, FreeFunction::kMipmappedArrayDestroy, kA);
  // Of what was not seen made
  log().release({.api = "cuArrayDestroy"}, FreeFunction::kArrayDestroy, kA + 0x77);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("memory from unseen calls", "1 release"));
}

TEST_F(ArrayAndHostFrees, ArrayDestroyedTwice) {
  log().alloc({.api = "cuArrayCreate_v2", .stack = {0x1}}, MemoryKind::kArray, kA, 4096);
  log().release({.api = "cuArrayDestroy", .stack = {0x2}}, FreeFunction::kArrayDestroy, kA);
  log().release({.api = "cuArrayDestroy", .result = 709, .stack = {0x3}},
                FreeFunction::kArrayDestroy, kA);
  run();
  EXPECT_EQ(kinds(), "double-free");
}

// Registered host memory may lie over an allocation of CUDA's: each has its own life.
TEST_F(ArrayAndHostFrees, RegisteredOverAnAllocation) {
  cuda_malloc_host(kA, 8192);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kA + 4096, 4096);
  cuda_memcpy(kA + 4096, kHost, 4096);
  log().release({.api = "cuMemHostUnregister"}, FreeFunction::kHostUnregister, kA + 4096);
  cuda_memcpy(kA + 4096, kHost, 4096);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(ArrayAndHostFrees, HostFreeOfPinnedAndRegisteredMemory) {
  cuda_malloc_host(kA, 4096);
  log().release({.api = "free", .result = trace::kResultInFlight, .stack = {0x9}},
                FreeFunction::kHostFree, kA);
  log().alloc({.api = "cuMemHostRegister_v2", .via = "cudaHostRegister"}, MemoryKind::kRegistered,
              kHost, 4096);
  log().release({.api = "free", .stack = {0xa}}, FreeFunction::kHostFree, kHost);
  log().release({.api = "free"}, FreeFunction::kHostFree, 0x1234000); // ordinary memory
  run();
  EXPECT_EQ(kinds(), "mismatched-free leak leak");
  EXPECT_EQ(result.findings[0].advice, "Free it with cudaFreeHost.");
  const ReportedFinding& registered = result.findings[2];
  EXPECT_EQ(registered.message,
            "4.0 KiB of registered host memory was never unregistered, though the host "
            "freed the memory behind it.");
  EXPECT_EQ(registered.advice, "Call cudaHostUnregister before the memory is freed.");
  ASSERT_EQ(registered.stacks.size(), 2U);
  EXPECT_EQ(registered.stacks[1].label, "host memory freed here");
}

} // namespace
} // namespace gmt::test
