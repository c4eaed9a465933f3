// SPDX-License-Identifier: Apache-2.0
// Graph structure: adding nodes, topological order, cloning, and the memory that allocation nodes
// own. Lock held. Invariant: a clone's nodes stand in the same order as the original's, so a node
// is found again by its index.
#include "streams/graph.h"

#include "streams/operation.h"

#include <algorithm>
#include <map>

namespace gmt::sim {

GraphMemory::~GraphMemory() {
  Block* live = state().blocks.at_base(address);
  if (live == nullptr || live->kind != BlockKind::kGraph) {
    device->give(address, bytes);
    return;
  }
  // The program still holds the memory of a graph that is gone: from here on it is ordinary memory.
  live->kind = BlockKind::kDevice;
  live->context = nullptr;
  device->graph_memory.shrink(bytes);
}

Graph::~Graph() {
  for (auto& [object, count] : user_objects) release_user_object(object, count);
}

GraphNode* Graph::add(Operation operation, std::vector<GraphNode*> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->operation = std::move(operation);
  auto* kernel = std::get_if<KernelOperation>(&node->operation);
  if (kernel != nullptr && kernel->node == 0)
    kernel->node = reinterpret_cast<std::uint64_t>(node.get());
  node->dependencies = std::move(dependencies);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

std::vector<GraphNode*> Graph::in_order() const {
  std::vector<GraphNode*> order;
  std::map<const GraphNode*, bool> done;
  for (bool progress = true; progress && order.size() < nodes.size();) {
    progress = false;
    for (const auto& node : nodes) {
      if (done[node.get()]) continue;
      const auto& needs = node->dependencies;
      if (!std::all_of(needs.begin(), needs.end(), [&](GraphNode* other) { return done[other]; }))
        continue;
      done[node.get()] = true;
      order.push_back(node.get());
      progress = true;
    }
  }
  if (order.size() != nodes.size()) order.clear();
  return order;
}

bool Graph::has_memory_nodes() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return std::holds_alternative<AllocOperation>(node->operation) ||
           std::holds_alternative<FreeOperation>(node->operation);
  });
}

std::unique_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  std::map<const GraphNode*, GraphNode*> twin;
  for (const auto& node : graph.nodes) {
    GraphNode* added = copy->add(node->operation, {});
    if (auto* child = std::get_if<ChildOperation>(&added->operation))
      child->graph = clone(*child->graph);
    added->original = node.get();
    twin[node.get()] = added;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (GraphNode* dependency : graph.nodes[i]->dependencies)
      copy->nodes[i]->dependencies.push_back(twin[dependency]);
  }
  return copy;
}

CUgraphNodeType type_of(const Operation& operation) {
  // In the order of the variant.
  constexpr CUgraphNodeType kTypes[] = {
    CU_GRAPH_NODE_TYPE_EMPTY,    CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET,   CU_GRAPH_NODE_TYPE_HOST,         CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
    CU_GRAPH_NODE_TYPE_GRAPH,
  };
  static_assert(sizeof(kTypes) / sizeof(kTypes[0]) == std::variant_size_v<Operation>);
  return kTypes[operation.index()];
}

namespace {

GraphNode* find_in(const Graph& graph, const GraphNode* wanted) {
  for (const auto& node : graph.nodes) {
    if (node.get() == wanted) return node.get();
    const auto* child = std::get_if<ChildOperation>(&node->operation);
    GraphNode* inside = child == nullptr ? nullptr : find_in(*child->graph, wanted);
    if (inside != nullptr) return inside;
  }
  return nullptr;
}

Graph* find_inside(const Graph& graph, const Graph* wanted) {
  for (const auto& node : graph.nodes) {
    const auto* child = std::get_if<ChildOperation>(&node->operation);
    if (child == nullptr) continue;
    if (child->graph.get() == wanted) return child->graph.get();
    if (Graph* found = find_inside(*child->graph, wanted)) return found;
  }
  return nullptr;
}

} // namespace

Graph* find_graph(CUgraph handle) {
  if (Graph* graph = state().graphs.get(handle)) return graph;
  Graph* found = nullptr;
  state().graphs.for_each([&](const Graph& graph) {
    if (found == nullptr) found = find_inside(graph, reinterpret_cast<const Graph*>(handle));
  });
  return found;
}

GraphNode* find_node(CUgraphNode handle) {
  GraphNode* found = nullptr;
  state().graphs.for_each([&](const Graph& graph) {
    if (found == nullptr) found = find_in(graph, reinterpret_cast<const GraphNode*>(handle));
  });
  return found;
}

} // namespace gmt::sim
