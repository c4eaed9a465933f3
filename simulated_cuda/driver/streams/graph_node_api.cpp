// SPDX-License-Identifier: Apache-2.0
// Adding nodes to graphs, and reading and changing what a node does.
// Called through driver_api.def with the lock held. Kernel arguments are copied in, as on the real
// driver. Invariant: a node's operation never changes its kind: setters answer
// CUDA_ERROR_INVALID_VALUE for another one.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/entry.h"
#include "simulated_cuda/driver/streams/node_operation.h"

#include <algorithm>

namespace gmt::sim {
namespace {

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

// Other parameters change no attribute.
KernelOperation with_attributes_of(const KernelOperation& old,
                                   const CUDA_KERNEL_NODE_PARAMS& params) {
  KernelOperation kernel = make_kernel_operation(params);
  kernel.cooperative = old.cooperative;
  std::ranges::copy(old.cluster, kernel.cluster);
  kernel.attributes = old.attributes;
  return kernel;
}

} // namespace

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

bool is_alike(const Graph& one, const Graph& other) {
  if (one.nodes.size() != other.nodes.size()) return false;
  for (std::size_t i = 0; i < one.nodes.size(); ++i) {
    if (type_of(one.nodes[i]->operation) != type_of(other.nodes[i]->operation)) return false;
  }
  return true;
}

CUresult graph_add_kernel_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                               std::size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelOperation kernel = make_kernel_operation(*params);
  if (CUresult bad = check_launch(kernel); bad != CUDA_SUCCESS) return bad;
  return add_node(out, graph, dependencies, count, kernel);
}

CUresult graph_kernel_node_get_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  auto* kernel = operation_of<KernelOperation>(node);
  if (kernel == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = kernel->params;
  const Kernel* code = find_kernel(kernel->params.func);
  if (code == nullptr || kernel->argument_bytes.empty()) return CUDA_SUCCESS;
  // Those that the program gave may be gone: the node has copies.
  kernel->argument_pointers.clear();
  for (const Parameter& parameter : code->parameters)
    kernel->argument_pointers.push_back(kernel->argument_bytes.data() + parameter.offset);
  params->kernelParams = kernel->argument_pointers.data();
  params->extra = nullptr;
  return CUDA_SUCCESS;
}

CUresult graph_kernel_node_set_params(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  const auto* old = operation_of<KernelOperation>(node);
  if (old == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelOperation kernel = with_attributes_of(*old, *params);
  return write_operation(node, &kernel);
}

CUresult graph_exec_kernel_node_set_params(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  const ExecNode* known = find_exec_node(exec, node);
  const auto* old = known == nullptr ? nullptr : std::get_if<KernelOperation>(&known->operation);
  if (old == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return write_exec_operation(exec, node, with_attributes_of(*old, *params));
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

} // namespace gmt::sim
