// SPDX-License-Identifier: Apache-2.0
// What a node of a graph does: reading it, and putting another operation of the same kind there.
// Lock held.
#pragma once

#include "simulated_cuda/driver/streams/operation.h"

#include <cstddef>
#include <type_traits>
#include <variant>

namespace gmt::sim {

CUresult add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                  std::size_t count, Operation operation);

template <class T>
T* operation_of(CUgraphNode handle) {
  GraphNode* node = find_node(handle);
  return node == nullptr ? nullptr : std::get_if<T>(&node->operation);
}

// Null: no executable graph, or none of its nodes.
inline ExecNode* find_exec_node(CUgraphExec handle, CUgraphNode node) {
  GraphExec* exec = state().execs.get(handle);
  return exec == nullptr ? nullptr : exec->find(node);
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
  ExecNode* node = find_exec_node(exec_handle, node_handle);
  if (node == nullptr || !std::holds_alternative<T>(node->operation))
    return CUDA_ERROR_INVALID_VALUE;
  if constexpr (std::is_same_v<T, CUDA_MEMCPY3D>) {
    if (!keeps_devices(std::get<T>(node->operation), value)) return CUDA_ERROR_INVALID_VALUE;
  }
  node->operation = value;
  return CUDA_SUCCESS;
}

// Whether a child's graph may be replaced by another: one of as many nodes of the same kinds, in
// the same order.
bool is_alike(const Graph& one, const Graph& other);

// Calls write(operation) with a copy of the graph, if the node's child may become it.
template <class Write>
CUresult write_child(CUgraphNode node, CUgraph graph, Write write) {
  const auto* old = operation_of<ChildOperation>(node);
  const Graph* child = find_graph(graph);
  if (old == nullptr || child == nullptr || !is_alike(*old->graph, *child))
    return CUDA_ERROR_INVALID_VALUE;
  return write(ChildOperation{clone(*child)});
}

} // namespace gmt::sim
