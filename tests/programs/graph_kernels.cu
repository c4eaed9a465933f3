// SPDX-License-Identifier: Apache-2.0
// Graphs whose kernels were given memory that is freed before the graph is launched: captured ones, nodes made by hand, nodes of a
// child graph; and what looks alike: parameters that were changed in time, a node that is switched off, an address that a new
// allocation has got.
//
// run:
// expect: clean
// run: captured
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched gives scale(float*, float, int) as parameter 1 the pointer" stacks="graph launched here"@launch:LINE(launch),"captured here"@capture,"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: by-hand
// expect: error use-after-free count=1 api=cudaGraphLaunch message="The graph that is launched gives scale(float*, float, int) as parameter 1 the pointer" stacks="graph launched here"@launch:LINE(launch),"node made here"@add_kernel:LINE(node),"freed here"@main:LINE(free),"allocated here"@main:LINE(alloc)
// run: any-node
// expect: error use-after-free count=1 message="gives scale(float*, float, int) as parameter 1" stacks="graph launched here","node made here"@add_any:LINE(any),"freed here","allocated here"
// run: child
// expect: error use-after-free count=1 message="gives scale(float*, float, int) as parameter 1" stacks="graph launched here","node made here"@add_kernel:LINE(node),"freed here","allocated here"
// run: added-inside
// expect: error use-after-free count=1 message="gives scale(float*, float, int) as parameter 1" stacks="graph launched here","node made here"@add_kernel:LINE(node),"freed here","allocated here"
// run: changed-inside
// expect: clean
// run: wrong-update
// expect: error use-after-free count=1 message="gives scale(float*, float, int) as parameter 1" stacks="graph launched here","node made here"@change:LINE(change),"freed here","allocated here"
// run: not-launched
// expect: clean
// run: updated
// expect: clean
// run: graph-updated
// expect: clean
// run: disabled
// expect: clean
// run: reused
// expect: clean
#include "answers.h"

// Touches no memory: on a GPU the mistakes must not end the program.
__global__ void scale(float* values, float by, int count) { (void)values, (void)by, (void)count; }

struct Arguments {
  float* values;
  float by = 2.0f;
  int count = 16;
  void* list[3] = {&values, &by, &count};
  explicit Arguments(float* memory) : values(memory) {}
  cudaKernelNodeParams node()
  {
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(scale);
    params.gridDim = dim3(1);
    params.blockDim = dim3(32);
    params.kernelParams = list;
    return params;
  }
};

__attribute__((noinline)) static cudaGraph_t capture(cudaStream_t stream, float* memory)
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<1, 32, 0, stream>>>(memory, 2.0f, 16);
  CHECK(cudaStreamEndCapture(stream, &graph));
  return graph;
}

__attribute__((noinline)) static cudaGraphNode_t add_kernel(cudaGraph_t graph, float* memory)
{
  Arguments arguments(memory);
  cudaKernelNodeParams params = arguments.node();
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params)); // @node
  return node;
}

__attribute__((noinline)) static void add_any(cudaGraph_t graph, float* memory)
{
  Arguments arguments(memory);
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(scale);
  params.kernel.gridDim = dim3(1);
  params.kernel.blockDim = dim3(32);
  params.kernel.kernelParams = arguments.list;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params)); // @any
#else
  CHECK(cudaGraphAddNode(&node, graph, nullptr, 0, &params));
#endif
}

__attribute__((noinline)) static void change(cudaGraphExec_t exec, cudaGraphNode_t node, float* memory)
{
  Arguments arguments(memory);
  cudaKernelNodeParams params = arguments.node();
  CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params)); // @change
}

__attribute__((noinline)) static void launch(cudaGraphExec_t exec, cudaStream_t stream)
{
  CHECK(cudaGraphLaunch(exec, stream)); // @launch
  CHECK(cudaStreamSynchronize(stream));
}

// The graph inside a child node is the parent's own copy: its nodes are not those of the graph that was added.
static cudaGraph_t inside(cudaGraphNode_t child)
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphChildGraphNodeGetGraph(child, &graph));
  return graph;
}

static void change_inside(cudaGraphNode_t child, float* memory)
{
  Arguments arguments(memory);
  cudaKernelNodeParams params = arguments.node();
  cudaGraphNode_t node = nullptr;
  size_t count = 1;
  CHECK(cudaGraphGetNodes(inside(child), &node, &count));
  CHECK(cudaGraphKernelNodeSetParams(node, &params));
}

static void update_whole(cudaGraphExec_t exec, float* memory)
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  add_kernel(graph, memory);
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* way) { return started_with(argc, argv, way); };
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float *live = nullptr, *block = nullptr;
  CHECK(cudaMalloc(&live, 4096));
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(live, 4096);
  TOUCH(block, 4096);

  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  if (is("captured")) {
    graph = capture(stream, block);
  } else {
    CHECK(cudaGraphCreate(&graph, 0));
    if (is("any-node")) {
      add_any(graph, block);
    } else if (is("child") || is("added-inside") || is("changed-inside")) {
      cudaGraph_t inner = nullptr;
      CHECK(cudaGraphCreate(&inner, 0));
      add_kernel(inner, is("added-inside") ? live : block);
      CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, inner));
      CHECK(cudaGraphDestroy(inner));
      if (is("added-inside")) add_kernel(inside(node), block);
      if (is("changed-inside")) change_inside(node, live);
    } else {
      node = add_kernel(graph, is("wrong-update") ? live : block);
    }
  }
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  launch(exec, stream); // while all lives
  if (is("wrong-update")) change(exec, node, block);
  if (is("updated")) change(exec, node, live);
  if (is("graph-updated")) update_whole(exec, live);
  if (is("disabled")) CHECK(cudaGraphNodeSetEnabled(exec, node, 0));

  const bool is_early = argc > 1;
  if (is_early) CHECK(cudaFree(block)); // @free
  float* again = nullptr;
  if (is("reused")) {
    CHECK(cudaMalloc(&again, 4096));
    TOUCH(again, 4096);
  }
  if (!is("not-launched") && (!is("reused") || again == block)) {
    launch(exec, stream);
    launch(exec, stream); // reported once
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  if (!is_early) CHECK(cudaFree(block));
  if (again != nullptr) CHECK(cudaFree(again));
  CHECK(cudaFree(live));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
