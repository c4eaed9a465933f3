// SPDX-License-Identifier: Apache-2.0
// Captures: which streams take part, and when they end.

#include "analyzer/cuda_state/captures.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/support/event_maker.h"
#include "trace/cuda_results.h"

namespace gmt::test {
namespace {

using trace::SyncOp;

constexpr std::uint64_t kS = 0x5500, kT = 0x6600, kEvent = 0xe0, kGraph = 0x70;

class Captures : public testing::Test {
protected:
  Event sync(SyncOp op, std::uint64_t stream, std::uint64_t other = 0, std::uint16_t result = 0,
             std::uint32_t thread = 0, std::uint64_t flags = 0) {
    const Event e = make(Made<trace::SyncFields>().stream(stream).other(other).op(op).flags(flags),
                         {.result = result, .thread = thread});
    table.on_sync(e);
    return e;
  }
  std::uint64_t of(std::uint64_t stream, std::uint32_t thread = 0) {
    return table.of(make(Made<trace::LaunchFields>(), {.thread = thread}), stream);
  }
  EventMaker make;
  CaptureTable table;
};

TEST_F(Captures, FromBeginToEnd) {
  EXPECT_FALSE(table.any());
  sync(SyncOp::kBeginCapture, kS, 0, 0, 7);
  EXPECT_EQ(of(kS), kS);
  EXPECT_EQ(of(kT), 0u);
  EXPECT_TRUE(table.has_begun_in(7));
  EXPECT_FALSE(table.has_begun_in(8));
  const Event end = sync(SyncOp::kEndCapture, kS, kGraph);
  EXPECT_EQ(CaptureTable::ended_by(end), kS);
  EXPECT_EQ(of(kS), 0u);
  EXPECT_FALSE(table.any());
  EXPECT_FALSE(table.has_begun_in(7));
}

TEST_F(Captures, ABeginThatWasRefusedIsNone) {
  sync(SyncOp::kBeginCapture, kS, 0, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(table.any());
}

TEST_F(Captures, AnInvalidatedOneEnds) {
  sync(SyncOp::kBeginCapture, kS);
  const Event end = sync(SyncOp::kEndCapture, kS, 0, cuda::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_TRUE(CaptureTable::ended_by(end));
  EXPECT_FALSE(table.any());
}

TEST_F(Captures, TheWrongThreadEndsNothing) {
  sync(SyncOp::kBeginCapture, kS);
  const Event end = sync(SyncOp::kEndCapture, kS, 0, cuda::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_FALSE(CaptureTable::ended_by(end));
  sync(SyncOp::kEndCapture, kS, 0, trace::kResultInFlight);
  EXPECT_EQ(of(kS), kS);
}

TEST_F(Captures, AStreamJoinsByAnEvent) {
  sync(SyncOp::kBeginCapture, kS);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent); // not recorded in the capture
  EXPECT_EQ(of(kT), 0u);
  sync(SyncOp::kEventRecord, kS, kEvent);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  EXPECT_EQ(of(kT), kS);
  sync(SyncOp::kEndCapture, kS, kGraph);
  EXPECT_EQ(of(kT), 0u);
}

TEST_F(Captures, AnEventThatIsRecordedElsewhereIsAnotherOne) {
  sync(SyncOp::kBeginCapture, kS);
  sync(SyncOp::kEventRecord, kS, kEvent);
  sync(SyncOp::kEventRecord, 0x7700, kEvent);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  EXPECT_EQ(of(kT), 0u);
}

TEST_F(Captures, EventsOfTheGraphJoinNothing) {
  sync(SyncOp::kBeginCapture, kS);
  sync(SyncOp::kEventRecord, kS, kEvent, 0, 0, trace::kSyncExternal);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  EXPECT_EQ(of(kT), 0u);
}

TEST_F(Captures, TwoAtOnce) {
  sync(SyncOp::kBeginCapture, kS);
  sync(SyncOp::kBeginCapture, kT);
  sync(SyncOp::kEndCapture, kS, kGraph);
  EXPECT_EQ(of(kS), 0u);
  EXPECT_EQ(of(kT), kT);
}

TEST_F(Captures, ThreadsDefaultStreamsAreApart) {
  sync(SyncOp::kBeginCapture, cuda::kStreamPerThread, 0, 0, 1);
  EXPECT_NE(of(cuda::kStreamPerThread, 1), 0u);
  EXPECT_EQ(of(cuda::kStreamPerThread, 2), 0u);
}

} // namespace
} // namespace gmt::test
