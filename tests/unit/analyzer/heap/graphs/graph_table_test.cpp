// SPDX-License-Identifier: Apache-2.0
// What is known of graphs: their nodes' work, captures, clones, graphs inside nodes, executable
// graphs.

#include "analyzer/heap/graphs/graph_table.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::GraphOp;
using trace::LifeOp;
using trace::ObjectClass;
using Kind = GraphWork::Kind;

constexpr std::uint64_t kGraph = 0x70, kChild = 0x71, kExec = 0x80, kNode = 0x90;

class Graphs : public StoreTest {
protected:
  static GraphWork work(std::uint64_t word, Kind kind = Kind::kKernel) {
    GraphWork w;
    w.kind = kind;
    w.pointers = {Argument(word, 0)};
    return w;
  }
  void set(std::uint64_t graph, std::uint64_t node, std::uint64_t word, Kind kind = Kind::kKernel,
           bool more = false) {
    table.set_work(graph, node, {work(word, kind)}, kind, more);
  }
  void kernel(std::uint64_t graph, std::uint64_t node, std::uint64_t function,
              std::uint64_t order) {
    GraphWork w;
    w.function = function;
    w.added = order;
    table.set_work(graph, node, {w}, Kind::kKernel);
  }
  void change(GraphOp op, std::uint64_t graph, std::uint64_t node, std::uint64_t other = 0,
              std::uint64_t order = 0) {
    Event e = make(Made<trace::GraphChangeFields>().graph(graph).op(op).node(node).other(other));
    if (order != 0) e.order = order;
    table.on_change(e);
  }
  void instantiate() {
    table.on_life(life(kExec, ObjectClass::kGraphExec, LifeOp::kCreate, kGraph));
  }
  // Addresses of all that the executable graph does, by node.
  std::vector<std::uint64_t> words() {
    std::vector<std::uint64_t> all;
    for (const auto& [node, done] : table.find_executable(kExec)->work) {
      for (const GraphWork& w : done) {
        for (const Argument pointer : w.pointers) all.push_back(pointer.address());
      }
    }
    return all;
  }
  using Words = std::vector<std::uint64_t>;
  GraphTable table;
};

TEST_F(Graphs, AnExecutableGraphIsACopy) {
  set(kGraph, kNode, 1);
  instantiate();
  set(kGraph, kNode, 2);
  table.on_life(life(kGraph, ObjectClass::kGraph, LifeOp::kDestroy));
  EXPECT_EQ(words(), Words{1});
  table.on_life(life(kExec, ObjectClass::kGraphExec, LifeOp::kDestroy));
  EXPECT_EQ(table.find_executable(kExec), nullptr);
}

TEST_F(Graphs, ANodeDoesWhatItWasGivenLast) {
  set(kGraph, kNode, 1, Kind::kCopy);
  set(kGraph, kNode, 2, Kind::kCopy, true);
  set(kGraph, kNode + 1, 3);
  set(0, kNode + 1, 4); // by the node alone
  instantiate();
  EXPECT_EQ(words(), (Words{1, 2, 4}));
}

TEST_F(Graphs, ACaptureBecomesNodesWithoutHandles) {
  table.of_capture(7).work[0].push_back(work(1));
  table.of_capture(8).work[0].push_back(work(2));
  table.end_capture(7, kGraph);
  table.end_capture(8, std::nullopt); // invalidated
  table.end_capture(8, kGraph);
  instantiate();
  EXPECT_EQ(words(), Words{1});
}

TEST_F(Graphs, AnUnknownNodeMayBeAnyOfItsKind) {
  table.of_capture(7).work[0] = {work(1), work(2, Kind::kCopy)};
  table.end_capture(7, kGraph);
  set(0, 0x99, 3);
  instantiate();
  EXPECT_EQ(words(), Words{2});
  EXPECT_EQ(table.kernels_of(kExec).size(), 1u); // its pointers alone are not known
}

TEST_F(Graphs, KernelsStandInTheOrderOfTheirNodes) {
  kernel(kChild, 0x95, 1, 10);
  kernel(kChild, 0x94, 2, 11);
  kernel(kGraph, kNode + 5, 3, 12);
  kernel(kGraph, kNode + 4, 4, 13);
  change(GraphOp::kChild, kGraph, kNode + 1, kChild, 14);
  kernel(kGraph, kNode, 5, 15);
  kernel(kGraph, kNode + 5, 6, 16); // changed, and still the first one
  set(kGraph, kNode + 2, 7, Kind::kCopy);
  instantiate();
  std::vector<std::uint64_t> functions;
  for (const GraphWork* one : table.kernels_of(kExec)) functions.push_back(one->function);
  EXPECT_EQ(functions, (Words{6, 4, 1, 2, 5}));
  EXPECT_TRUE(table.kernels_of(kGraph).empty());
}

TEST_F(Graphs, WhichWereCaptured) {
  table.end_capture(7, kGraph); // of no work that is known
  instantiate();
  EXPECT_TRUE(table.is_of_capture(kExec));
  table.on_life(life(kGraph, ObjectClass::kGraph, LifeOp::kDestroy));
  EXPECT_TRUE(table.is_of_capture(kExec));
  table.on_life(life(kExec, ObjectClass::kGraphExec, LifeOp::kDestroy));
  EXPECT_FALSE(table.is_of_capture(kExec));
  instantiate(); // of another graph, by the old handle
  EXPECT_FALSE(table.is_of_capture(kExec));
}

TEST_F(Graphs, AClonesNodesHaveOtherHandles) {
  set(kChild, kNode, 1);
  table.on_life(life(kGraph, ObjectClass::kGraph, LifeOp::kCreate, kChild));
  set(kChild, kNode, 2);
  instantiate();
  EXPECT_EQ(words(), Words{1});
  EXPECT_TRUE(table.find_executable(kExec)->work.contains(0));
}

TEST_F(Graphs, AChildStandsUnderItsNode) {
  set(kChild, kNode, 1);
  change(GraphOp::kChild, kGraph, 0x91, kChild);
  instantiate();
  ASSERT_TRUE(table.find_executable(kExec)->work.contains(0x91));
  EXPECT_EQ(words(), Words{1});
}

TEST_F(Graphs, BodiesOfConditionalNodesMayRun) {
  set(kGraph, kNode, 1);
  table.on_life(make(Made<trace::LifeFields>()
                       .handle(kChild)
                       .object(ObjectClass::kGraph)
                       .op(LifeOp::kUse)
                       .node(kNode + 1)
                       .graph(kGraph)
                       .body(1)));
  set(kChild, 0x95, 2);
  instantiate();
  EXPECT_EQ(words(), (Words{1, 2}));
  EXPECT_FALSE(table.find_executable(kExec)->work[kNode].front().may_run);
  EXPECT_TRUE(table.find_executable(kExec)->work[kNode + 1].front().may_run);
}

TEST_F(Graphs, ARemovedNodeTakesItsInnerGraphsAlong) {
  set(kGraph, kNode, 1);
  set(kGraph, kNode + 1, 2);
  change(GraphOp::kRemove, kGraph, kNode);
  instantiate();
  EXPECT_EQ(words(), Words{2});
}

TEST_F(Graphs, DisabledNodes) {
  set(kGraph, kNode, 1);
  instantiate();
  change(GraphOp::kEnable, kExec, kNode, 0);
  EXPECT_TRUE(table.find_executable(kExec)->disabled.contains(kNode));
  change(GraphOp::kEnable, kExec, kNode, 1);
  EXPECT_FALSE(table.find_executable(kExec)->disabled.contains(kNode));
}

TEST_F(Graphs, AnUpdateTakesTheOtherGraphsWork) {
  set(kGraph, kNode, 1);
  instantiate();
  set(kChild, kNode + 1, 2);
  change(GraphOp::kUpdate, kExec, 0, kChild);
  EXPECT_EQ(words(), Words{2});
}

TEST_F(Graphs, WhatIsNotKnownLaunchesGraph0) {
  EXPECT_EQ(table.launched(kExec), nullptr);
  table.of_handle(0).frees.push_back(kBase);
  ASSERT_NE(table.launched(kExec), nullptr);
  EXPECT_EQ(table.launched(kExec)->frees.size(), 1u);
}

} // namespace
} // namespace gmt::test
