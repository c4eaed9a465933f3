// SPDX-License-Identifier: Apache-2.0
// Order of streams by events, by the host's waits and by default streams: what is found and what is
// not.

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

TEST_F(StreamOrders, UsedBeforeItsAllocation) {
  malloc_on(kS);
  set_on(kT);
  free_all();
  run();
  ASSERT_EQ(kinds(), "stream-order");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.message,
            "cudaMemsetAsync on stream 0x6600 uses 1.0 MiB of stream-ordered device memory "
            "allocated by cudaMallocAsync, but it was allocated on stream 0x5500 and nothing "
            "orders the two.");
  EXPECT_EQ(
    f.advice,
    "Call cudaEventRecord on stream 0x5500 behind the last work there whose result this call needs, "
    "at the earliest behind the allocation, and cudaStreamWaitEvent on stream 0x6600 before this "
    "call.");
  EXPECT_EQ(labels(f), "used here|allocated here");
}

TEST_F(StreamOrders, FreedWhileUsedElsewhere) {
  malloc_on(kS);
  order(kS, kT);
  set_on(kT);
  free_on(kS);
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(
    result.findings[0].message,
    "cudaFreeAsync on stream 0x5500 frees 1.0 MiB of stream-ordered device memory allocated by "
    "cudaMallocAsync, but stream 0x6600 uses it and nothing orders that use before the free.");
  EXPECT_EQ(labels(result.findings[0]), "freed here|used here|allocated here");
}

TEST_F(StreamOrders, FreedOnAnotherStream) {
  malloc_on(kS);
  set_on(kS);
  free_on(kT);
  malloc_on(kS, kB);
  free_on(kT, kB); // never used, yet not allocated there
  run();
  ASSERT_EQ(kinds(), "stream-order stream-order");
  EXPECT_EQ(labels(result.findings[0]), "freed here|allocated here");
  EXPECT_EQ(labels(result.findings[1]), "freed here|used here|allocated here");
}

TEST_F(StreamOrders, EventsOrder) {
  malloc_on(kS);
  order(kS, kT);
  set_on(kT);
  order(kT, kS);
  free_on(kS);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamOrders, EventsOrderThroughThirdStreams) {
  stream(0x7700, kNonBlocking);
  malloc_on(kS);
  order(kS, 0x7700);
  order(0x7700, kT);
  set_on(kT);
  order(kT, 0x7700);
  free_on(0x7700);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamOrders, AnEventCoversOnlyWhatWasBeforeIt) {
  malloc_on(kS);
  order(kS, kT);
  set_on(kT);
  sync(SyncOp::kEventRecord, kT, kEvent);
  set_on(kT);
  sync(SyncOp::kStreamWaitEvent, kS, kEvent);
  free_on(kS);
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamOrders, AWaitForAnEventNeverRecordedOrdersNothing) {
  malloc_on(kS);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamOrders, EventsOfOthersOrderEverything) {
  malloc_on(kS);
  sync(SyncOp::kStreamWaitEvent, kT, 0xe1); // never created here
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamOrders, TheHostsWaitsOrder) {
  malloc_on(kS);
  sync(SyncOp::kStreamSynchronize, kS);
  set_on(kT);
  sync(SyncOp::kEventRecord, kT, kEvent);
  sync(SyncOp::kEventSynchronize, 0, kEvent);
  free_on(kS);
  malloc_on(kS);
  sync(SyncOp::kStreamQuery, kS);
  set_on(kT);
  sync(SyncOp::kEventRecord, kT, kEvent);
  sync(SyncOp::kEventQuery, 0, kEvent);
  free_on(kS);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamOrders, AQueryThatIsNotReadyOrdersNothing) {
  malloc_on(kS);
  sync(SyncOp::kStreamQuery, kS, 0, 600);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamOrders, SynchronisingAnotherStreamOrdersNothing) {
  malloc_on(kS);
  sync(SyncOp::kStreamSynchronize, kT);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamOrders, TheDefaultStreamOrdersBlockingStreams) {
  stream(0xb1, 0);
  stream(0xb2, 0);
  malloc_on(0xb1);
  set_on(kDefault); // after the first blocking stream
  set_on(0xb2);     // after the default stream
  malloc_on(kDefault, kB);
  set_on(0xb1, kB);
  set_on(kDefault, kC);
  free_on(kDefault, kB);
  free_on(kDefault);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamOrders, TheDefaultStreamPassesOnWhatBlockingStreamsWaitedFor) {
  stream(0xb1, 0);
  stream(0xb2, 0);
  malloc_on(kS);
  order(kS, 0xb1);
  set_on(kDefault);
  set_on(0xb2);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamOrders, TheDefaultStreamDoesNotOrderNonBlockingStreams) {
  malloc_on(kS);
  set_on(kDefault);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamOrders, BlockingStreamsDoNotOrderEachOther) {
  stream(0xb1, 0);
  stream(0xb2, 0);
  set_on(kDefault, kB);
  malloc_on(0xb1);
  set_on(0xb2);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamOrders, EachThreadHasItsDefaultStream) {
  malloc_on(kThread);
  set_on(kThread, kA, 0);
  set_on(kThread, kA, 1);
  free_all();
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].count, 1u);
  EXPECT_NE(result.findings[0].message.find("the thread's default stream"), std::string::npos);
}

} // namespace
} // namespace gmt::test
