// SPDX-License-Identifier: Apache-2.0
// Copies, sets and memory operations of graphs whose memory is freed before the graph is launched,
// by hand and captured, and bodies of conditional nodes. How nodes and graphs change:
// graph_kernels_test.cpp.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;
using trace::UseClass;

constexpr std::uint64_t kGraph = 0x99, kExec = 0x9a, kBody = 0x9b, kBody2 = 0x9c, kStream = 7;
constexpr std::uint64_t kNode = 0x40, kNode2 = 0x41;
constexpr std::uint64_t kMemcpy = 1, kMemset = 2, kMemOp = 12; // CUgraphNodeType

class GraphWorkTest : public AnalysisTest {
protected:
  GraphWorkTest() { expect_only({"copy-out-of-bounds", "use-after-free"}); }
  void life(ObjectClass object, LifeOp op, std::vector<std::uint64_t> words) {
    words.insert(words.begin() + 1,
                 {static_cast<std::uint64_t>(object), static_cast<std::uint64_t>(op)});
    log().record(Kind::kLife, {.api = "cuSomeLife"}, words);
  }
  void sync(SyncOp op, std::uint64_t other = 0, std::uint16_t code = 0) {
    log().record(
      {.api = "cuGraphLaunch", .via = "cudaGraphLaunch", .result = code, .stack = {0x500}},
      Made<trace::SyncFields>().stream(kStream).other(other).op(op));
  }
  void instantiate() { life(ObjectClass::kGraphExec, LifeOp::kCreate, {kExec, kGraph}); }
  void launch(std::uint16_t code = 0) { sync(SyncOp::kGraphLaunch, kExec, code); }
  void use(std::uint64_t graph, std::uint64_t node, std::uint64_t type, std::uint64_t part,
           std::uint64_t address, std::uint16_t flags) {
    log().record({.api = "cuGraphAddNode_v2", .stack = {0x600}, .flags = flags},
                 Made<trace::UseFields>()
                   .address(address)
                   .bytes(256)
                   .use(UseClass::kGraphNode)
                   .graph(graph)
                   .pitch(256)
                   .width(256)
                   .height(1)
                   .element_bytes(1)
                   .node(node)
                   .part(part)
                   .node_type(type));
  }
  void copy_node(std::uint64_t graph, std::uint64_t node, std::uint64_t to, std::uint64_t from) {
    use(graph, node, kMemcpy, 0, to, trace::kUseWrites);
    use(graph, node, kMemcpy, 1, from, trace::kUseReads);
  }
  void set_node(std::uint64_t graph, std::uint64_t node, std::uint64_t address) {
    use(graph, node, kMemset, 0, address, trace::kUseWrites);
  }
  void body(std::uint64_t handle, std::uint64_t number) {
    life(ObjectClass::kGraph, LifeOp::kUse, {handle, kNode, kGraph, number});
  }
  // What is said of the launch after kA was freed, up to its address; empty if nothing.
  std::string mistake() {
    cuda_free(kA);
    launch();
    launch(); // reported once
    return reported();
  }
  std::string reported() {
    run();
    std::string all;
    for (const ReportedFinding& f : result.findings) {
      if (f.kind == "unused") continue;
      EXPECT_EQ(f.kind, "use-after-free");
      all += (all.empty() ? "" : "|") + f.message.substr(0, f.message.find(" 0x"));
    }
    return all;
  }
  void captured_copy(std::uint64_t from) {
    log().record(
      {.api = "cuMemcpyDtoHAsync_v2",
       .stack = {0x700},
       .flags = trace::copy_flags(trace::Side::kHost, trace::Side::kDevice, true)},
      Made<trace::CopyFields>().destination(kHost).source(from).bytes(64).stream(kStream));
  }
  void captured_set(std::uint64_t to) {
    log().record({.api = "cuMemsetD8Async", .stack = {0x710}, .flags = trace::kSetAsync},
                 Made<trace::SetFields>().destination(to).bytes(64).stream(kStream));
  }
};

TEST_F(GraphWorkTest, BothSidesOfACopy) {
  cuda_malloc(kA, 4096);
  copy_node(kGraph, kNode, kHost, kA);
  instantiate();
  launch();
  EXPECT_EQ(mistake(), "The graph that is launched copies from");
  const ReportedFinding& f = *find("use-after-free");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(labels(f), "graph launched here|node made here|freed here|allocated here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x600u);
  cuda_malloc(kA, 4096);
  copy_node(kGraph, kNode, kA + 8, kHost);
  instantiate();
  cuda_free(kA);
  launch();
  EXPECT_EQ(reported(),
            "The graph that is launched copies from|The graph that is launched copies to");
  EXPECT_NE(result.findings.back().message.find(
              " copies to 0x7f32a0000008, 8 bytes into memory that was already freed: "),
            std::string::npos);
}

TEST_F(GraphWorkTest, Sets) {
  cuda_malloc(kA, 4096);
  set_node(kGraph, kNode, kA);
  instantiate();
  EXPECT_EQ(mistake(), "The graph that is launched sets");
}

TEST_F(GraphWorkTest, MemoryOperations) {
  cuda_malloc(kA, 4096);
  use(kGraph, kNode, kMemOp, 0, 0, 0);
  use(kGraph, kNode, kMemOp, 1, kA, trace::kUseWrites);
  instantiate();
  EXPECT_EQ(mistake(), "The graph that is launched uses");
}

TEST_F(GraphWorkTest, NothingIsSaidBeforeALaunch) {
  cuda_malloc(kA, 4096);
  cuda_free(kA);
  set_node(kGraph, kNode, kA);
  instantiate();
  EXPECT_EQ(reported(), "");
  launch();
  EXPECT_EQ(reported(), "The graph that is launched sets");
}

TEST_F(GraphWorkTest, ALaunchThatCudaRefusedIsChecked) {
  cuda_malloc(kA, 4096);
  set_node(kGraph, kNode, kA);
  instantiate();
  cuda_free(kA);
  launch(1);
  EXPECT_EQ(reported(), "The graph that is launched sets");
}

TEST_F(GraphWorkTest, Captured) {
  cuda_malloc(kA, 4096);
  sync(SyncOp::kBeginCapture);
  captured_copy(kA);
  sync(SyncOp::kEndCapture, kGraph);
  instantiate();
  EXPECT_EQ(mistake(), "The graph that is launched copies from");
  EXPECT_EQ(labels(*find("use-after-free")),
            "graph launched here|captured here|freed here|allocated here");
}

TEST_F(GraphWorkTest, CapturedSetsAndMemoryOperations) {
  cuda_malloc(kA, 4096);
  sync(SyncOp::kBeginCapture);
  captured_set(kA);
  sync(SyncOp::kEndCapture, kGraph);
  instantiate();
  EXPECT_EQ(mistake(), "The graph that is launched sets");
  cuda_malloc(kA, 4096);
  sync(SyncOp::kBeginCapture);
  log().record({.api = "cuStreamWriteValue32_v2", .stack = {0x800}, .flags = trace::kUseWrites},
               Made<trace::UseFields>().address(kA).bytes(4).use(UseClass::kMemOp).stream(kStream));
  sync(SyncOp::kEndCapture, 0x9d);
  life(ObjectClass::kGraphExec, LifeOp::kCreate, {kExec, 0x9d});
  cuda_free(kA);
  launch();
  EXPECT_EQ(reported(), "The graph that is launched sets|The graph that is launched uses");
}

// Pinned memory that was there when the node was made: whatever has the address now, it is not what
// the node copies.
TEST_F(GraphWorkTest, PinnedMemoryOfACopy) {
  log().alloc({.api = "cuMemHostAlloc"}, MemoryKind::kPinned, kA, 4096);
  copy_node(kGraph, kNode, kHost, kA);
  instantiate();
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kA);
  launch();
  EXPECT_EQ(reported(), "The graph that is launched copies from");
}

TEST_F(GraphWorkTest, PinnedMemoryThatWasGoneBefore) {
  log().alloc({.api = "cuMemHostAlloc"}, MemoryKind::kPinned, kA, 4096);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kA);
  copy_node(kGraph, kNode, kHost, kA); // malloc() may have given it out
  instantiate();
  launch();
  EXPECT_EQ(reported(), "");
}

TEST_F(GraphWorkTest, PastTheEnd) {
  cuda_malloc(kA, 4096);
  copy_node(kGraph, kNode, kA + 4096 - 255, kHost);
  copy_node(kGraph, kNode2, kHost, kA + 4096 - 256); // fits
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds");
  const ReportedFinding& f = *find("copy-out-of-bounds");
  EXPECT_EQ(f.bytes, 1u);
  EXPECT_EQ(f.message.find("cuGraphAddNode writes 1 byte past the end of its destination: "), 0u)
    << f.message;
  EXPECT_EQ(labels(f), "node made here|allocated here");
}

TEST_F(GraphWorkTest, Arrays) {
  constexpr std::uint64_t kArray = 0x55550000;
  log().alloc({.api = "cuArrayCreate_v2"}, MemoryKind::kArray, kArray, 4096);
  copy_node(kGraph, kNode, kHost, kArray);
  instantiate();
  launch();
  log().release({.api = "cuArrayDestroy"}, FreeFunction::kArrayDestroy, kArray);
  launch();
  EXPECT_EQ(reported(), "The graph that is launched copies from");
}

TEST_F(GraphWorkTest, NodesThatWereChanged) {
  cuda_malloc(kA, 4096);
  copy_node(kGraph, kNode, kA, kA);
  set_node(kGraph, kNode2, kA);
  instantiate();
  copy_node(kExec, kNode, kHost, kHost);
  set_node(0, kNode2, kHost); // the graph's: the executable one sets as before
  EXPECT_EQ(mistake(), "The graph that is launched sets");
}

// Which of the captured copies it is is not known; the captured sets are not meant.
TEST_F(GraphWorkTest, ACapturedNodeIsChanged) {
  cuda_malloc(kA, 4096);
  cuda_malloc(kB, 4096);
  sync(SyncOp::kBeginCapture);
  captured_copy(kB);
  captured_set(kA);
  sync(SyncOp::kEndCapture, kGraph);
  instantiate();
  copy_node(kExec, kNode, kHost, kHost);
  cuda_free(kB);
  EXPECT_EQ(mistake(), "The graph that is launched sets");
  EXPECT_EQ(find("use-after-free")->count, 1u);
}

TEST_F(GraphWorkTest, BodiesOfConditionalNodesMayRun) {
  cuda_malloc(kA, 4096);
  body(kBody, 1);
  body(kBody2, 2);
  set_node(kBody2, kNode2, kA);
  instantiate();
  launch();
  EXPECT_EQ(mistake(), "The graph that is launched sets");
  EXPECT_EQ(find("use-after-free")->severity, Severity::kWarning);
  EXPECT_NE(find("use-after-free")->advice.find("only if the body of the conditional node runs"),
            std::string::npos);
}

TEST_F(GraphWorkTest, BodiesGoWithTheirNode) {
  cuda_malloc(kA, 4096);
  body(kBody, 1);
  body(kBody2, 2);
  set_node(kBody, kNode2, kA);
  set_node(kBody2, 0x42, kA);
  log().record({.api = "cuGraphDestroyNode"},
               Made<trace::GraphChangeFields>().op(trace::GraphOp::kRemove).node(kNode));
  instantiate();
  EXPECT_EQ(mistake(), "");
}

} // namespace
} // namespace gmt::test
