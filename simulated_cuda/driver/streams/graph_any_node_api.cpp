// SPDX-License-Identifier: Apache-2.0
// Nodes of any kind by one structure, CUgraphNodeParams: what it says becomes the call for its
// kind. Called through driver_api.def with the lock held.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/node_operation.h"

namespace gmt::sim {
namespace {

CUDA_KERNEL_NODE_PARAMS kernel_of(const CUgraphNodeParams& params) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  static_assert(sizeof kernel == sizeof params.kernel);
  __builtin_memcpy(&kernel, &params.kernel, sizeof kernel);
  return kernel;
}

CUDA_MEMSET_NODE_PARAMS set_of(const CUgraphNodeParams& params) {
  const CUDA_MEMSET_NODE_PARAMS_v2& m = params.memset;
  return {m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
}

CUDA_HOST_NODE_PARAMS host_of(const CUgraphNodeParams& params) {
  return {params.host.fn, params.host.userData};
}

// Calls write(operation) with what the parameters say. Memory nodes cannot be changed.
template <class Write>
CUresult write_params(CUgraphNode node, const CUgraphNodeParams* params, Write write) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
  case CU_GRAPH_NODE_TYPE_KERNEL: return write(make_kernel_operation(kernel_of(*params)));
  case CU_GRAPH_NODE_TYPE_MEMCPY: return write(params->memcpy.copyParams);
  case CU_GRAPH_NODE_TYPE_MEMSET: return write(set_of(*params));
  case CU_GRAPH_NODE_TYPE_HOST: return write(host_of(*params));
  case CU_GRAPH_NODE_TYPE_GRAPH: return write_child(node, params->graph.graph, write);
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return write(EventWaitOperation{params->eventWait.event});
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    return write(EventRecordOperation{params->eventRecord.event});
  case CU_GRAPH_NODE_TYPE_EMPTY: return write(EmptyOperation{});
  default: return not_simulated("nodes of this kind");
  }
}

} // namespace

CUresult graph_add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* needs,
                        const CUgraphEdgeData*, std::size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
  case CU_GRAPH_NODE_TYPE_KERNEL: {
    const CUDA_KERNEL_NODE_PARAMS kernel = kernel_of(*params);
    return graph_add_kernel_node(out, graph, needs, count, &kernel);
  }
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return graph_add_memcpy_node(out, graph, needs, count, &params->memcpy.copyParams, nullptr);
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    const CUDA_MEMSET_NODE_PARAMS set = set_of(*params);
    return graph_add_memset_node(out, graph, needs, count, &set, nullptr);
  }
  case CU_GRAPH_NODE_TYPE_HOST: {
    const CUDA_HOST_NODE_PARAMS host = host_of(*params);
    return graph_add_host_node(out, graph, needs, count, &host);
  }
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return graph_add_child_graph_node(out, graph, needs, count, params->graph.graph);
  case CU_GRAPH_NODE_TYPE_EMPTY: return graph_add_empty_node(out, graph, needs, count);
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    return graph_add_event_wait_node(out, graph, needs, count, params->eventWait.event);
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    return graph_add_event_record_node(out, graph, needs, count, params->eventRecord.event);
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
    static_assert(sizeof alloc == sizeof params->alloc);
    __builtin_memcpy(&alloc, &params->alloc, sizeof alloc);
    const CUresult result = graph_add_mem_alloc_node(out, graph, needs, count, &alloc);
    params->alloc.dptr = alloc.dptr;
    return result;
  }
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
    return graph_add_mem_free_node(out, graph, needs, count, params->free.dptr);
  case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
    ConditionalOperation conditional;
    CUresult result = make_conditional(params->conditional, &conditional);
    if (result == CUDA_SUCCESS) result = add_node(out, graph, needs, count, conditional);
    if (result != CUDA_SUCCESS) return result;
    conditional.condition->has_node = true;
    params->conditional.phGraph_out = conditional.handles->data();
    return CUDA_SUCCESS;
  }
  default: return not_simulated("nodes of this kind");
  }
}

CUresult graph_add_node_v1(CUgraphNode* out, CUgraph graph, const CUgraphNode* needs,
                           std::size_t count, CUgraphNodeParams* params) {
  return graph_add_node(out, graph, needs, nullptr, count, params);
}

CUresult graph_node_set_params(CUgraphNode node, CUgraphNodeParams* params) {
  return write_params(node, params,
                      [&](const auto& operation) { return write_operation(node, &operation); });
}

CUresult graph_exec_node_set_params(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  return write_params(node, params, [&](const auto& operation) {
    return write_exec_operation(exec, node, operation);
  });
}

} // namespace gmt::sim
