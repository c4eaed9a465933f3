// SPDX-License-Identifier: Apache-2.0
// Instantiated graphs: instantiation, update, launch, and the memory counters of graphs.
// Called through driver_api.def with the lock held.
// Invariant: an executable graph holds its own copies of all operations, in an order that honours
// the dependencies, so later changes to the graph do not reach it; it outlives the graph.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/device_graphs.h"
#include "simulated_cuda/driver/streams/graph_position.h"
#include "simulated_cuda/driver/streams/late.h"
#include "simulated_cuda/driver/streams/node_operation.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstddef>

namespace gmt::sim {
namespace {

struct Refusal {
  CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  const GraphNode* node = nullptr;
};

// What an H100 does not take into a graph that kernels may launch. CUDA C++ Programming Guide,
// "Device Graph Requirements", does not name empty nodes.
Refusal refusal_for_kernels(const Graph& graph) {
  for (const GraphNode* node : graph.in_order()) {
    const Refusal refused{CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node};
    switch (type_of(node->operation)) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMSET: break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      const auto& copy = std::get<CUDA_MEMCPY3D>(node->operation);
      for (const CUmemorytype type : {copy.srcMemoryType, copy.dstMemoryType})
        if (type == CU_MEMORYTYPE_ARRAY) return refused;
      if (uses_pageable_memory(copy))
        return {CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, node};
      break;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const Refusal inside = refusal_for_kernels(*std::get<ChildOperation>(node->operation).graph);
      if (inside.node != nullptr) return inside;
      break;
    }
    default: return refused;
    }
  }
  return {};
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags, Refusal* refusal) {
  const Graph* graph = state().graphs.get(handle);
  constexpr unsigned long long kKnown =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  *refusal = {CUDA_GRAPH_INSTANTIATE_ERROR, nullptr};
  if (out == nullptr || graph == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto order = graph->in_order();
  if (order.size() != graph->nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    if (order.empty() || (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (const Refusal found = refusal_for_kernels(*graph); found.node != nullptr) {
      *refusal = found;
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  auto exec = std::make_unique<GraphExec>();
  exec->flags = flags;
  if (CUresult bad = take_conditions(*graph, exec->conditions, &refusal->why); bad != CUDA_SUCCESS)
    return bad;
  for (const GraphNode* node : order) exec->nodes.push_back({node, own_copy(node->operation)});
  exec->number_nodes();
  *out = reinterpret_cast<CUgraphExec>(state().execs.add(std::move(exec)));
  return CUDA_SUCCESS;
}

} // namespace

CUresult graph_instantiate_with_flags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  Refusal ignored;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) return CUDA_ERROR_INVALID_VALUE;
  return instantiate(out, graph, flags, &ignored);
}

CUresult graph_instantiate_with_params(CUgraphExec* out, CUgraph graph,
                                       CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Refusal refusal;
  const CUresult result = instantiate(out, graph, params->flags, &refusal);
  params->hErrNode_out = reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(refusal.node));
  params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : refusal.why;
  return result;
}

CUresult graph_exec_get_flags(CUgraphExec handle, cuuint64_t* flags) {
  const GraphExec* exec = state().execs.get(handle);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags & ~std::uint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY};
  return CUDA_SUCCESS;
}

CUresult graph_exec_update(CUgraphExec handle, CUgraph graph_handle,
                           CUgraphExecUpdateResultInfo* info) {
  GraphExec* exec = state().execs.get(handle);
  const Graph* graph = state().graphs.get(graph_handle);
  if (exec == nullptr || graph == nullptr || info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  const auto order = graph->in_order();
  bool same = order.size() == exec->nodes.size();
  for (std::size_t i = 0; same && i < order.size(); ++i)
    same = type_of(order[i]->operation) == type_of(exec->nodes[i].operation);
  if (!same) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  // Its nodes keep the names that they had: those of the graph that it was made of.
  for (std::size_t i = 0; i < order.size(); ++i)
    exec->nodes[i].operation = own_copy(order[i]->operation);
  info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult graph_exec_destroy(CUgraphExec handle) {
  const GraphExec* exec = state().execs.get(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto dead = state().execs.take(exec);
  return CUDA_SUCCESS;
}

CUresult graph_launch(CUgraphExec handle, CUstream stream_handle) {
  GraphExec* exec = state().execs.get(handle);
  Stream* stream = find_stream(stream_handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return not_simulated("into a stream that is captured");
  run_late_before(*stream);
  GraphPosition& position = graph_position();
  position = {.is_in_launch = true};
  const CUresult result = run_graph(*exec, *stream);
  position = {};
  return result;
}

CUresult graph_upload(CUgraphExec handle, CUstream stream) {
  if (state().execs.get(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return find_stream(stream) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult graph_node_set_enabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled) {
  ExecNode* node = find_exec_node(exec, handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node->enabled = enabled != 0;
  return CUDA_SUCCESS;
}

CUresult graph_node_get_enabled(CUgraphExec exec, CUgraphNode handle, unsigned* enabled) {
  const ExecNode* node = find_exec_node(exec, handle);
  if (node == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *enabled = node->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult device_get_graph_mem_attribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                        void* value) {
  const Device* device = state().device(ordinal);
  if (device == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                    attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  *static_cast<cuuint64_t*>(value) =
    high ? device->graph_memory.high : device->graph_memory.current;
  return CUDA_SUCCESS;
}

CUresult device_set_graph_mem_attribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                        void* value) {
  Device* device = state().device(ordinal);
  if (device == nullptr || value == nullptr || *static_cast<cuuint64_t*>(value) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                    attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  if (!high) return CUDA_ERROR_INVALID_VALUE;
  device->graph_memory.high = device->graph_memory.current;
  return CUDA_SUCCESS;
}

CUresult device_graph_mem_trim(CUdevice ordinal) {
  return state().device(ordinal) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

} // namespace gmt::sim
