// SPDX-License-Identifier: Apache-2.0
// Graphs as structures: creation, edges, queries, cloning, destruction, user objects.
// Called through driver_api.def with the lock held. The old forms without edge data forward to the
// new ones. Invariant: an array answer follows CUDA's rule: with a null array the count is asked
// for; otherwise at most *count entries are written, the rest of the array is set to null, and
// *count becomes what was written.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/execution/primary.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstddef>

namespace gmt::sim {
namespace {

CUresult write_nodes(const std::vector<GraphNode*>& nodes, CUgraphNode* out, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out == nullptr) {
    *count = nodes.size();
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < *count; ++i)
    out[i] = i < nodes.size() ? reinterpret_cast<CUgraphNode>(nodes[i]) : nullptr;
  *count = std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

std::vector<GraphNode*> select_nodes(const Graph& graph, auto predicate) {
  std::vector<GraphNode*> selected;
  for (const auto& node : graph.nodes) {
    if (predicate(*node)) selected.push_back(node.get());
  }
  return selected;
}

// A kernel that may begin before the one in front of it has ended is captured with such an edge.
CUgraphEdgeData edge_between(const GraphNode& from, const GraphNode& to) {
  CUgraphEdgeData edge{};
  const auto* later = std::get_if<KernelOperation>(&to.operation);
  if (later == nullptr || !is_programmatic(*later) ||
      !std::holds_alternative<KernelOperation>(from.operation))
    return edge;
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return edge;
}

} // namespace

CUresult graph_create(CUgraph* out, unsigned flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUgraph>(state().graphs.add(std::make_unique<Graph>()));
  return CUDA_SUCCESS;
}

CUresult graph_destroy(CUgraph handle) {
  Graph* graph = state().graphs.get(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto dead = state().graphs.take(graph);
  return CUDA_SUCCESS;
}

CUresult graph_clone(CUgraph* out, CUgraph handle) {
  const Graph* graph = find_graph(handle);
  if (out == nullptr || graph == nullptr || graph->has_memory_nodes())
    return CUDA_ERROR_INVALID_VALUE;
  if (has_conditional_nodes(*graph))
    return CUDA_ERROR_NOT_SUPPORTED; // an H100's answer, driver 580
  *out = reinterpret_cast<CUgraph>(state().graphs.add(clone(*graph)));
  return CUDA_SUCCESS;
}

CUresult graph_destroy_node(CUgraphNode handle) {
  GraphNode* node = find_node(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Graph& graph = *node->graph;
  if (graph.has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
  for (const auto& other : graph.nodes) std::erase(other->dependencies, node);
  std::erase_if(graph.nodes, [&](const auto& other) { return other.get() == node; });
  return CUDA_SUCCESS;
}

CUresult graph_node_get_type(CUgraphNode handle, CUgraphNodeType* type) {
  const GraphNode* node = find_node(handle);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = type_of(node->operation);
  return CUDA_SUCCESS;
}

CUresult graph_get_nodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  const Graph* graph = find_graph(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return write_nodes(select_nodes(*graph, [](const GraphNode&) { return true; }), nodes, count);
}

CUresult graph_get_root_nodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  const Graph* graph = find_graph(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return write_nodes(
    select_nodes(*graph, [](const GraphNode& n) { return n.dependencies.empty(); }), nodes, count);
}

CUresult graph_get_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                         std::size_t* count) {
  const Graph* graph = find_graph(handle);
  if (graph == nullptr || count == nullptr || (from == nullptr) != (to == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> sources, targets;
  for (const auto& node : graph->nodes) {
    for (GraphNode* dependency : node->dependencies) {
      sources.push_back(dependency);
      targets.push_back(node.get());
    }
  }
  std::size_t same_count = *count;
  write_nodes(sources, from, &same_count);
  write_nodes(targets, to, count);
  if (from == nullptr || edges == nullptr) return CUDA_SUCCESS;
  for (std::size_t i = 0; i < *count; ++i)
    edges[i] = i < sources.size() ? edge_between(*sources[i], *targets[i]) : CUgraphEdgeData{};
  return CUDA_SUCCESS;
}

CUresult graph_get_edges_v1(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return graph_get_edges(graph, from, to, nullptr, count);
}

CUresult graph_node_get_dependencies(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                     std::size_t* count) {
  const GraphNode* node = find_node(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = write_nodes(node->dependencies, nodes, count);
  if (result != CUDA_SUCCESS || nodes == nullptr || edges == nullptr) return result;
  for (std::size_t i = 0; i < *count; ++i)
    edges[i] = i < node->dependencies.size() ? edge_between(*node->dependencies[i], *node)
                                             : CUgraphEdgeData{};
  return result;
}

CUresult graph_node_get_dependencies_v1(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return graph_node_get_dependencies(node, nodes, nullptr, count);
}

CUresult graph_node_get_dependent_nodes(CUgraphNode handle, CUgraphNode* nodes,
                                        CUgraphEdgeData* edges, std::size_t* count) {
  const GraphNode* node = find_node(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto depends = [&](const GraphNode& other) {
    return std::find(other.dependencies.begin(), other.dependencies.end(), node) !=
           other.dependencies.end();
  };
  const std::vector<GraphNode*> later = select_nodes(*node->graph, depends);
  const CUresult result = write_nodes(later, nodes, count);
  if (result != CUDA_SUCCESS || nodes == nullptr || edges == nullptr) return result;
  for (std::size_t i = 0; i < *count; ++i)
    edges[i] = i < later.size() ? edge_between(*node, *later[i]) : CUgraphEdgeData{};
  return result;
}

CUresult graph_node_get_dependent_nodes_v1(CUgraphNode node, CUgraphNode* nodes,
                                           std::size_t* count) {
  return graph_node_get_dependent_nodes(node, nodes, nullptr, count);
}

CUresult graph_add_dependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData*, std::size_t count) {
  Graph* graph = find_graph(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr)))
    return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* source = find_node(from[i]);
    GraphNode* target = find_node(to[i]);
    if (source == nullptr || target == nullptr || source->graph != graph || target->graph != graph)
      return CUDA_ERROR_INVALID_VALUE;
    auto& needs = target->dependencies;
    if (std::find(needs.begin(), needs.end(), source) != needs.end())
      return CUDA_ERROR_INVALID_VALUE;
    needs.push_back(source);
    if (graph->in_order().empty()) {
      needs.pop_back();
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult graph_add_dependencies_v1(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   std::size_t count) {
  return graph_add_dependencies(graph, from, to, nullptr, count);
}

CUresult graph_remove_dependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, std::size_t count) {
  const Graph* graph = find_graph(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr)))
    return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* target = find_node(to[i]);
    if (target == nullptr || std::erase(target->dependencies, find_node(from[i])) == 0)
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult graph_remove_dependencies_v1(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      std::size_t count) {
  return graph_remove_dependencies(graph, from, to, nullptr, count);
}

void release_user_object(UserObject* object, unsigned count) {
  object->references -= std::min(count, object->references);
  if (object->references != 0) return;
  const auto dead = state().user_objects.take(object);
  if (dead != nullptr) post_host_function(nullptr, dead->destroy, dead->object);
}

CUresult user_object_create(CUuserObject* out, void* pointer, CUhostFn destroy, unsigned references,
                            unsigned flags) {
  if (out == nullptr || destroy == nullptr || references == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
  auto object = std::make_unique<UserObject>(UserObject{pointer, destroy, references});
  *out = reinterpret_cast<CUuserObject>(state().user_objects.add(std::move(object)));
  return CUDA_SUCCESS;
}

CUresult user_object_retain(CUuserObject handle, unsigned count) {
  UserObject* object = state().user_objects.get(handle);
  if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  object->references += count;
  return CUDA_SUCCESS;
}

CUresult user_object_release(CUuserObject handle, unsigned count) {
  UserObject* object = state().user_objects.get(handle);
  if (object == nullptr || count == 0 || count > object->references)
    return CUDA_ERROR_INVALID_VALUE;
  release_user_object(object, count);
  return CUDA_SUCCESS;
}

CUresult graph_retain_user_object(CUgraph handle, CUuserObject object_handle, unsigned count,
                                  unsigned flags) {
  Graph* graph = find_graph(handle);
  UserObject* object = state().user_objects.get(object_handle);
  if (graph == nullptr || object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_GRAPH_USER_OBJECT_MOVE) object->references += count;
  graph->user_objects.emplace_back(object, count);
  return CUDA_SUCCESS;
}

CUresult graph_release_user_object(CUgraph handle, CUuserObject object_handle, unsigned count) {
  Graph* graph = find_graph(handle);
  UserObject* object = state().user_objects.get(object_handle);
  if (graph == nullptr || object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (auto it = graph->user_objects.begin(); it != graph->user_objects.end(); ++it) {
    if (it->first != object || it->second < count) continue;
    it->second -= count;
    if (it->second == 0) graph->user_objects.erase(it);
    release_user_object(object, count);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

} // namespace gmt::sim
