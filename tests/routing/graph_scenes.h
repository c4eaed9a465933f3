// SPDX-License-Identifier: Apache-2.0
// Scenes of graphs: kernels in them, and what else changes what a graph does.
#pragma once

#include <cstring>
#include <vector>

#include <cuda.h>

#include "record_scenes.h"

inline constexpr char kKernel[] = R"(
.version 9.0
.target sm_90
.address_size 64
.visible .entry step(
	.param .u32 step_param_0,
	.param .u64 step_param_1,
	.param .align 8 .b8 step_param_2[16]
)
{
	ret;
}
)";

// Kernels in graphs, and what else changes what a graph runs.
inline void graph_kernels() {
  start();
  const CUdeviceptr address = allocate(4096);
  CUmodule module = nullptr;
  CUfunction step = nullptr;
  say("module", cuModuleLoadData(&module, kKernel));
  say("function", cuModuleGetFunction(&step, module, "step"));
  print_handle("function", step);
  CUgraph inner = nullptr, outer = nullptr;
  cuGraphCreate(&inner, 0);
  cuGraphCreate(&outer, 0);
  print_handle("inner", inner);
  print_handle("outer", outer);
  int count = 3;
  CUdeviceptr pair[2] = {7, address + 64}, first = address;
  void* arguments[] = {&count, &first, pair};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = step;
  kernel.gridDimX = 2;
  kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.blockDimX = 64;
  kernel.kernelParams = arguments;
  CUgraphNode node = nullptr, child = nullptr, last = nullptr;
  say("node", cuGraphAddKernelNode(&node, inner, nullptr, 0, &kernel));
  print_handle("node", node);
  first = address + 128;
  say("change", cuGraphKernelNodeSetParams(node, &kernel));
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  static_assert(sizeof any.kernel == sizeof kernel);
  std::memcpy(&any.kernel, &kernel, sizeof kernel);
  say("any", cuGraphAddNode(&last, outer, nullptr, nullptr, 0, &any));
  print_handle("last", last);
  say("child", cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
  print_handle("child", child);
  any = {};
  any.type = CU_GRAPH_NODE_TYPE_GRAPH;
  any.graph.graph = inner;
  say("any child", cuGraphAddNode(&child, outer, nullptr, nullptr, 0, &any));
  print_handle("any-child", child);
  CUgraph inside = nullptr;
  say("inside", cuGraphChildGraphNodeGetGraph(child, &inside));
  print_handle("inside", inside);
  CUgraphExec exec = nullptr;
  say("exec", cuGraphInstantiate(&exec, outer, 0));
  print_handle("exec", exec);
  say("change", cuGraphExecKernelNodeSetParams(exec, last, &kernel));
  say("off", cuGraphNodeSetEnabled(exec, last, 0));
  CUgraphExecUpdateResultInfo info{};
  say("update", cuGraphExecUpdate(exec, outer, &info));
  say("remove", cuGraphDestroyNode(last));
}

inline void graphs() {
  start();
  const CUdeviceptr address = allocate(65536);
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  cuGraphCreate(&graph, 0);
  print_handle("graph", graph);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = address;
  copy.srcPitch = copy.dstPitch = 128;
  copy.srcXInBytes = 4;
  copy.dstDevice = address + 32768;
  copy.WidthInBytes = 100;
  copy.Height = 10;
  copy.Depth = 1;
  say("copy", cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
  print_handle("copy-node", node);
  say("change", cuGraphMemcpyNodeSetParams(node, &copy));
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = address;
  set.pitch = 256;
  set.elementSize = 4;
  set.width = 8;
  set.height = 3;
  say("set", cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context));
  print_handle("set-node", node);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  any.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  any.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  any.alloc.bytesize = 5000;
  CUgraphNode made = nullptr;
  say("alloc", cuGraphAddNode(&made, graph, nullptr, nullptr, 0, &any));
  print_handle("address", any.alloc.dptr);
  CUgraphNodeParams free{};
  free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  free.free.dptr = any.alloc.dptr;
  say("free", cuGraphAddNode(&node, graph, &made, nullptr, 1, &free));
  CUstream stream = nullptr;
  CUgraph captured = nullptr;
  cuStreamCreate(&stream, 0);
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  say("end", cuStreamEndCapture(stream, &captured));
  print_handle("captured", captured);
}
