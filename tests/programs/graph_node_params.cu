// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs and of executable graphs that get other parameters by the calls for every kind of node, and a child
// graph that is replaced by another one. What the graph does then counts: memory that only the old parameters named may
// be freed, memory that the new ones name may not. What the device answers to a launch with freed memory is not looked at.
//
// run:
// expect: clean
// run: node
// unlike-fenced-real: the graph uses freed memory, which faults there
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched sets 0x" stacks="graph launched here"@launch:LINE(launch),"node made here"@main:LINE(node),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: executable
// unlike-fenced-real: the graph uses freed memory, which faults there
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched sets 0x" stacks="graph launched here"@launch:LINE(launch),"node made here"@main:LINE(executable),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: child
// unlike-fenced-real: the graph uses freed memory, which faults there
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched sets 0x" stacks="graph launched here"@launch:LINE(launch),"node made here"@add_set:LINE(set),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: updated
// expect: clean
#include "answers.h"

constexpr size_t kBytes = 4096;

static cudaGraphNodeParams set_of(void* to, unsigned value)
{
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemset;
  params.memset.dst = to;
  params.memset.value = value;
  params.memset.elementSize = 1;
  params.memset.width = kBytes;
  params.memset.height = 1;
  return params;
}

__attribute__((noinline)) static cudaGraphNode_t add_set(cudaGraph_t graph, void* to, unsigned value)
{
  cudaGraphNode_t node = nullptr;
  cudaGraphNodeParams params = set_of(to, value);
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params)); // @set
  return node;
}

__attribute__((noinline)) static cudaError_t launch(cudaGraphExec_t executable)
{
  const cudaError_t answer = cudaGraphLaunch(executable, nullptr); // @launch
  return answer == cudaSuccess ? cudaStreamSynchronize(nullptr) : answer;
}

// Whether each byte of the block has the value.
static bool holds(const unsigned char* block, unsigned value)
{
  unsigned char bytes[kBytes];
  CHECK(cudaMemcpy(bytes, block, kBytes, cudaMemcpyDeviceToHost));
  for (unsigned char byte : bytes)
    if (byte != value)
      return false;
  return true;
}

// What is changed in a graph's child reaches no executable graph, also none that was updated from this graph.
static int updated()
{
  unsigned char* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes));
  cudaGraph_t graph = nullptr, child = nullptr, inside = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  add_set(child, block, 7);
  cudaGraphNode_t child_node = nullptr, set = nullptr;
  CHECK(cudaGraphAddChildGraphNode(&child_node, graph, nullptr, 0, child));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(executable, graph, &info));

  size_t count = 1;
  CHECK(cudaGraphChildGraphNodeGetGraph(child_node, &inside));
  CHECK(cudaGraphGetNodes(inside, &set, &count));
  cudaGraphNodeParams params = set_of(block, 8);
  CHECK(cudaGraphNodeSetParams(set, &params));
  CHECK(launch(executable));
  const bool right = holds(block, 7);

  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaFree(block));
  return right ? 0 : 1;
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "updated"))
    return updated();
  const bool by_node = started_with(argc, argv, "node"), by_executable = started_with(argc, argv, "executable");
  const bool by_child = started_with(argc, argv, "child");
  unsigned char *first = nullptr, *second = nullptr, *third = nullptr, *gone = nullptr;
  CHECK(cudaMalloc(&first, kBytes));
  CHECK(cudaMalloc(&second, kBytes));
  CHECK(cudaMalloc(&third, kBytes));
  CHECK(cudaMalloc(&gone, kBytes)); // @alloc
  for (unsigned char* block : {first, second, third, gone})
    TOUCH(block, kBytes);

  cudaGraph_t graph = nullptr, child = nullptr, other_child = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  CHECK(cudaGraphCreate(&other_child, 0));
  add_set(child, gone, 1);
  add_set(other_child, by_child ? gone : first, 2);
  cudaGraphNode_t child_node = nullptr;
  CHECK(cudaGraphAddChildGraphNode(&child_node, graph, nullptr, 0, child));
  const cudaGraphNode_t changed = add_set(graph, gone, 3), changed_later = add_set(graph, gone, 4);

  cudaGraphNodeParams params = set_of(by_node ? gone : second, 5);
  CHECK(cudaGraphNodeSetParams(changed, &params)); // @node
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  params = set_of(by_executable ? gone : third, 6);
  CHECK(cudaGraphExecNodeSetParams(executable, changed_later, &params)); // @executable
  CHECK(cudaGraphExecChildGraphNodeSetParams(executable, child_node, other_child));

  CHECK(cudaFree(gone)); // @free
  const cudaError_t answer = launch(executable);
  if (!by_node && !by_executable && !by_child) {
    CHECK(answer);
    if (!holds(first, 2) || !holds(second, 5) || !holds(third, 6))
      return 1;
  }

  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaGraphDestroy(other_child));
  CHECK(cudaFree(first));
  CHECK(cudaFree(second));
  CHECK(cudaFree(third));
  return 0;
}
