// SPDX-License-Identifier: Apache-2.0
// Order of streams: calls that wait by themselves, what counts as a use, graphs, and where nothing
// is known.

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

class StreamUses : public StreamOrders {};

TEST_F(StreamUses, PlainFreeWaitsForNothing) {
  malloc_on(kS);
  set_on(kS);
  cuda_free(kA);
  malloc_on(kS);
  set_on(kS);
  sync(SyncOp::kStreamSynchronize, kS);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].count, 1u);
  EXPECT_EQ(
    result.findings[0].message,
    "cudaFree frees 1.0 MiB of stream-ordered device memory allocated by cudaMallocAsync at once, but "
    "stream 0x5500 may still be using it: this call does not wait for stream-ordered memory.");
}

TEST_F(StreamUses, FreeingOtherMemoryMayWait) {
  cuda_malloc(kB, kMiB);
  malloc_on(kS);
  cuda_free(kB);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, CopiesThatWait) {
  stream(0xb1, 0);
  malloc_on(0xb1);
  set_on(0xb1);
  copy(kHost, kA, kDefault, false, Side::kHost, Side::kDevice); // waits for the default stream
  set_on(kT);
  // To pageable memory: returns when complete
  copy(kHost, kA, kT, true, Side::kHost, Side::kDevice);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, CopiesThatDoNotWait) {
  cuda_malloc_host(kB, kMiB);
  malloc_on(kS);
  set_on(kS);
  copy(kB, kA, kS, true, Side::kHost, Side::kDevice); // to pinned memory
  set_on(kT);
  free_all();
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kB);
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamUses, LaunchArgumentsAreUses) {
  kernel(0xf0, 8, 2);
  malloc_on(kS);
  launch(0xf0, kT, {kA + 64, 0});
  free_all();
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].api, "cudaLaunchKernel");
}

// Begin and end of a block, or two blocks side by side.
TEST_F(StreamUses, TheEndOfTheBlockBeforeMayBeMeant) {
  kernel(0xf0, 8, 2);
  malloc_on(kT, kA);
  malloc_on(kS, kA + kMiB);
  launch(0xf0, kT, {kA, kA + kMiB});
  free_on(kT, kA);
  free_on(kS, kA + kMiB);
  run();
  ASSERT_EQ(kinds(), "stream-order stream-order"); // used early, freed in use
  for (const ReportedFinding& f : result.findings) {
    EXPECT_EQ(f.severity, Severity::kWarning);
    EXPECT_NE(
      f.message.find(
        "; unless the kernel's parameter 2 is only the end of 1.0 MiB of stream-ordered device "
        "memory allocated by cudaMallocAsync, into which another one points."),
      std::string::npos)
      << f.message;
  }
}

TEST_F(StreamUses, AnotherLaunchShowsThatItIsAnEnd) {
  kernel(0xf0, 8, 2);
  malloc_on(kT, kA);
  malloc_on(kS, kA + kMiB);
  launch(0xf0, kT, {kA, kA + kMiB});
  free_on(kT, kA);
  free_on(kS, kA + kMiB);
  malloc_on(kT, kB);
  launch(0xf0, kT, {kB, kB + kMiB}); // nothing there
  free_on(kT, kB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, WhatIsMeantForSureStaysAnError) {
  kernel(0xf0, 8, 2);
  malloc_on(kT, kA);
  malloc_on(kS, kA + kMiB);
  order(kS, kT);
  set_on(kT, kA + kMiB);
  launch(0xf0, kT, {kA, kA + kMiB});
  free_on(kT, kA);
  free_on(kS, kA + kMiB);
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].severity, Severity::kError);
}

TEST_F(StreamUses, APointerThatCountsFromOneMayBeMeant) {
  kernel(0xf0, 8, 2);
  malloc_on(kS, kA);
  malloc_on(kT, kA + kMiB);
  launch(0xf0, kT, {kA + kMiB - 4, 0});
  sync(SyncOp::kContextSynchronize, 0);
  free_on(kS, kA);
  free_on(kT, kA + kMiB);
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_NE(result.findings[0].message.find("is only a pointer that counts from 1 into 1.0 MiB"),
            std::string::npos);
}

TEST_F(StreamUses, LargeStructuresMayHoldOldPointers) {
  kernel(0xf0, 512, 1);
  malloc_on(kS);
  launch(0xf0, kT, {kA});
  free_on(kS);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, CapturedWorkDoesNotRun) {
  malloc_on(kS);
  sync(SyncOp::kBeginCapture, kT);
  set_on(kT);
  order(kT, 0x7700); // a second stream joins the capture
  set_on(0x7700);
  order(0x7700, kT);
  sync(SyncOp::kEndCapture, kT, 0x99);
  free_on(kS);
  malloc_on(kS);
  set_on(0x7700); // runs again
  free_all();
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].count, 1u);
}

TEST_F(StreamUses, GraphsOfCapturesAreInStreamOrder) {
  sync(SyncOp::kBeginCapture, kT);
  sync(SyncOp::kEndCapture, kT, 0x99);
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x9a)
                                                         .object(ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x99));
  malloc_on(kS);
  sync(SyncOp::kGraphLaunch, kT, 0x9a);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamUses, OtherGraphsMayWaitForAnything) {
  malloc_on(kS);
  sync(SyncOp::kGraphLaunch, kT, 0x9a);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, WaitsThatNoCallReports) {
  malloc_on(kS);
  sync(SyncOp::kExternalWait, kT);
  set_on(kT);
  free_all();
  malloc_on(kS);
  set_on(kT);
  sync(SyncOp::kHostFunction, kT); // may let the host know that the set is done
  free_on(kS);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, ADestroyedStreamsHandleIsAnotherStream) {
  malloc_on(kS);
  order(kS, kT);
  set_on(kT);
  log().record(
    {.api = "cuStreamDestroy_v2"},
    Made<trace::LifeFields>().handle(kS).object(ObjectClass::kStream).op(trace::LifeOp::kDestroy));
  stream(0x7700, kNonBlocking);
  stream(kS, kNonBlocking);
  set_on(0x7700, kB);
  free_on(kS);
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamUses, ImportedMemoryWasAllocatedElsewhere) {
  log().alloc({.api = "cuMemPoolImportPointer"}, MemoryKind::kPoolImport, kA, 0);
  log().record({.api = "cuMemsetD8Async", .flags = trace::kSetAsync},
               Made<trace::SetFields>().destination(kA).bytes(1).stream(kT));
  free_on(kT);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamUses, TooManyStreamsAreNotChecked) {
  malloc_on(kS);
  for (std::uint64_t i = 0; i < 300; ++i) {
    stream(0x100000 + i, kNonBlocking);
    set_on(0x100000 + i, kB);
  }
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("stream-order", "256 streams"));
}

TEST_F(StreamUses, LostRecordsMayHaveOrdered) {
  malloc_on(kS);
  set_on(kT);
  free_all();
  log().record({.api = ""},
               Made<trace::LossFields>().cause(trace::LossCause::kTraceLimit).records(5), {0, 0});
  log().header.lost[static_cast<unsigned>(trace::LossCause::kTraceLimit)] = 5;
  run();
  EXPECT_EQ(find("stream-order"), nullptr);
  EXPECT_TRUE(is_not_checked("stream-order", "lost"));
}

} // namespace
} // namespace gmt::test
