// SPDX-License-Identifier: Apache-2.0
// Attributes of kernel nodes, nodes of clones, and graphs as pictures (DOT). Answers are those of
// an H100 with driver 580. Called through driver_api.def with the lock held.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/streams/node_operation.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace gmt::sim {
namespace {

// Bytes of an attribute's value; 0: nodes have no such attribute.
std::size_t bytes_of(CUlaunchAttributeID attribute) {
  constexpr CUlaunchAttributeValue kNone{};
  switch (attribute) {
  case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return sizeof kNone.accessPolicyWindow;
  case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return sizeof kNone.cooperative;
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: return sizeof kNone.clusterDim;
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    return sizeof kNone.clusterSchedulingPolicyPreference;
  case CU_LAUNCH_ATTRIBUTE_PRIORITY: return sizeof kNone.priority;
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return sizeof kNone.memSyncDomainMap;
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return sizeof kNone.memSyncDomain;
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return sizeof kNone.sharedMemCarveout;
  default: return 0;
  }
}

CUlaunchAttributeValue value_of(const KernelOperation& kernel, CUlaunchAttributeID attribute) {
  CUlaunchAttributeValue value{};
  if (const auto set = kernel.attributes.find(attribute); set != kernel.attributes.end())
    return set->second;
  if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap = {0, 1};
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) value.cooperative = kernel.cooperative ? 1 : 0;
  if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    value.clusterDim = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
  return value;
}

std::string label_of(const Operation& operation) {
  const auto* kernel = std::get_if<KernelOperation>(&operation);
  if (kernel != nullptr) {
    const Kernel* code =
      find_kernel(kernel->params.func != nullptr ? static_cast<const void*>(kernel->params.func)
                                                 : static_cast<const void*>(kernel->params.kern));
    return code == nullptr ? "KERNEL" : code->name;
  }
  switch (type_of(operation)) {
  case CU_GRAPH_NODE_TYPE_MEMCPY: return "MEMCPY";
  case CU_GRAPH_NODE_TYPE_MEMSET: return "MEMSET";
  case CU_GRAPH_NODE_TYPE_HOST: return "HOST";
  case CU_GRAPH_NODE_TYPE_GRAPH: return "GRAPH";
  case CU_GRAPH_NODE_TYPE_EMPTY: return "EMPTY";
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "EVENT_WAIT";
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "EVENT_RECORD";
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "MEM_ALLOC";
  case CU_GRAPH_NODE_TYPE_MEM_FREE: return "MEM_FREE";
  case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "CONDITIONAL";
  default: return "NODE";
  }
}

} // namespace

CUresult graph_node_find_in_clone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  const GraphNode* node = find_node(original);
  const Graph* graph = find_graph(clone);
  if (out == nullptr || node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& each : graph->nodes) {
    if (each->original != node) continue;
    *out = reinterpret_cast<CUgraphNode>(each.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_kernel_node_get_attribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                         CUlaunchAttributeValue* value) {
  const auto* kernel = operation_of<KernelOperation>(node);
  const std::size_t bytes = bytes_of(attribute);
  if (kernel == nullptr || value == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUlaunchAttributeValue is = value_of(*kernel, attribute);
  std::memcpy(value, &is, bytes);
  return CUDA_SUCCESS;
}

CUresult graph_kernel_node_set_attribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                         const CUlaunchAttributeValue* value) {
  auto* kernel = operation_of<KernelOperation>(node);
  const std::size_t bytes = bytes_of(attribute);
  if (kernel == nullptr || value == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  KernelOperation changed = *kernel;
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    changed.cooperative = value->cooperative != 0;
  } else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    const unsigned cluster[3] = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    std::ranges::copy(cluster, changed.cluster);
    if (CUresult bad = check_launch(changed); bad != CUDA_SUCCESS) return bad;
  } else {
    CUlaunchAttributeValue kept{};
    std::memcpy(&kept, value, bytes);
    changed.attributes[attribute] = kept;
  }
  *kernel = std::move(changed);
  return CUDA_SUCCESS;
}

CUresult graph_kernel_node_copy_attributes(CUgraphNode to, CUgraphNode from) {
  auto* kernel = operation_of<KernelOperation>(to);
  const auto* source = operation_of<KernelOperation>(from);
  if (kernel == nullptr || source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  kernel->cooperative = source->cooperative;
  std::ranges::copy(source->cluster, kernel->cluster);
  kernel->attributes = source->attributes;
  return CUDA_SUCCESS;
}

// Less of each node than the driver's file has, with any flags.
CUresult graph_debug_dot_print(CUgraph handle, const char* path, unsigned) {
  const Graph* graph = find_graph(handle);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ofstream out(path);
  out << "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n";
  const auto number = [graph](const GraphNode* node) {
    const auto found = std::ranges::find(graph->nodes, node, &std::unique_ptr<GraphNode>::get);
    return "\"graph_1_node_" + std::to_string(found - graph->nodes.begin()) + "\"";
  };
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const GraphNode& node = *graph->nodes[i];
    out << number(&node) << "[label=\"" << i << "\\n" << label_of(node.operation) << "\"];\n";
  }
  for (const auto& node : graph->nodes) {
    for (const GraphNode* before : node->dependencies)
      out << number(before) << " -> " << number(node.get()) << ";\n";
  }
  out << "}\n}\n";
  out.flush();
  return out ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

} // namespace gmt::sim
