// SPDX-License-Identifier: Apache-2.0
// A conditional node's body is a graph that the node gives out. Its kernels use memory like others, but whether they run
// is decided on the device: memory that only a body is given is not unused, and freeing it before a launch is a mistake
// only if that runs the body, which is said.
//
// run:
// device: gpu
// expect: clean
// run: off
// device: gpu
// expect: warning use-after-free count=1 api=cudaGraphLaunch message="It is a mistake only if the body of the conditional node runs." stacks="graph launched here","node made here"@add_kernel,"freed here","allocated here"
#include "answers.h"

__global__ void scale(float* values, float by, int count)
{
  int i = static_cast<int>(threadIdx.x);
  if (i < count) values[i] *= by;
}

// Runs at each launch of the graph if `runs`, at none if not: no kernel sets the value to another one.
static cudaGraph_t add_body(cudaGraph_t graph, bool runs)
{
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, runs ? 1 : 0, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeIf;
  params.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
#else
  CHECK(cudaGraphAddNode(&node, graph, nullptr, 0, &params));
#endif
  return params.conditional.phGraph_out[0];
}

static void add_kernel(cudaGraph_t graph, float* values)
{
  float by = 2.0f;
  int count = 16;
  void* list[] = {&values, &by, &count};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(scale);
  params.gridDim = dim3(1);
  params.blockDim = dim3(32);
  params.kernelParams = list;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
}

int main(int argc, char** argv)
{
  bool runs = !started_with(argc, argv, "off");
  cudaStream_t stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  float* block = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&block, 4096));
  CHECK(cudaGraphCreate(&graph, 0));
  add_kernel(add_body(graph, runs), block);
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  if (!runs) CHECK(cudaFree(block));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  if (runs) CHECK(cudaFree(block));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
