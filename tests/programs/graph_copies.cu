// SPDX-License-Identifier: Apache-2.0
// Graphs that copy and set memory which is freed before the graph is launched, captured and by nodes made by hand; and what looks alike:
// parameters that were changed in time, memory freed behind the last launch. What the device answers to such a launch is not looked at.
// Nodes made by hand whose ranges overlap, or whose direction is not the pointers', are reported when they are made or changed.
//
// run:
// expect: clean
// run: captured
// unlike-fenced-real: the graph uses freed memory, which faults there
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched copies from 0x" stacks="graph launched here"@launch:LINE(launch),"captured here"@capture:LINE(captured),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: copy
// unlike-fenced-real: the graph uses freed memory, which faults there
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched copies from 0x" stacks="graph launched here"@launch:LINE(launch),"node made here"@add_copy:LINE(copy),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: set
// unlike-fenced-real: the graph uses freed memory, which faults there
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched sets 0x" stacks="graph launched here"@launch:LINE(launch),"node made here"@add_set:LINE(set),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: not-launched
// expect: clean
// run: changed
// expect: clean
// run: overlap
// expect: error copy-overlap count=1 api=cudaGraphAddMemcpyNode1D message="which overlap in 4,032 bytes" stacks="node made here"@add_copy:LINE(copy),"allocated here"@main:LINE(live)
// run: direction
// expect: error copy-direction count=1 api=cudaGraphExecMemcpyNodeSetParams1D message="takes its source for host memory" stacks="node made here"@main:LINE(direction),"allocated here"@main:LINE(alloc)
#include "answers.h"

constexpr size_t kBytes = 4096;

__attribute__((noinline)) static cudaGraph_t capture(cudaStream_t stream, void* to, const void* from)
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, stream)); // @captured
  CHECK(cudaStreamEndCapture(stream, &graph));
  return graph;
}

__attribute__((noinline)) static cudaGraphNode_t add_copy(cudaGraph_t graph, void* to, const void* from)
{
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, to, from, kBytes, cudaMemcpyDeviceToDevice)); // @copy
  return node;
}

__attribute__((noinline)) static void add_set(cudaGraph_t graph, void* to)
{
  cudaMemsetParams params{};
  params.dst = to;
  params.elementSize = 1;
  params.width = kBytes;
  params.height = 1;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &params)); // @set
}

__attribute__((noinline)) static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream)
{
  cudaError_t answer = cudaGraphLaunch(exec, stream); // @launch
  if (answer == cudaSuccess) answer = cudaStreamSynchronize(stream);
  return answer;
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* way) { return started_with(argc, argv, way); };
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  char *live = nullptr, *block = nullptr;
  CHECK(cudaMalloc(&live, 2 * kBytes)); // @live
  CHECK(cudaMalloc(&block, kBytes)); // @alloc
  CHECK(cudaMemset(live, 0, 2 * kBytes));
  CHECK(cudaMemset(block, 0, kBytes));

  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  if (is("captured")) {
    graph = capture(stream, live, block);
  } else {
    CHECK(cudaGraphCreate(&graph, 0));
    if (is("set")) add_set(graph, block);
    else node = add_copy(graph, live, is("overlap") ? live + 64 : block);
  }
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(launch(exec, stream)); // while all lives
  if (is("changed"))
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, node, live, live + kBytes, kBytes, cudaMemcpyDeviceToDevice));
  // What the device answers to it is not looked at.
  if (is("direction")) (void)cudaGraphExecMemcpyNodeSetParams1D(exec, node, live, block, kBytes, cudaMemcpyHostToDevice); // @direction
  CHECK(cudaFree(block)); // @free
  if (is("changed")) CHECK(launch(exec, stream));
  if (is("captured") || is("copy") || is("set")) launch(exec, stream);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(live));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
