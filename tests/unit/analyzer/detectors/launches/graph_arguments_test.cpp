// SPDX-License-Identifier: Apache-2.0
// use-after-free of the arguments of graphs' kernels, when the graphs are launched.

#include "tests/unit/analyzer/detectors/launches/arguments_fixture.h"

namespace gmt::test {
namespace {

class GraphArguments : public Arguments {
protected:
  static constexpr std::uint64_t kStream = 7, kGraph = 0x99, kExec = 0x9a, kNode = 0x40;
  void sync(trace::SyncOp op, std::uint64_t other = 0) {
    log().record({.api = "cuGraphLaunch", .via = "cudaGraphLaunch", .stack = {0x500}},
                 Made<trace::SyncFields>().stream(kStream).other(other).op(op));
  }
  void kernel_node(std::uint64_t first, std::uint64_t second) {
    log().record(
      {.api = "cuGraphAddKernelNode_v2", .stack = {0x600}, .flags = trace::kLaunchScanned},
      Made<trace::GraphKernelFields>()
        .function(kSum)
        .graph(kGraph)
        .grid({1, 1, 1})
        .block({1, 1, 1})
        .node(kNode),
      {trace::argument_word(first, 0), trace::argument_word(second, 1)});
  }
  void capture(std::uint64_t first, std::uint64_t second) {
    sync(trace::SyncOp::kBeginCapture);
    log().record(
      {.api = "cuLaunchKernel", .stack = {0x700}, .flags = trace::kLaunchScanned},
      Made<trace::LaunchFields>().function(kSum).stream(kStream).grid({1, 1, 1}).block({1, 1, 1}),
      {trace::argument_word(first, 0), trace::argument_word(second, 1)});
    sync(trace::SyncOp::kEndCapture, kGraph);
  }
  void launch_graph() {
    log().record({.api = "cuGraphInstantiate"}, Made<trace::LifeFields>()
                                                  .handle(kExec)
                                                  .object(trace::ObjectClass::kGraphExec)
                                                  .op(trace::LifeOp::kCreate)
                                                  .parent(kGraph));
    sync(trace::SyncOp::kGraphLaunch, kExec);
    sync(trace::SyncOp::kGraphLaunch, kExec); // reported once
  }
};

TEST_F(GraphArguments, EndsInNodes) {
  free_behind();
  kernel_node(kA, kBehind);
  launch_graph();
  EXPECT_EQ(verdict(), "warning 1");
  EXPECT_EQ(
    labels(result.findings[0]),
    "graph launched here|node made here|freed here|allocated here|neighbour allocated here");
  cuda_malloc(kC, 4096, 0x103);
  launch({{kC, 0}, {kC + 4096, 1}});
  EXPECT_EQ(verdict(), "");
}

TEST_F(GraphArguments, EndsInCapturedLaunches) {
  cuda_malloc(kBehind, kMiB, 0x101);
  capture(kA, kBehind);
  cuda_free(kBehind, 0, 0x201);
  launch_graph();
  EXPECT_EQ(verdict(), "warning 1");
}

TEST_F(GraphArguments, NodesShowThatItIsAnEnd) {
  kernel_node(kA, kBehind);
  launch_graph();
  free_behind();
  launch({{kA, 0}, {kBehind, 1}});
  EXPECT_EQ(verdict(), "");
}

TEST_F(GraphArguments, OnlyWhatWasFreed) {
  free_behind();
  kernel_node(kB, kBehind);
  launch_graph();
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(GraphArguments, FreedPinnedMemory) {
  cuda_malloc_host(kB, 4096);
  capture(kB, kA);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kB);
  launch_graph();
  EXPECT_EQ(verdict(), "error 1");
}

} // namespace
} // namespace gmt::test
