// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs' core dumps: which launches they may be of.

#include "tests/unit/analyzer/detectors/kernels/dumps_fixture.h"

namespace gmt::test {
namespace {

TEST_F(Dumps, TwoLinesAreTwoCandidates) {
  launch(0x400);
  launch(0x410);
  launch(0x410); // a loop
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_EQ(labels(f), "accessed here|launched here|launched here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x410u); // the newest first
  EXPECT_NE(f.message.find("; 2 lines may have launched it"), std::string::npos);
}

TEST_F(Dumps, WhatTheHostWaitedForIsNoCandidate) {
  launch(0x400);
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  launch(0x410);
  EXPECT_EQ(address_of(only(fault(14, "warp", "load\tglobal\t4")).stacks[1]), 0x410u);
}

// A store's fault may come after the synchronisation has answered 0.
TEST_F(Dumps, AllDoneLeavesTheNewest) {
  launch(0x400);
  launch(0x410);
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  const ReportedFinding& f = only(fault(14, "processor", kStore));
  EXPECT_EQ(labels(f), "accessed here|launched here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x410u);
}

// The grid's id counts the launches: one that comes later has a higher one.
TEST_F(Dumps, LaunchesBehindTheGridAreNoCandidates) {
  for (int i = 0; i < 6; ++i) launch(0x400);
  launch(0x410);
  expect_only_launch(0x400);
}

// And one that came before has a lower one.
TEST_F(Dumps, LaunchesBeforeTheGridAreNoCandidates) {
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther);
  launch(0x400);
  launch(0x410);
  expect_only_launch(0x410);
}

TEST_F(Dumps, LargeSetsTakeIdsAndSmallOnesDoNot) {
  for (const std::uint64_t bytes : {4096u, 4u << 20, 1000u, 1u << 20})
    log().record({.api = "cuMemsetD8_v2"}, Made<trace::SetFields>().destination(kB).bytes(bytes));
  for (int i = 0; i < 2; ++i) launch(0x3f0, kOther);
  launch(0x400);
  launch(0x410);
  expect_only_launch(0x410);
}

// Ids are a device's: contexts 1 and 2 are device 0's, context 3 device 1's.
TEST_F(Dumps, OtherContextsOfTheDeviceTakeIdsToo) {
  log().context(1, 0xc0, 0, true);
  log().context(2, 0xc1, 0, false);
  log().context(3, 0xc2, 1, true);
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther, 1);
  launch(0x3e0, kOther, 3);
  launch(0x400, kFill, 2);
  launch(0x410, kFill, 2); // the sixth
  launch(0x420, kFill, 2);
  expect_only_launch(0x410);
}

// A reset device counts from 1 again.
TEST_F(Dumps, LaunchesBehindAResetMayHaveAnyId) {
  for (int i = 0; i < 20; ++i) launch(0x3f0, kOther);
  log().record({.api = "cuDevicePrimaryCtxReset_v2", .via = "cudaDeviceReset"},
               Made<trace::LifeFields>()
                 .object(trace::ObjectClass::kPrimaryContext)
                 .op(trace::LifeOp::kReset));
  launch(0x400);
  expect_only_launch(0x400);
}

TEST_F(Dumps, KernelsOfAGraphTakeIdsOnce) {
  log().record({.api = "cuGraphAddKernelNode_v2", .stack = {0x600}},
               Made<trace::GraphKernelFields>().function(kOther).graph(0x70).node(0x71));
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x72)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x70));
  for (int i = 0; i < 4; ++i)
    log().record({.api = "cuGraphLaunch", .stack = {0x700}},
                 Made<trace::SyncFields>().op(trace::SyncOp::kGraphLaunch).executable_graph(0x72));
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther);
  launch(0x400);
  launch(0x410);
  expect_only_launch(0x400);
}

// A copy may take an id: both launches may have the grid's.
TEST_F(Dumps, CopiesLeaveBothLaunches) {
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther);
  log().record({.api = "cuMemcpyDtoDAsync_v2"},
               Made<trace::CopyFields>().destination(kA).source(kA + 512).bytes(64));
  launch(0x400);
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))),
            "accessed here|launched here|launched here");
}

TEST_F(Dumps, KernelOfAGraph) {
  log().record({.api = "cuGraphAddKernelNode_v2", .stack = {0x600}},
               Made<trace::GraphKernelFields>()
                 .function(kFill)
                 .graph(0x70)
                 .grid({4, 1, 1})
                 .block({256, 1, 1})
                 .node(0x71));
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x72)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x70));
  log().record({.api = "cuGraphLaunch", .stack = {0x700}},
               Made<trace::SyncFields>().op(trace::SyncOp::kGraphLaunch).executable_graph(0x72));
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))),
            "accessed here|graph launched here|node made here");
}

} // namespace
} // namespace gmt::test
