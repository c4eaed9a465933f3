// SPDX-License-Identifier: Apache-2.0
// Which launch of a graph a grid is whose node was made by hand.

#include "analyzer/base/text_format.h"
#include "tests/unit/analyzer/device_heap/launch_of_grid.h"

namespace gmt::test {
namespace {

// A graph with a node of kStep, made by hand, and what of it is instantiated as 0x9e.
class NodeOfGrid : public LaunchOfGrid {
protected:
  void node(std::uint64_t graph, std::uint64_t handle, std::uint64_t from,
            std::uint64_t function = kStep) {
    log().record({.api = "cuGraphAddKernelNode_v2", .stack = {from}},
                 Made<trace::GraphKernelFields>()
                   .function(function)
                   .graph(graph)
                   .grid({4, 1, 1})
                   .block({64, 1, 1})
                   .node(handle));
  }
  void child(std::uint64_t graph, std::uint64_t of, std::uint64_t handle) {
    log().record({.api = "cuGraphAddChildGraphNode"}, Made<trace::GraphChangeFields>()
                                                        .graph(graph)
                                                        .op(trace::GraphOp::kChild)
                                                        .node(handle)
                                                        .other(of));
  }
  void launch_graph(std::uint64_t from, std::uint64_t at = 0) {
    log().record({.api = "cuGraphLaunch", .stack = {from}, .order = at},
                 Made<trace::SyncFields>().executable_graph(0x9e).op(trace::SyncOp::kGraphLaunch));
  }
  // Launches at 1, 2 and 3 s of the host's clock from 501, 502 and 503; the first is waited for.
  // The kernel leaks when the device's clock shows so many milliseconds.
  const ReportedFinding& leak_at(std::initializer_list<std::uint64_t> milliseconds) {
    constexpr std::uint64_t kSecond = 1'000'000; // of 1,000 ticks each, and a tick is a nanosecond
    trace.info.push_back(cat({"tsc=1000\nmonotonic_ns=0\nrealtime_ns=", std::to_string(kEpoch)}));
    trace.complete += "tsc=10001000\nmonotonic_ns=10000000\n";
    node(0x99, 0x40, 401);
    instantiate(0x99);
    launch_graph(501, kSecond);
    log().record({.api = "cuStreamSynchronize", .order = kSecond + 1, .ticks = 500'000'000},
                 Made<trace::SyncFields>().op(trace::SyncOp::kStreamSynchronize));
    launch_graph(502, 2 * kSecond);
    launch_graph(503, 3 * kSecond);
    device.grid(1, 4, 64);
    for (std::uint64_t ms : milliseconds)
      device.device_malloc({.time = kEpoch + ms * 1'000'000}, kP + ms * 4096, 64);
    return run_device().findings.at(0);
  }
  static constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;
};

TEST_F(NodeOfGrid, NodesMadeByHandAreNumberedToo) {
  node(0x99, 0x40, 401);
  launch(kClean, 4, 64, 402);
  instantiate(0x99);
  leak_in(1, 2);
  leak_in(2);
  EXPECT_EQ(launches(), "1:402 0:401 ");
}

TEST_F(NodeOfGrid, TheGraphsLaunchIsReported) {
  node(0x99, 0x40, 401);
  instantiate(0x99);
  launch_graph(501);
  launch_graph(501);
  leak_in(1);
  EXPECT_EQ(launches(), "0:501 ");
  EXPECT_EQ(labels(result.findings[0]), "allocated here|graph launched here|node made here");
  EXPECT_EQ(address_of(result.findings[0].stacks[2]), 401u);
  launch_graph(502);
  EXPECT_EQ(launches(), "0:501 ");
  EXPECT_EQ(labels(result.findings[0]),
            "allocated here|graph first launched here|graph last launched here|node made here");
  EXPECT_EQ(address_of(result.findings[0].stacks[2]), 502u);
  EXPECT_NE(result.findings[0].message.find(" in one of launches 1 to 3 of its graph, was"),
            std::string::npos);
}

TEST_F(NodeOfGrid, BeforeTheSecondLaunchItWasTheFirst) {
  const ReportedFinding& f = leak_at({1'900});
  EXPECT_NE(f.message.find(" at step.cu:12 in launch 1 of its graph, was"), std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "allocated here|graph launched here|node made here");
  EXPECT_EQ(address_of(f.stacks[1]), 501u);
}

TEST_F(NodeOfGrid, AfterAWaitForTheFirstItWasTheSecond) {
  const ReportedFinding& f = leak_at({2'100});
  EXPECT_NE(f.message.find(" in launch 2 of its graph, was"), std::string::npos) << f.message;
  EXPECT_EQ(address_of(f.stacks[1]), 502u);
}

TEST_F(NodeOfGrid, WhatWasNotWaitedForCanStillRun) {
  const ReportedFinding& f = leak_at({3'100});
  EXPECT_NE(f.message.find(" in one of launches 2 to 3 of its graph, was"), std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f),
            "allocated here|graph first launched here|graph last launched here|node made here");
  EXPECT_EQ(address_of(f.stacks[1]), 502u);
  EXPECT_EQ(address_of(f.stacks[2]), 503u);
}

TEST_F(NodeOfGrid, TheClocksNeedNotAgree) {
  // Before the launch, and not surely behind the wait
  const ReportedFinding& f = leak_at({997, 1'504});
  EXPECT_NE(f.message.find(" in launch 1 of its graph, was"), std::string::npos) << f.message;
}

TEST_F(NodeOfGrid, ClocksThatAreFarApartSayNothing) {
  const ReportedFinding& f = leak_at({900});
  EXPECT_NE(f.message.find(" in one of launches 1 to 3 of its graph, was"), std::string::npos)
    << f.message;
}

TEST_F(NodeOfGrid, ALeakOfSeveralLaunchesNamesThemAll) {
  const ReportedFinding& f = leak_at({1'100, 2'100});
  EXPECT_NE(f.message.find(" in launches 1 to 2 of its graph, was"), std::string::npos)
    << f.message;
  EXPECT_NE(f.message.find(
              "; at 42 bytes a launch the heap of 8.0 MiB is full after 199,726 more launches."),
            std::string::npos)
    << f.message; // the third left nothing
}

TEST_F(NodeOfGrid, WhatOneLaunchOfAGraphLeavesDoesNotGrow) {
  const ReportedFinding& f = leak_at({1'100, 1'200});
  EXPECT_EQ(f.message.find(" a launch"), std::string::npos) << f.message;
}

TEST_F(NodeOfGrid, AChildGraphsKernelsRunWithTheirParent) {
  node(0x9b, 0x40, 401);
  child(0x99, 0x9b, 0x41);
  log().record({.api = "cuGraphDestroy"}, Made<trace::LifeFields>()
                                            .handle(0x9b)
                                            .object(trace::ObjectClass::kGraph)
                                            .op(trace::LifeOp::kDestroy));
  node(0x99, 0x42, 402, kClean);
  instantiate(0x99);
  launch_graph(501);
  leak_in(1);
  leak_in(2, 2);
  run_device();
  ASSERT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& f : result.findings) {
    ASSERT_EQ(f.stacks.size(), 3u);
    EXPECT_EQ(address_of(f.stacks[2]), f.bytes == 101 ? 401u : 402u);
  }
}

TEST_F(NodeOfGrid, AChangedNodeRunsWhatItWasGivenLast) {
  node(0x99, 0x40, 401, kClean);
  node(0, 0x40, 403);
  node(0x99, 0x41, 404, kClean);
  log().record({.api = "cuGraphDestroyNode"},
               Made<trace::GraphChangeFields>().op(trace::GraphOp::kRemove).node(0x41));
  instantiate(0x99);
  leak_in(1);
  leak_in(2, 2);
  EXPECT_EQ(launches(), "0:403 0:0 ");
}

} // namespace
} // namespace gmt::test
