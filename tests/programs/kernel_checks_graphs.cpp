// SPDX-License-Identifier: Apache-2.0
// --kernel-checks on graphs by the driver's interface: nodes run the checked form, and say that they run the program's
// kernel with its arguments. What is changed in a graph, in an executable one, or by an update is checked as it is then.
//
// libs: cuda
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: checked
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=4 message="store writes 4 bytes" stacks="accessed here","node made here"@main:LINE(set),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=8 message="store writes 4 bytes" stacks="accessed here","node made here"@main:LINE(set-exec),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=4 message="store writes 4 bytes" stacks="accessed here","captured here"@capture:LINE(capture),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=4 message="store writes 4 bytes" stacks="accessed here","node made here"@any_node:LINE(any-node),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=4 message="store writes 4 bytes" stacks="accessed here","captured here"@capture:LINE(together),"allocated here"@main:LINE(block)
// not-checked: kernel-out-of-bounds
// run: plain
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// options: check
// expect: clean
#include "answers.h"
#include "first_device.h"

#include <cuda.h>

#undef NDEBUG
#include <cassert>
#include <cstring>
#include <initializer_list>

static CUDA_KERNEL_NODE_PARAMS node_of(CUfunction kernel, unsigned blocks, void** parameters)
{
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = kernel;
  node.gridDimX = blocks;
  node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = 256;
  node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = parameters;
  return node;
}

// The simulated device answers with the pointers that it was given, a driver with some of its own.
static bool has_own_arguments()
{
  char name[100] = "";
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  return std::strstr(name, "imulated") == nullptr;
}

// What the driver says of a node is the program's kernel.
static CUDA_KERNEL_NODE_PARAMS look_at(CUgraphNode node, CUfunction kernel, unsigned blocks, CUdeviceptr argument)
{
  CUDA_KERNEL_NODE_PARAMS params{};
  CHECK(cuGraphKernelNodeGetParams(node, &params));
  CUfunction own = params.func;
  if (own == nullptr)
    CHECK(cuKernelGetFunction(&own, params.kern));
  const char *name = nullptr, *wanted = nullptr;
  CHECK(cuFuncGetName(&name, own));
  CHECK(cuFuncGetName(&wanted, kernel));
  assert(std::strcmp(name, wanted) == 0);
  assert(params.gridDimX == blocks && params.blockDimX == 256);
  if (has_own_arguments())
    assert(*static_cast<CUdeviceptr*>(params.kernelParams[0]) == argument);
  return params;
}

static CUgraph capture(CUfunction kernel, unsigned blocks, CUdeviceptr argument, bool together)
{
  CUstream stream;
  CUgraph graph;
  void* parameters[] = {&argument};
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (together)
    CHECK(cuLaunchCooperativeKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, parameters)); // @together
  else
    CHECK(cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr)); // @capture
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuStreamDestroy(stream));
  CUgraphNode node;
  size_t count = 1;
  CHECK(cuGraphGetNodes(graph, &node, &count));
  assert(count == 1);
  look_at(node, kernel, blocks, argument);
  return graph;
}

static void run(CUgraphExec exec, int times)
{
  for (int i = 0; i < times; ++i)
    CHECK(cuGraphLaunch(exec, nullptr));
  CHECK(cuCtxSynchronize());
}

// The calls for every kind of node.
static void any_node(CUfunction kernel, unsigned blocks, CUdeviceptr argument)
{
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  CUgraphNodeParams params{};
  void* parameters[] = {&argument};
  CHECK(cuGraphCreate(&graph, 0));
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  const CUDA_KERNEL_NODE_PARAMS like = node_of(kernel, blocks, parameters);
  params.kernel.func = like.func;
  params.kernel.gridDimX = blocks;
  params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = like.blockDimX;
  params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  params.kernel.kernelParams = parameters;
  CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params)); // @any-node
  assert(params.kernel.func == kernel && params.kernel.kernelParams == parameters);
  look_at(node, kernel, blocks, argument);
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  run(exec, 1);
  params.kernel.gridDimX = 3;
  CHECK(cuGraphExecNodeSetParams(exec, node, &params));
  run(exec, 1);
  CHECK(cuGraphNodeSetParams(node, &params));
  look_at(node, kernel, 3, argument);
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

// A node may run in another context than the current one; the table of valid bytes is in one.
static void other_context(CUdevice device, unsigned blocks)
{
  CUcontext own = nullptr, other = nullptr, popped = nullptr;
  CUctxCreateParams how{};
  CUmodule module;
  CUfunction store;
  CUdeviceptr block;
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  CHECK(cuCtxGetCurrent(&own));
  CHECK(cuCtxCreate(&other, &how, 0, device));
  CHECK(cuModuleLoadData(&module, kStores));
  CHECK(cuModuleGetFunction(&store, module, "store"));
  CHECK(cuMemAlloc(&block, 4096));
  CHECK(cuCtxPopCurrent(&popped));
  void* parameters[] = {&block};
  const CUDA_KERNEL_NODE_PARAMS params = node_of(store, blocks, parameters);
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  run(exec, 1);
  look_at(node, store, blocks, block);
  CHECK(cuCtxPushCurrent(other));
  CHECK(cuCtxSynchronize());
  int last = 0;
  CHECK(cuMemcpyDtoH(&last, block + 4 * (256 * blocks - 1), sizeof last));
  assert(last == static_cast<int>(256 * blocks - 1));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuMemFree(block));
  CHECK(cuModuleUnload(module));
  CHECK(cuCtxDestroy(other));
  CHECK(cuCtxSetCurrent(own));
}

int main(int argc, char** argv)
{
  const CUdevice device = enter_first_device();
  CUmodule module;
  CUfunction store;
  CUdeviceptr block, small;
  CUgraph graph, clone;
  CUgraphNode node;
  CUgraphExec exec;
  const unsigned blocks = started_with(argc, argv, "checked") ? 4 : 3; // for 1,020 numbers
  CHECK(cuModuleLoadData(&module, kStores));
  CHECK(cuModuleGetFunction(&store, module, "store"));
  CHECK(cuMemAlloc(&block, 4 * 1020)); // @block
  CHECK(cuMemAlloc(&small, 4 * 768));
  void *parameters[] = {&small}, *others[] = {&block};
  CHECK(cuGraphCreate(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS right = node_of(store, 3, parameters), wrong = node_of(store, blocks, others);
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &right));
  assert(right.func == store && right.kernelParams == parameters);
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  run(exec, 2);

  // What was answered may be given back, with another size.
  CUDA_KERNEL_NODE_PARAMS answered = look_at(node, store, 3, small);
  answered.gridDimX = 2;
  if (!has_own_arguments())
    answered.kernelParams = parameters;
  CHECK(cuGraphKernelNodeSetParams(node, &answered));
  look_at(node, store, 2, small);
  CHECK(cuGraphKernelNodeSetParams(node, &wrong)); // @set
  look_at(node, store, blocks, block);
  run(exec, 1); // as it was instantiated
  CUgraphExec changed;
  CHECK(cuGraphClone(&clone, graph));
  CHECK(cuGraphInstantiate(&changed, clone, 0));
  run(changed, 1);

  CHECK(cuGraphExecKernelNodeSetParams(exec, node, &wrong)); // @set-exec
  run(exec, 2);
  CHECK(cuGraphExecKernelNodeSetParams(exec, node, &right));
  run(exec, 1);

  CUgraphExecUpdateResultInfo info{};
  CUgraph captured = capture(store, blocks, block, false);
  CHECK(cuGraphExecUpdate(exec, captured, &info));
  run(exec, 1);
  CUgraphExec at_once;
  CUgraph cooperative = capture(store, blocks, block, true);
  CHECK(cuGraphInstantiate(&at_once, cooperative, 0));
  run(at_once, 1);
  any_node(store, blocks, block);
  other_context(device, blocks);

  int last = 0;
  CHECK(cuMemcpyDtoH(&last, small + 4 * 767, sizeof last));
  assert(last == 767);
  for (CUgraphExec one : {exec, changed, at_once})
    CHECK(cuGraphExecDestroy(one));
  for (CUgraph one : {graph, clone, captured, cooperative})
    CHECK(cuGraphDestroy(one));
  CHECK(cuModuleUnload(module));
  CHECK(cuMemFree(small));
  CHECK(cuMemFree(block));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
