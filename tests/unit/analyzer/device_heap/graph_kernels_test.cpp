// SPDX-License-Identifier: Apache-2.0
// Kernels of graphs that point into memory which is freed before the graph is launched: which node
// runs what after nodes, graphs and executable graphs were changed, cloned, nested and destroyed.
// Copies, sets and memory operations: graph_nodes_test.cpp.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::GraphOp;
using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;

constexpr std::uint64_t kGraph = 0x99, kExec = 0x9a, kOther = 0x9b, kInner = 0x9f, kStream = 7;
constexpr std::uint64_t kNode = 0x40, kNode2 = 0x41, kFunction = 0xf;

class GraphKernels : public AnalysisTest {
protected:
  GraphKernels() { expect_only({"leak", "use-after-free"}); }
  void life(ObjectClass object, LifeOp op, std::uint64_t handle, std::uint64_t extra = 0) {
    log().record({.api = "cuSomeLife"},
                 Made<trace::LifeFields>().handle(handle).object(object).op(op).extra(extra));
  }
  void sync(SyncOp op, std::uint64_t other = 0) {
    log().record({.api = "cuGraphLaunch", .via = "cudaGraphLaunch", .stack = {0x500}},
                 Made<trace::SyncFields>().stream(kStream).other(other).op(op));
  }
  void instantiate(std::uint64_t graph = kGraph) {
    life(ObjectClass::kGraphExec, LifeOp::kCreate, kExec, graph);
  }
  void launch() { sync(SyncOp::kGraphLaunch, kExec); }
  void kernel_node(std::uint64_t graph, std::uint64_t node, std::vector<std::uint64_t> pointers,
                   std::uint64_t from = 0x600) {
    std::vector<std::uint64_t> words = {kFunction, graph, 1, 1, node};
    for (unsigned i = 0; i < pointers.size(); ++i)
      words.push_back(trace::argument_word(pointers[i], i));
    log().record(
      Kind::kGraphKernel,
      {.api = "cuGraphAddKernelNode_v2", .stack = {from}, .flags = trace::kLaunchScanned}, words);
  }
  void change(GraphOp op, std::uint64_t graph, std::uint64_t node, std::uint64_t other) {
    log().record({.api = "cuSomeChange"},
                 Made<trace::GraphChangeFields>().graph(graph).op(op).node(node).other(other));
  }
  void capture(std::uint64_t pointer) {
    sync(SyncOp::kBeginCapture);
    log().record(
      {.api = "cuLaunchKernel", .stack = {0x700}, .flags = trace::kLaunchScanned},
      Made<trace::LaunchFields>().function(kFunction).stream(kStream).grid({1, 1, 1}).block(
        {1, 1, 1}),
      {trace::argument_word(pointer, 0)});
    sync(SyncOp::kEndCapture, kGraph);
  }
  // Whether the launch, after kA was freed, is a mistake.
  bool is_mistake() {
    cuda_free(kA);
    launch();
    run();
    EXPECT_TRUE(kinds() == "" || kinds() == "use-after-free") << kinds();
    return kinds() != "";
  }
};

TEST_F(GraphKernels, FreedBeforeTheLaunch) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kHost, kA + 16});
  instantiate();
  launch();
  run();
  EXPECT_EQ(kinds(), "leak");
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
  launch();
  launch(); // reported once
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  const ReportedFinding& f = *find("use-after-free");
  EXPECT_EQ(
    f.message.find(
      "The graph that is launched gives a kernel in parameter 2 the pointer 0x7f32a0000010, "
      "16 bytes into memory that was already freed: "),
    0u)
    << f.message;
  EXPECT_EQ(f.api, "cudaGraphLaunch");
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(labels(f), "graph launched here|node made here|freed here|allocated here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x500u);
  EXPECT_EQ(address_of(f.stacks[1]), 0x600u);
}

TEST_F(GraphKernels, FreedBeforeTheNodeWasMade) {
  cuda_malloc(kA, 4096);
  cuda_free(kA);
  kernel_node(kGraph, kNode, {kA});
  instantiate();
  run();
  EXPECT_EQ(kinds(), ""); // as long as nothing launches it
  launch();
  run();
  EXPECT_EQ(kinds(), "use-after-free");
}

TEST_F(GraphKernels, CapturedLaunches) {
  cuda_malloc(kA, 4096);
  capture(kA);
  instantiate();
  ASSERT_TRUE(is_mistake());
  EXPECT_EQ(labels(*find("use-after-free")),
            "graph launched here|captured here|freed here|allocated here");
}

TEST_F(GraphKernels, FreedBeforeTheCaptureIsTheLaunchsMistake) {
  cuda_malloc(kA, 4096);
  cuda_free(kA);
  capture(kA);
  instantiate();
  launch();
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  EXPECT_EQ(labels(*find("use-after-free")), "launched here|freed here|allocated here");
}

TEST_F(GraphKernels, TheAddressIsAnotherAllocations) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  instantiate();
  launch();
  cuda_free(kA);
  cuda_malloc(kA, 8192);
  launch();
  EXPECT_TRUE(is_mistake()); // now it has no owner
}

TEST_F(GraphKernels, ANodeThatWasMadeByHandIsChanged) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  instantiate();
  kernel_node(kExec, kNode, {kHost}); // in the executable graph
  EXPECT_FALSE(is_mistake());
  instantiate();
  EXPECT_TRUE(is_mistake()); // the graph's own has not changed
}

TEST_F(GraphKernels, ANodeOfTheGraphIsChanged) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  kernel_node(kGraph, kNode2, {kA});
  kernel_node(0, kNode, {kHost});
  instantiate();
  EXPECT_TRUE(is_mistake()); // by the second node
}

TEST_F(GraphKernels, AChangeThatMayBeOfAnyCapturedNodeForgetsThem) {
  cuda_malloc(kA, 4096);
  capture(kA);
  instantiate();
  kernel_node(kExec, kNode, {kHost});
  EXPECT_FALSE(is_mistake());
}

TEST_F(GraphKernels, AnUnknownNodeOfAnUnknownGraphForgetsCapturedOnes) {
  cuda_malloc(kA, 4096);
  capture(kA);
  kernel_node(0, kNode, {kHost});
  instantiate();
  EXPECT_FALSE(is_mistake());
}

TEST_F(GraphKernels, TheExecutableGraphTakesAnotherGraphsParameters) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  instantiate();
  kernel_node(kOther, kNode2, {kHost});
  change(GraphOp::kUpdate, kExec, 0, kOther);
  EXPECT_FALSE(is_mistake());
  change(GraphOp::kUpdate, kExec, 0, kGraph);
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, ChildGraphsRunWithTheirParent) {
  cuda_malloc(kA, 4096);
  kernel_node(kOther, kNode2, {kA});
  change(GraphOp::kChild, kGraph, kNode, kOther);
  life(ObjectClass::kGraph, LifeOp::kDestroy, kOther); // the parent has a copy
  instantiate();
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, AnotherChildReplacesIt) {
  cuda_malloc(kA, 4096);
  kernel_node(kOther, kNode2, {kA});
  change(GraphOp::kChild, kGraph, kNode, kOther);
  instantiate();
  kernel_node(0x9c, 0x42, {kHost});
  change(GraphOp::kChild, kExec, kNode, 0x9c);
  EXPECT_FALSE(is_mistake());
}

TEST_F(GraphKernels, MemoryOfAChildGraph) {
  log().alloc({.api = "cuGraphAddMemAllocNode"}, MemoryKind::kGraph, kA, 4096, kOther);
  change(GraphOp::kChild, kGraph, kNode, kOther);
  instantiate();
  run();
  EXPECT_EQ(kinds(), "");
  launch();
  run();
  EXPECT_EQ(kinds(), "leak");
  log().release({.api = "cuGraphAddMemFreeNode"}, FreeFunction::kGraphFreeNode, kA, 0, 0x9c);
  change(GraphOp::kChild, kGraph, kNode2, 0x9c);
  instantiate();
  launch();
  run();
  EXPECT_EQ(kinds(), "");
}

// The graph inside a child node has a handle and nodes of its own, by which the program changes
// what the node runs.
TEST_F(GraphKernels, ANodeInsideAChildGraphIsChanged) {
  cuda_malloc(kA, 4096);
  kernel_node(kOther, kNode2, {kA});
  change(GraphOp::kChild, kGraph, kNode, kOther);
  life(ObjectClass::kGraph, LifeOp::kUse, kInner, kNode);
  kernel_node(0, 0x43, {kHost}); // no call reported this node: it may be the one inside
  instantiate();
  EXPECT_FALSE(is_mistake());
}

TEST_F(GraphKernels, WhatLiesInsideAChildGraphStays) {
  cuda_malloc(kA, 4096);
  kernel_node(kOther, kNode2, {kA});
  change(GraphOp::kChild, kGraph, kNode, kOther);
  for (int i = 0; i < 2; ++i) life(ObjectClass::kGraph, LifeOp::kUse, kInner, kNode);
  instantiate();
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, ANodeIsAddedInsideAChildGraph) {
  cuda_malloc(kA, 4096);
  change(GraphOp::kChild, kGraph, kNode, kOther);
  life(ObjectClass::kGraph, LifeOp::kUse, kInner, kNode);
  change(GraphOp::kChild, kInner, 0x44, 0x9c);
  life(ObjectClass::kGraph, LifeOp::kUse, 0x9d, 0x44); // a child's child
  kernel_node(0x9d, kNode2, {kA});
  life(ObjectClass::kGraph, LifeOp::kCreate, 0x9e, kGraph); // and a clone of it all
  instantiate(0x9e);
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, AChildNodeIsOffWithAllInsideIt) {
  cuda_malloc(kA, 4096);
  change(GraphOp::kChild, kGraph, kNode, kOther);
  life(ObjectClass::kGraph, LifeOp::kUse, kInner, kNode);
  kernel_node(kInner, kNode2, {kA});
  instantiate();
  change(GraphOp::kEnable, kExec, kNode, 0);
  EXPECT_FALSE(is_mistake());
}

// Its handle stays valid: what is added to it later is the parent's as well.
TEST_F(GraphKernels, AGraphThatMovedIntoItsParent) {
  cuda_malloc(kA, 4096);
  kernel_node(kOther, kNode2, {kHost});
  log().record({.api = "cuGraphAddNode_v2"}, Made<trace::LifeFields>()
                                               .handle(kOther)
                                               .object(ObjectClass::kGraph)
                                               .op(LifeOp::kUse)
                                               .extra(kNode)
                                               .value(kGraph));
  kernel_node(0, kNode2, {kA});
  instantiate();
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, GraphsInsideEachOtherEnd) { // no program makes them, a damaged trace may
  change(GraphOp::kChild, kGraph, kNode, kOther);
  change(GraphOp::kChild, kOther, kNode2, kGraph);
  life(ObjectClass::kGraph, LifeOp::kUse, kOther, kNode);
  life(ObjectClass::kGraph, LifeOp::kUse, kGraph, kNode2);
  instantiate();
  life(ObjectClass::kGraph, LifeOp::kDestroy, kGraph);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(GraphKernels, BodiesOfConditionalNodesMayNotRun) {
  cuda_malloc(kA, 4096);
  kernel_node(kInner, kNode2, {kA}); // of a body graph, which the node gave out
  kernel_node(kGraph, kNode, {kHost});
  instantiate();
  EXPECT_FALSE(is_mistake());
}

TEST_F(GraphKernels, ClonesAreLikeTheOriginal) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  life(ObjectClass::kGraph, LifeOp::kCreate, kOther, kGraph);
  instantiate(kOther);
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, NodesThatAreGoneOrOff) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  instantiate();
  change(GraphOp::kEnable, kExec, kNode, 0);
  EXPECT_FALSE(is_mistake());
  change(GraphOp::kEnable, kExec, kNode, 1);
  EXPECT_TRUE(is_mistake());
}

TEST_F(GraphKernels, ARemovedNodeRunsNoMore) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  change(GraphOp::kRemove, 0, kNode, 0);
  instantiate();
  EXPECT_FALSE(is_mistake());
}

TEST_F(GraphKernels, MemoryThatOnlyANodeIsGivenIsUsed) {
  cuda_malloc(kA, 4096);
  kernel_node(kGraph, kNode, {kA});
  cuda_free(kA);
  run();
  EXPECT_EQ(find("unused"), nullptr);
}

} // namespace
} // namespace gmt::test
