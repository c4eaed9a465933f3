// SPDX-License-Identifier: Apache-2.0
// A conditional node's body is a graph that the node gives out. Its kernels use memory like others, but whether they run
// is decided on the device: memory that only a body is given is not unused, and freeing it before a launch is a mistake
// only if that runs the body, which is said.
//
// run:
// expect: clean
// run: kinds
// expect: clean
// run: off
// expect: warning use-after-free count=1 api=cudaGraphLaunch message="It is a mistake only if the body of the conditional node runs." stacks="graph launched here","node made here"@add_kernel,"freed here","allocated here"
// The run "kinds" has nodes of each kind, one inside of another, and looks at what was counted.
#include <cstdio>

#include "answers.h"

__global__ void scale(float* values, float by, int count)
{
  int i = static_cast<int>(threadIdx.x);
  if (i < count) values[i] *= by;
}

__global__ void count_up(int* counter) { *counter += 1; }
__global__ void set_condition(cudaGraphConditionalHandle handle, unsigned value)
{
  cudaGraphSetConditional(handle, value);
}
__global__ void count_down(cudaGraphConditionalHandle handle, int* left)
{
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0);
}

// The node's bodies. What it depends on is `*node`, if that is one.
static cudaGraph_t* add_bodies(cudaGraph_t graph, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                               unsigned bodies, cudaGraphNode_t* node)
{
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = bodies;
  cudaGraphNode_t needed = *node;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(node, graph, needed ? &needed : nullptr, nullptr, needed ? 1 : 0, &params));
#else
  CHECK(cudaGraphAddNode(node, graph, needed ? &needed : nullptr, needed ? 1 : 0, &params));
#endif
  return params.conditional.phGraph_out;
}

static cudaGraphConditionalHandle new_handle(cudaGraph_t graph, unsigned at_launch)
{
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, at_launch, cudaGraphCondAssignDefault));
  return handle;
}

// Runs at each launch of the graph if `runs`, at none if not: no kernel sets the value to another one.
static cudaGraph_t add_body(cudaGraph_t graph, bool runs)
{
  cudaGraphNode_t node = nullptr;
  return add_bodies(graph, new_handle(graph, runs ? 1 : 0), cudaGraphCondTypeIf, 1, &node)[0];
}

template <class... Parameters, class... Arguments>
static void then(cudaGraph_t graph, cudaGraphNode_t* node, void (*kernel)(Parameters...), Arguments... arguments)
{
  void* list[] = {&arguments...};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(kernel);
  params.gridDim = dim3(1);
  params.blockDim = dim3(1);
  params.kernelParams = list;
  cudaGraphNode_t needed = *node;
  CHECK(cudaGraphAddKernelNode(node, graph, needed ? &needed : nullptr, needed ? 1 : 0, &params));
}

// Two turns of an outer loop, of which the first alone has three turns of an inner one: a condition gets its default
// once a launch. Each outer turn takes the second of three ways, and otherwise no way at all.
static int run_kinds(cudaStream_t stream)
{
  int* counters = nullptr;
  const int begin[6] = {2, 3, 0, 0, 0, 0};
  int found[6] = {};
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaMalloc(&counters, sizeof begin));
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle outer = new_handle(graph, 1), inner = new_handle(graph, 1), way = new_handle(graph, 0);
  cudaGraphNode_t loop = nullptr, last = nullptr;
  cudaGraph_t turn = add_bodies(graph, outer, cudaGraphCondTypeWhile, 1, &loop)[0];
  cudaGraph_t inner_turn = add_bodies(turn, inner, cudaGraphCondTypeWhile, 1, &last)[0];
  CHECK(cudaStreamBeginCaptureToGraph(stream, inner_turn, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  count_up<<<1, 1, 0, stream>>>(counters + 2);
  count_down<<<1, 1, 0, stream>>>(inner, counters + 1);
  CHECK(cudaStreamEndCapture(stream, nullptr));
  then(turn, &last, set_condition, way, 1u);
  cudaGraph_t* ways = add_bodies(turn, way, cudaGraphCondTypeSwitch, 3, &last);
  for (int i = 0; i < 3; ++i) {
    cudaGraphNode_t first = nullptr;
    then(ways[i], &first, count_up, counters + 3 + i);
  }
  then(turn, &last, count_down, outer, counters);
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int launch = 0; launch < 2; ++launch) {
    CHECK(cudaMemcpyAsync(counters, begin, sizeof begin, cudaMemcpyHostToDevice, stream));
    CHECK(cudaGraphLaunch(exec, stream));
  }
  CHECK(cudaMemcpyAsync(found, counters, sizeof found, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(counters));
  CHECK(cudaStreamDestroy(stream));
  const int expected[6] = {0, 0, 3, 0, 2, 0};
  for (int i = 0; i < 6; ++i) {
    if (found[i] == expected[i]) continue;
    std::fprintf(stderr, "counter %d is %d\n", i, found[i]);
    return 1;
  }
  return 0;
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
  if (started_with(argc, argv, "kinds")) {
    CHECK(cudaStreamCreate(&stream));
    return run_kinds(stream);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  float* block = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&block, 4096));
  CHECK(cudaMemset(block, 0, 4096));
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
