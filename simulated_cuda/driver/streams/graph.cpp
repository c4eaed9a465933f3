// SPDX-License-Identifier: Apache-2.0
// Graph structure: adding nodes, topological order, cloning, and the memory that allocation nodes
// own. Lock held. Invariant: a clone's nodes stand in the same order as the original's, so a node
// is found again by its index.
#include "simulated_cuda/driver/streams/graph.h"

#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>

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

// As they were made; a node that depends on a later one comes behind it.
std::vector<GraphNode*> Graph::in_order() const {
  enum class Visit : char { kBegun, kDone };
  std::vector<GraphNode*> order, path;
  std::unordered_map<const GraphNode*, Visit> visits;
  for (const auto& node : nodes) {
    path.assign(1, node.get());
    while (!path.empty()) {
      GraphNode* at = path.back();
      const auto [visit, is_new] = visits.try_emplace(at, Visit::kBegun);
      const std::size_t depth = path.size();
      for (GraphNode* needed : at->dependencies) {
        const auto known = visits.find(needed);
        if (known == visits.end()) path.push_back(needed);
        else if (is_new && known->second == Visit::kBegun) return {}; // a cycle
      }
      if (path.size() != depth) continue;
      path.pop_back();
      if (visits[at] == Visit::kDone) continue; // two nodes needed it
      visits[at] = Visit::kDone;
      order.push_back(at);
    }
  }
  return order;
}

bool Graph::has_memory_nodes() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return std::holds_alternative<AllocOperation>(node->operation) ||
           std::holds_alternative<FreeOperation>(node->operation);
  });
}

void GraphExec::number_nodes() {
  index_of.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) index_of[nodes[i].original] = i;
  for (ExecNode& node : nodes) {
    node.dependencies.clear();
    for (const GraphNode* needed : node.original->dependencies)
      node.dependencies.push_back(index_of.at(needed));
  }
}

ExecNode* GraphExec::find(CUgraphNode original) {
  const auto at = index_of.find(reinterpret_cast<const GraphNode*>(original));
  return at == index_of.end() ? nullptr : &nodes[at->second];
}

Operation own_copy(const Operation& operation) {
  if (const auto* child = std::get_if<ChildOperation>(&operation))
    return ChildOperation{clone(*child->graph)};
  if (const auto* conditional = std::get_if<ConditionalOperation>(&operation)) {
    ConditionalOperation copy = *conditional;
    for (auto& body : copy.bodies) body = clone(*body);
    return copy;
  }
  return operation;
}

std::vector<Graph*> graphs_inside(const Operation& operation) {
  std::vector<Graph*> graphs;
  if (const auto* child = std::get_if<ChildOperation>(&operation))
    graphs.push_back(child->graph.get());
  if (const auto* conditional = std::get_if<ConditionalOperation>(&operation)) {
    for (const auto& body : conditional->bodies) graphs.push_back(body.get());
  }
  return graphs;
}

bool has_conditional_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    if (std::holds_alternative<ConditionalOperation>(node->operation)) return true;
    const auto inside = graphs_inside(node->operation);
    return std::any_of(inside.begin(), inside.end(),
                       [](const Graph* each) { return has_conditional_nodes(*each); });
  });
}

GraphExec::~GraphExec() {
  for (const auto& condition : conditions) condition->has_executable = false;
}

std::unique_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  std::map<const GraphNode*, GraphNode*> twin;
  for (const auto& node : graph.nodes) {
    GraphNode* added = copy->add(node->operation, {});
    added->operation = own_copy(node->operation);
    added->original = node.get();
    twin[node.get()] = added;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
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
    CU_GRAPH_NODE_TYPE_GRAPH,    CU_GRAPH_NODE_TYPE_CONDITIONAL,
  };
  static_assert(sizeof(kTypes) / sizeof(kTypes[0]) == std::variant_size_v<Operation>);
  return kTypes[operation.index()];
}

namespace {

Graph* find_inside(const Graph& graph, const Graph* wanted) {
  for (const auto& node : graph.nodes) {
    for (Graph* inside : graphs_inside(node->operation)) {
      if (inside == wanted) return inside;
      if (Graph* found = find_inside(*inside, wanted)) return found;
    }
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

} // namespace gmt::sim
