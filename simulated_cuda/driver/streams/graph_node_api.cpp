// SPDX-License-Identifier: Apache-2.0
// Adding nodes to graphs, and reading and changing what a node does.
// Called through driver_api.def with the lock held. Kernel arguments are copied in, as on the real
// driver. Invariant: a node's operation never changes its kind: setters answer
// CUDA_ERROR_INVALID_VALUE for another one.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/conditional.h"
#include "simulated_cuda/driver/streams/operation.h"

namespace gmt::sim {
namespace {

CUresult add_node(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* dependencies,
                  std::size_t count, Operation operation) {
  Graph* graph = find_graph(graph_handle);
  if (out == nullptr || graph == nullptr || (dependencies == nullptr && count != 0))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> needs;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = find_node(dependencies[i]);
    if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    needs.push_back(node);
  }
  *out = reinterpret_cast<CUgraphNode>(graph->add(std::move(operation), std::move(needs)));
  return CUDA_SUCCESS;
}

template <class T>
T* operation_of(CUgraphNode handle) {
  GraphNode* node = find_node(handle);
  return node == nullptr ? nullptr : std::get_if<T>(&node->operation);
}

template <class T>
CUresult read_operation(CUgraphNode node, T* out) {
  const T* operation = operation_of<T>(node);
  if (operation == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = *operation;
  return CUDA_SUCCESS;
}

template <class T>
CUresult get_event(CUgraphNode node, CUevent* event) {
  const T* operation = operation_of<T>(node);
  if (operation == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *event = operation->event;
  return CUDA_SUCCESS;
}

template <class T>
CUresult write_operation(CUgraphNode node, const T* in) {
  T* operation = operation_of<T>(node);
  if (operation == nullptr || in == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *operation = *in;
  return CUDA_SUCCESS;
}

template <class T>
CUresult write_exec_operation(CUgraphExec exec_handle, CUgraphNode node_handle, const T& value) {
  GraphExec* exec = state().execs.get(exec_handle);
  ExecNode* node = exec == nullptr ? nullptr : exec->find(node_handle);
  if (node == nullptr || !std::holds_alternative<T>(node->operation))
    return CUDA_ERROR_INVALID_VALUE;
  if constexpr (std::is_same_v<T, CUDA_MEMCPY3D>) {
    if (!keeps_devices(std::get<T>(node->operation), value)) return CUDA_ERROR_INVALID_VALUE;
  }
  node->operation = value;
  return CUDA_SUCCESS;
}

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

// A child may be replaced by a graph of as many nodes of the same kinds, in the same order.
bool is_alike(const Graph& one, const Graph& other) {
  if (one.nodes.size() != other.nodes.size()) return false;
  for (std::size_t i = 0; i < one.nodes.size(); ++i) {
    if (type_of(one.nodes[i]->operation) != type_of(other.nodes[i]->operation)) return false;
  }
  return true;
}

// Calls write(operation) with a copy of the graph, if the node's child may become it.
template <class Write>
CUresult write_child(CUgraphNode node, CUgraph graph, Write write) {
  const auto* old = operation_of<ChildOperation>(node);
  const Graph* child = find_graph(graph);
  if (old == nullptr || child == nullptr || !is_alike(*old->graph, *child))
    return CUDA_ERROR_INVALID_VALUE;
  return write(ChildOperation{clone(*child)});
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

CUresult graph_add_kernel_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                               std::size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelOperation kernel = make_kernel_operation(*params);
  if (CUresult bad = check_launch(kernel); bad != CUDA_SUCCESS) return bad;
  return add_node(out, graph, dependencies, count, kernel);
}

CUresult graph_kernel_node_get_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  const auto* kernel = operation_of<KernelOperation>(node);
  if (kernel == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = kernel->params;
  return CUDA_SUCCESS;
}

CUresult graph_kernel_node_set_params(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelOperation kernel = make_kernel_operation(*params);
  return write_operation(node, &kernel);
}

CUresult graph_exec_kernel_node_set_params(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return write_exec_operation(exec, node, make_kernel_operation(*params));
}

CUresult graph_add_memcpy_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                               std::size_t count, const CUDA_MEMCPY3D* copy, CUcontext handle) {
  const Context* context = state().context(handle);
  if (copy == nullptr || !is_copy_reached(*copy, context, context)) return CUDA_ERROR_INVALID_VALUE;
  return add_node(out, graph, dependencies, count, *copy);
}

CUresult graph_memcpy_node_get_params(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  return read_operation(node, copy);
}
CUresult graph_memcpy_node_set_params(CUgraphNode node, const CUDA_MEMCPY3D* c) {
  return write_operation(node, c);
}
CUresult graph_exec_memcpy_node_set_params(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_MEMCPY3D* copy, CUcontext handle) {
  const Context* context = state().context(handle); // as for a new node; not measured
  if (copy == nullptr || !is_copy_reached(*copy, context, context)) return CUDA_ERROR_INVALID_VALUE;
  return write_exec_operation(exec, node, *copy);
}

CUresult graph_add_memset_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                               std::size_t count, const CUDA_MEMSET_NODE_PARAMS* set, CUcontext) {
  return set == nullptr ? CUDA_ERROR_INVALID_VALUE
                        : add_node(out, graph, dependencies, count, *set);
}

CUresult graph_memset_node_get_params(CUgraphNode n, CUDA_MEMSET_NODE_PARAMS* set) {
  return read_operation(n, set);
}
CUresult graph_memset_node_set_params(CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS* s) {
  return write_operation(n, s);
}
CUresult graph_exec_memset_node_set_params(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_MEMSET_NODE_PARAMS* set, CUcontext) {
  return set == nullptr ? CUDA_ERROR_INVALID_VALUE : write_exec_operation(exec, node, *set);
}

CUresult graph_add_host_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                             std::size_t count, const CUDA_HOST_NODE_PARAMS* host) {
  return host == nullptr ? CUDA_ERROR_INVALID_VALUE
                         : add_node(out, graph, dependencies, count, *host);
}

CUresult graph_host_node_get_params(CUgraphNode n, CUDA_HOST_NODE_PARAMS* host) {
  return read_operation(n, host);
}
CUresult graph_host_node_set_params(CUgraphNode n, const CUDA_HOST_NODE_PARAMS* h) {
  return write_operation(n, h);
}
CUresult graph_exec_host_node_set_params(CUgraphExec exec, CUgraphNode node,
                                         const CUDA_HOST_NODE_PARAMS* host) {
  return host == nullptr ? CUDA_ERROR_INVALID_VALUE : write_exec_operation(exec, node, *host);
}

CUresult graph_add_child_graph_node(CUgraphNode* out, CUgraph graph,
                                    const CUgraphNode* dependencies, std::size_t count,
                                    CUgraph child_handle) {
  const Graph* child = state().graphs.get(child_handle);
  if (child == nullptr || child->has_memory_nodes()) return CUDA_ERROR_INVALID_VALUE;
  if (has_conditional_nodes(*child))
    return CUDA_ERROR_NOT_SUPPORTED; // an H100's answer, driver 580
  return add_node(out, graph, dependencies, count, ChildOperation{clone(*child)});
}

CUresult graph_child_graph_node_get_graph(CUgraphNode node, CUgraph* graph) {
  const auto* child = operation_of<ChildOperation>(node);
  if (child == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = reinterpret_cast<CUgraph>(child->graph.get());
  return CUDA_SUCCESS;
}

CUresult graph_exec_child_graph_node_set_params(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return write_child(node, child, [&](const auto& operation) {
    return write_exec_operation(exec, node, operation);
  });
}

CUresult graph_add_empty_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                              std::size_t count) {
  return add_node(out, graph, dependencies, count, EmptyOperation{});
}

CUresult graph_add_event_record_node(CUgraphNode* out, CUgraph graph,
                                     const CUgraphNode* dependencies, std::size_t count,
                                     CUevent event) {
  return add_node(out, graph, dependencies, count, EventRecordOperation{event});
}

CUresult graph_add_event_wait_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                   std::size_t count, CUevent event) {
  return add_node(out, graph, dependencies, count, EventWaitOperation{event});
}

CUresult graph_event_record_node_get_event(CUgraphNode node, CUevent* event) {
  return get_event<EventRecordOperation>(node, event);
}
CUresult graph_event_wait_node_get_event(CUgraphNode node, CUevent* event) {
  return get_event<EventWaitOperation>(node, event);
}
CUresult graph_event_record_node_set_event(CUgraphNode node, CUevent event) {
  const EventRecordOperation operation{event};
  return write_operation(node, &operation);
}
CUresult graph_event_wait_node_set_event(CUgraphNode node, CUevent event) {
  const EventWaitOperation operation{event};
  return write_operation(node, &operation);
}
CUresult graph_exec_event_record_node_set_event(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return write_exec_operation(exec, node, EventRecordOperation{event});
}
CUresult graph_exec_event_wait_node_set_event(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return write_exec_operation(exec, node, EventWaitOperation{event});
}

CUresult graph_add_mem_alloc_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                  std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  AllocOperation alloc;
  alloc.params = *params;
  if (CUresult bad = prepare_alloc_node(alloc); bad != CUDA_SUCCESS) return bad;
  params->dptr = alloc.params.dptr;
  return add_node(out, graph, dependencies, count, std::move(alloc));
}

CUresult graph_mem_alloc_node_get_params(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  const auto* alloc = operation_of<AllocOperation>(node);
  if (alloc == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = alloc->params;
  return CUDA_SUCCESS;
}

CUresult graph_add_mem_free_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                 std::size_t count, CUdeviceptr address) {
  return add_node(out, graph, dependencies, count, FreeOperation{address});
}

CUresult graph_mem_free_node_get_params(CUgraphNode node, CUdeviceptr* address) {
  const auto* release = operation_of<FreeOperation>(node);
  if (release == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *address = release->address;
  return CUDA_SUCCESS;
}

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
