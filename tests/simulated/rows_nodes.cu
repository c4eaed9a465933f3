// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs: those of clones, their attributes, and what they are described as. Also what
// describes textures.
#include "driver_answers.h"

#include <cstdio>
#include <cstring>
#include <fstream>

namespace {

__global__ void add(int* values, int count, int what) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += what;
}
__device__ int symbol[64];

// A kernel, a copy, and a set, one behind the other.
struct Nodes {
  Nodes() {
    cudaGraphCreate(&graph, 0);
    add_kernel(&kernel, graph);
    cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, to.pointer, from.pointer, 4096,
                             cudaMemcpyDeviceToDevice);
    cudaMemsetParams fill{};
    fill.dst = to.pointer;
    fill.elementSize = 4;
    fill.width = 1024;
    fill.height = 1;
    cudaGraphAddMemsetNode(&set, graph, &copy, 1, &fill);
  }
  ~Nodes() { cudaGraphDestroy(graph); }
  // The arguments are gone when it returns.
  void add_kernel(cudaGraphNode_t* node, cudaGraph_t to_graph) {
    int count = 1024, what = 3;
    void* arguments[] = {&to.pointer, &count, &what};
    cudaKernelNodeParams params = kernel_params();
    params.kernelParams = arguments;
    cudaGraphAddKernelNode(node, to_graph, nullptr, 0, &params);
    count = what = 0;
  }
  static cudaKernelNodeParams kernel_params() {
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(add);
    params.gridDim = dim3(8);
    params.blockDim = dim3(128);
    return params;
  }
  DeviceBlock to{4096}, from{4096};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t kernel = nullptr, copy = nullptr, set = nullptr;
};

// A node of a clone is found by the one that it was cloned from, and not from further away.
std::string nodes_of_clones() {
  Nodes nodes;
  cudaGraph_t clone = nullptr, second = nullptr;
  cudaGraphClone(&clone, nodes.graph);
  cudaGraphClone(&second, clone);
  cudaGraphNode_t found = nullptr, other = nullptr;
  const int direct = cudaGraphNodeFindInClone(&found, nodes.kernel, clone);
  const bool is_other = found != nodes.kernel;
  const std::string text =
    answers({direct, is_other, cudaGraphNodeFindInClone(&other, nodes.kernel, nodes.graph),
             cudaGraphNodeFindInClone(&other, found, clone),
             cudaGraphNodeFindInClone(&other, nodes.kernel, second),
             cudaGraphNodeFindInClone(&other, found, second),
             cudaGraphNodeFindInClone(nullptr, nodes.kernel, clone),
             cudaGraphNodeFindInClone(&other, nodes.kernel, nullptr)});
  cudaGraphDestroy(second);
  cudaGraphDestroy(clone);
  return text;
}

// An executable graph that was updated is still asked by the nodes of the graph that it was made
// of.
std::string nodes_of_updated() {
  Nodes nodes;
  cudaGraph_t clone = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphInstantiate(&executable, nodes.graph, 0);
  cudaGraphClone(&clone, nodes.graph);
  cudaGraphNode_t cloned = nullptr;
  cudaGraphNodeFindInClone(&cloned, nodes.kernel, clone);
  cudaGraphExecUpdateResultInfo info{};
  unsigned enabled = 9;
  const std::string text = answers({cudaGraphExecUpdate(executable, clone, &info),
                                    cudaGraphNodeSetEnabled(executable, nodes.kernel, 0),
                                    cudaGraphNodeSetEnabled(executable, cloned, 0),
                                    cudaGraphNodeGetEnabled(executable, nodes.kernel, &enabled)});
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(clone);
  return text + " " + std::to_string(enabled);
}

std::string kernel_described() {
  Nodes nodes;
  cudaKernelNodeParams params{};
  const int error = cudaGraphKernelNodeGetParams(nodes.kernel, &params);
  const bool is_kernel = params.func == reinterpret_cast<void*>(add);
  return answers({error, is_kernel, static_cast<int>(params.gridDim.x),
                  static_cast<int>(params.blockDim.x), *static_cast<int*>(params.kernelParams[1]),
                  *static_cast<int*>(params.kernelParams[2]),
                  cudaGraphKernelNodeGetParams(nodes.set, &params),
                  cudaGraphKernelNodeGetParams(nodes.kernel, nullptr)});
}

int get(cudaGraphNode_t node, int attribute, cudaKernelNodeAttrValue* value) {
  return cudaGraphKernelNodeGetAttribute(node, static_cast<cudaLaunchAttributeID>(attribute),
                                         value);
}

std::string attributes_known() {
  Nodes nodes;
  std::string text;
  for (int attribute = 1; attribute < 13; ++attribute) {
    cudaKernelNodeAttrValue value;
    std::memset(&value, 0x5a, sizeof value);
    text += (text.empty() ? "" : " ") + std::to_string(get(nodes.kernel, attribute, &value));
  }
  cudaGetLastError();
  return text;
}

std::string attributes_set() {
  Nodes nodes;
  cudaGraphNode_t other = nullptr;
  nodes.add_kernel(&other, nodes.graph);
  const auto set = [](cudaGraphNode_t node, int attribute, const cudaKernelNodeAttrValue& value) {
    return static_cast<int>(
      cudaGraphKernelNodeSetAttribute(node, static_cast<cudaLaunchAttributeID>(attribute), &value));
  };
  cudaKernelNodeAttrValue priority{}, cluster{}, wrong{}, is{};
  priority.priority = -1;
  cluster.clusterDim.x = 2;
  cluster.clusterDim.y = cluster.clusterDim.z = 1;
  wrong = cluster;
  wrong.clusterDim.x = 3; // of 8 blocks
  std::string text =
    answers({set(nodes.kernel, cudaLaunchAttributePriority, priority),
             set(nodes.kernel, cudaLaunchAttributeClusterDimension, cluster),
             set(nodes.kernel, cudaLaunchAttributeClusterDimension, wrong),
             set(nodes.set, cudaLaunchAttributePriority, priority), set(nodes.kernel, 77, priority),
             cudaGraphKernelNodeCopyAttributes(other, nodes.kernel),
             cudaGraphKernelNodeCopyAttributes(nodes.set, nodes.kernel)});
  get(other, cudaLaunchAttributePriority, &is);
  text += " " + std::to_string(is.priority);
  get(other, cudaLaunchAttributeClusterDimension, &is);
  return text + " " + std::to_string(is.clusterDim.x);
}

std::string copy_described() {
  Nodes nodes;
  cudaMemcpy3DParms params{};
  const int error = cudaGraphMemcpyNodeGetParams(nodes.copy, &params);
  return answers({error, params.srcPtr.ptr == nodes.from.pointer,
                  params.dstPtr.ptr == nodes.to.pointer, static_cast<int>(params.srcPtr.pitch),
                  static_cast<int>(params.extent.width), static_cast<int>(params.extent.height),
                  static_cast<int>(params.extent.depth), static_cast<int>(params.kind)});
}

std::string copies_changed() {
  Nodes nodes;
  cudaGraphExec_t executable = nullptr;
  cudaGraphInstantiate(&executable, nodes.graph, 0);
  constexpr auto kKind = cudaMemcpyDeviceToDevice;
  void *a = nodes.from.pointer, *b = nodes.to.pointer;
  const std::string text = answers(
    {cudaGraphMemcpyNodeSetParams1D(nodes.copy, a, b, 2048, kKind),
     cudaGraphMemcpyNodeSetParams1D(nodes.set, a, b, 2048, kKind),
     cudaGraphMemcpyNodeSetParamsToSymbol(nodes.copy, symbol, a, 64, 0, kKind),
     cudaGraphMemcpyNodeSetParamsToSymbol(nodes.copy, symbol, a, 1024, 0, kKind),
     cudaGraphMemcpyNodeSetParamsFromSymbol(nodes.copy, a, symbol, 64, 0, kKind),
     cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, nodes.copy, symbol, a, 64, 0, kKind),
     cudaGraphExecMemcpyNodeSetParamsFromSymbol(executable, nodes.copy, a, symbol, 64, 0, kKind),
     cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, nodes.set, symbol, a, 64, 0, kKind)});
  cudaGraphExecDestroy(executable);
  return text;
}

std::string picture() {
  Nodes nodes;
  char name[] = "/tmp/driver_answers.XXXXXX";
  const int file = mkstemp(name);
  const int error = cudaGraphDebugDotPrint(nodes.graph, name, 0);
  std::ifstream in(name);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (file >= 0) std::remove(name);
  return answers({error, text.find("digraph dot") == 0, text.find("add") != std::string::npos,
                  text.find("_node_0\" -> \"graph_") != std::string::npos,
                  cudaGraphDebugDotPrint(nodes.graph, "/nowhere/at/all", 0)});
}

std::string texture_described() {
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  cudaMallocArray(&array, &channels, 16, 16, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource{}, got{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{}, description{};
  texture.normalizedCoords = 1;
  texture.filterMode = cudaFilterModeLinear;
  texture.addressMode[0] = cudaAddressModeMirror;
  texture.maxAnisotropy = 4;
  cudaTextureObject_t object = 0;
  cudaSurfaceObject_t surface = 0;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  cudaCreateSurfaceObject(&surface, &resource);
  const int first = cudaGetTextureObjectResourceDesc(&got, object);
  const bool is_array = got.resType == cudaResourceTypeArray && got.res.array.array == array;
  got = {};
  const int second = cudaGetSurfaceObjectResourceDesc(&got, surface);
  const bool is_same = got.res.array.array == array;
  const int third = cudaGetTextureObjectTextureDesc(&description, object);
  const bool is_linear = description.filterMode == cudaFilterModeLinear;
  const int mirror = description.addressMode[0], read = description.readMode;
  cudaDestroySurfaceObject(surface);
  cudaDestroyTextureObject(object);
  cudaFreeArray(array);
  return answers({first, is_array, second, is_same, third, is_linear, mirror, read,
                  static_cast<int>(description.maxAnisotropy),
                  cudaGetTextureObjectResourceDesc(&got, object)});
}

std::string programmatic_edge() {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&stream);
  const DeviceBlock block{4096};
  int* words = static_cast<int*>(block.pointer);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(1);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  add<<<1, 1, 0, stream>>>(words, 1, 1);
  const int launched = cudaLaunchKernelEx(&config, add, words, 1, 1);
  cudaStreamEndCapture(stream, &graph);
  std::size_t count = 1;
  cudaGraphNode_t from = nullptr, to = nullptr;
  cudaGraphEdgeData edge{};
  const int got = cudaGraphGetEdges(graph, &from, &to, &edge, &count);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return answers({launched, got, static_cast<int>(count), static_cast<int>(edge.type)});
}

// A graph with a kernel and what `add_more` puts beside it, for launches by kernels: the answer,
// the result, and the type of the node that is in the way.
template <class AddMore>
std::string instantiated(AddMore add_more) {
  Nodes memory;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphCreate(&graph, 0);
  memory.add_kernel(&node, graph);
  add_more(graph, memory);
  cudaGraphInstantiateParams params{};
  params.flags = cudaGraphInstantiateFlagDeviceLaunch;
  const int answer = cudaGraphInstantiateWithParams(&executable, graph, &params);
  auto type = static_cast<cudaGraphNodeType>(99);
  if (params.errNode_out != nullptr) cudaGraphNodeGetType(params.errNode_out, &type);
  if (executable != nullptr) cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return answers({answer, static_cast<int>(params.result_out), static_cast<int>(type)});
}

std::string graphs_for_kernels() {
  static char pageable[16];
  const auto nothing = [](cudaGraph_t, Nodes&) {};
  const auto empty = [](cudaGraph_t graph, Nodes&) {
    cudaGraphNode_t node = nullptr;
    cudaGraphAddEmptyNode(&node, graph, nullptr, 0);
  };
  const auto from_pageable = [](cudaGraph_t graph, Nodes& nodes) {
    cudaGraphNode_t node = nullptr;
    cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, nodes.to.pointer, pageable, 16,
                             cudaMemcpyHostToDevice);
  };
  const auto on_the_device = [](cudaGraph_t graph, Nodes& nodes) {
    cudaGraphNode_t node = nullptr;
    cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, nodes.to.pointer, nodes.from.pointer, 16,
                             cudaMemcpyDeviceToDevice);
  };
  const auto child = [](auto inside) {
    return [inside](cudaGraph_t graph, Nodes& nodes) {
      cudaGraph_t made = nullptr;
      cudaGraphNode_t node = nullptr;
      cudaGraphCreate(&made, 0);
      inside(made, nodes);
      cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, made);
      cudaGraphDestroy(made);
    };
  };
  return instantiated(nothing) + ", " + instantiated(empty) + ", " + instantiated(from_pageable) +
         ", " + instantiated(on_the_device) + ", " + instantiated(child(nothing)) + ", " +
         instantiated(child(empty));
}

// By the call without parameters, and with them.
std::string flags_of_graphs() {
  Nodes nodes;
  std::string all;
  for (const unsigned flags : {1u, 2u, 4u, 5u, 6u, 8u, 12u}) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraphCreate(&graph, 0);
    nodes.add_kernel(&node, graph);
    cudaGraphExec_t plain = nullptr, with = nullptr;
    cudaGraphInstantiateParams params{};
    params.flags = flags;
    const int first = cudaGraphInstantiate(&plain, graph, flags),
              second = cudaGraphInstantiateWithParams(&with, graph, &params);
    unsigned long long known = 99;
    if (plain != nullptr) cudaGraphExecGetFlags(plain, &known);
    all += (all.empty() ? "" : ", ") + answers({first, second, static_cast<int>(known)});
    for (cudaGraphExec_t made : {plain, with})
      if (made != nullptr) cudaGraphExecDestroy(made);
    cudaGraphDestroy(graph);
  }
  return all;
}

const std::vector<Row> rows = {
  {"graphs for launches by kernels", "0 0 99, 1 3 5, 1 4 1, 0 0 99, 0 0 99, 1 3 5",
   graphs_for_kernels},
  {"flags of graphs", "0 0 1, 1 0 99, 0 0 4, 1 1 99, 1 0 99, 0 0 0, 0 0 4", flags_of_graphs},
  {"nodes of clones", "0 1 1 1 1 0 1 1", nodes_of_clones},
  {"nodes of a graph that was updated", "0 0 1 0 0", nodes_of_updated},
  {"a kernel node described", "0 1 8 128 1024 3 1 1", kernel_described},
  {"attributes of a kernel node", "0 0 1 0 0 1 1 0 0 0 1 1", attributes_known},
  {"attributes of kernel nodes set", "0 0 912 1 1 0 1 -1 2", attributes_set},
  {"a copy node described", "0 1 1 0 4096 1 1 3", copy_described},
  {"copy nodes changed", "0 1 0 1 0 0 0 1", copies_changed},
  {"a graph as a picture", "0 1 1 1 304", picture},
  {"a captured launch that may begin early", "0 0 1 1", programmatic_edge},
  {"a texture described", "0 1 0 1 0 1 2 0 4 1", texture_described},
};

} // namespace

const std::vector<Row>& node_rows() { return rows; }
