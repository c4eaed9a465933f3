// SPDX-License-Identifier: Apache-2.0
// Which launch of the host's, or of a captured graph, a grid on the device is. Nodes that are made
// by hand: node_grids_test.cpp.

#include "analyzer/base/text_format.h"
#include "tests/unit/analyzer/device_heap/launch_of_grid.h"

namespace gmt::test {
namespace {

TEST_F(LaunchOfGrid, IdsCountLaunches) {
  launch(kStep, 4, 64, 401);
  launch(kClean, 4, 64, 402);
  leak_in(1);
  leak_in(2, 2);
  EXPECT_EQ(launches(), "1:401 1:402 ");
}

TEST_F(LaunchOfGrid, WhatHidesTakesIdsToo) {
  launch(kStep, 4, 64, 401);
  launch(kClean, 4, 64, 402);
  leak_in(3);    // two sets of memory came first
  leak_in(5, 2); // and a copy between
  EXPECT_EQ(launches(), "1:401 1:402 ");
}

TEST_F(LaunchOfGrid, OtherExtentsAndKernelsAreNotMeant) {
  launch(kStep, 4, 64, 401);
  launch(kStep, 8, 64, 402);
  launch(kClean, 4, 64, 403);
  leak_in(3);
  EXPECT_EQ(launches(), "1:401 ");
}

// A set took id 1, and the second kernel allocates nothing: no record says that a grid was its.
TEST_F(LaunchOfGrid, AKernelThatLeavesNoRecordIsNotNamed) {
  launch(kStep, 4, 64, 401);
  launch(kClean, 4, 64, 402);
  leak_in(2, 1);
  EXPECT_EQ(launches(), "1:401 ");
  EXPECT_NE(result.findings[0].message.find("in launch 1 of step(int*) at"), std::string::npos);
}

TEST_F(LaunchOfGrid, AFreeNamesTheKernelToo) {
  launch(kStep, 4, 64, 401);
  launch(kClean, 4, 64, 402);
  device.grid(2, 4, 64);
  device.device_free({.grid = 2}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-invalid-free");
  EXPECT_EQ(labels(result.findings[0]), "freed here|launched here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 401u);
}

TEST_F(LaunchOfGrid, EarlierGridsGiveWayToLaterOnes) {
  for (std::uint64_t i = 1; i <= 3; ++i) launch(kStep, 4, 64, 400 + i);
  launch(kClean, 4, 64, 404);
  device.grid(2, 4, 64); // one id was taken before: the first launch
  device.grid(3, 4, 64);
  leak_in(4); // nothing is left for it but what the second seemed to be
  leak_in(5, 2);
  EXPECT_EQ(launches(), "3:403 1:404 ");
}

// Launches of step at 1 and 2 s of the host's clock, from 401 and 402.
class TimeOfGrid : public LaunchOfGrid {
protected:
  static constexpr std::uint64_t kSecond = 1'000'000; // of 1,000 ticks each, and a tick is a
                                                      // nanosecond
  void leak_at(std::uint64_t id, std::uint64_t ms) {
    trace.info.push_back(cat({"tsc=1000\nmonotonic_ns=0\nrealtime_ns=", std::to_string(kEpoch)}));
    trace.complete += "tsc=10001000\nmonotonic_ns=10000000\n";
    for (std::uint64_t i = 1; i <= 2; ++i)
      log().record({.api = "cuLaunchKernel", .stack = {400 + i}, .order = i * kSecond},
                   Made<trace::LaunchFields>().function(kStep).grid({4, 1, 1}).block({64, 1, 1}));
    device.grid(id, 4, 64, kEpoch + ms * 1'000'000);
    device.device_malloc({.grid = id, .time = kEpoch + ms * 1'000'000}, kP, 64);
  }
  std::string launches_if_drained_at(std::uint64_t ms) {
    device.drained(1, 0, 0, 1'000 + ms * kSecond);
    return launches();
  }
  static constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;
};

TEST_F(TimeOfGrid, OneThatRanBeforeALaunchIsNotIts) {
  leak_at(2, 1'900); // a set took an id
  EXPECT_EQ(launches(), "1:401 ");
}

// The second launch's at 2,002 ms: the device is 22 ms behind, as the drain at 2,003 ms shows.
TEST_F(TimeOfGrid, TheDevicesClockMayBeBehind) {
  leak_at(2, 1'980);
  EXPECT_EQ(launches_if_drained_at(2'003), "2:402 ");
}

// The same from a device that is 1 s ahead, where the set took an id.
TEST_F(TimeOfGrid, TheDevicesClockMayBeAhead) {
  leak_at(2, 2'900);
  EXPECT_EQ(launches_if_drained_at(1'903), "1:401 ");
}

TEST_F(LaunchOfGrid, AGraphsKernelsAreNumberedWhenItIsInstantiated) {
  log().record({.api = "cuStreamBeginCapture_v2"},
               Made<trace::SyncFields>().stream(0x77).op(trace::SyncOp::kBeginCapture));
  launch(kStep, 4, 64, 401, 0x77);
  log().record({.api = "cuStreamEndCapture"},
               Made<trace::SyncFields>().stream(0x77).graph(0x99).op(trace::SyncOp::kEndCapture));
  launch(kClean, 4, 64, 402);
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x9e)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x99));
  leak_in(1, 2);
  leak_in(2);
  EXPECT_EQ(launches(), "1:402 0:401 ");
}

// Captures of a stream, from begin to end; 0x99 is the graph that comes out unless the end is
// refused.
class CaptureOfGrid : public LaunchOfGrid {
protected:
  void begin(std::uint64_t stream, unsigned thread = 0) {
    log(thread).record({.api = "cuStreamBeginCapture_v2"},
                       Made<trace::SyncFields>().stream(stream).op(trace::SyncOp::kBeginCapture));
  }
  void end(std::uint64_t stream, std::uint64_t graph, std::uint16_t code = 0, unsigned thread = 0) {
    log(thread).record(
      {.api = "cuStreamEndCapture", .result = code},
      Made<trace::SyncFields>().stream(stream).graph(graph).op(trace::SyncOp::kEndCapture));
  }
  void launch_in(unsigned thread, std::uint64_t from, std::uint64_t stream) {
    log(thread).record(
      {.api = "cuLaunchKernel", .stack = {from}},
      Made<trace::LaunchFields>().function(kStep).stream(stream).grid({4, 1, 1}).block({64, 1, 1}));
  }
};

TEST_F(CaptureOfGrid, TwoAtOnce) {
  begin(0x77);
  begin(0x78);
  launch(kClean, 4, 64, 401, 0x77);
  launch(kStep, 4, 64, 402, 0x78);
  end(0x77, 0x98);
  end(0x78, 0x99);
  instantiate(0x99);
  leak_in(1);
  EXPECT_EQ(launches(), "0:402 ");
}

TEST_F(CaptureOfGrid, OneThatWasInvalidatedLeavesNothing) {
  expect_only({"device-heap-leak"});
  begin(0x77);
  launch(kClean, 4, 64, 401, 0x77);
  end(0x77, 0, 901);
  begin(0x77);
  launch(kStep, 4, 64, 402, 0x77);
  end(0x77, 0x99);
  instantiate(0x99);
  leak_in(1);
  EXPECT_EQ(launches(), "0:402 ");
}

TEST_F(CaptureOfGrid, DefaultStreamsOfThreads) {
  constexpr std::uint64_t kOwn = 2;
  begin(kOwn);
  launch_in(0, 401, kOwn);
  launch_in(1, 402, kOwn); // this thread captures nothing
  end(kOwn, 0x99);
  leak_in(1);
  EXPECT_EQ(launches(), "1:402 ");
}

TEST_F(LaunchOfGrid, AClonesKernelsAreTheGraphs) {
  log().record({.api = "cuStreamBeginCapture_v2"},
               Made<trace::SyncFields>().stream(0x77).op(trace::SyncOp::kBeginCapture));
  launch(kStep, 4, 64, 401, 0x77);
  log().record({.api = "cuStreamEndCapture"},
               Made<trace::SyncFields>().stream(0x77).graph(0x99).op(trace::SyncOp::kEndCapture));
  log().record({.api = "cuGraphClone"}, Made<trace::LifeFields>()
                                          .handle(0x9a)
                                          .object(trace::ObjectClass::kGraph)
                                          .op(trace::LifeOp::kCreate)
                                          .parent(0x99));
  log().record({.api = "cuGraphDestroy"}, Made<trace::LifeFields>()
                                            .handle(0x99)
                                            .object(trace::ObjectClass::kGraph)
                                            .op(trace::LifeOp::kDestroy));
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x9e)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x9a));
  leak_in(1);
  EXPECT_EQ(launches(), "0:401 ");
}

TEST_F(LaunchOfGrid, WithoutALaunchTheSourceLineIsStillReported) {
  leak_in(7);
  EXPECT_EQ(launches(), "0:0 ");
  EXPECT_EQ(result.findings[0].stacks[0].frames[0].function, "step");
  EXPECT_EQ(labels(result.findings[0]), "allocated here");
}

} // namespace
} // namespace gmt::test
