// SPDX-License-Identifier: Apache-2.0
// Graphs, their nodes and instantiated graphs; also the operations a stream executes, since a
// captured operation is a node. Invariant: a node belongs to exactly one graph; dependencies only
// name nodes of the same graph. Memory of an allocation node is held by shared_ptr: the graph, its
// executable forms and a live block may each outlast the others.
#pragma once

#include "simulated_cuda/driver/state/handles.h"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

namespace gmt::sim {

struct Device;
struct Graph;

struct KernelOperation {
  CUDA_KERNEL_NODE_PARAMS params{};
  std::vector<std::byte> argument_bytes; // as the kernel sees them, where its layout is known
  std::vector<void*> argument_pointers;  // into those, for who asks
  bool cooperative = false;
  std::uint64_t number = 0;        // of its launch, from the call on: see primary.h
  std::uint64_t behind = 0;        // of the launch before whose end it may begin, or 0
  unsigned cluster[3] = {0, 0, 0}; // blocks of a cluster; 0: as the kernel says
  // Attributes of nodes that change nothing here, by their numbers.
  std::map<unsigned, CUlaunchAttributeValue> attributes;
  std::uint64_t made = 0; // observed_call() inside the call that made the node or captured it
  std::uint64_t node = 0; // the CUgraphNode, or 0
};

// The address range an allocation node owns from its creation on: the same at every launch.
struct GraphMemory {
  GraphMemory(Device* owner, CUdeviceptr base, std::size_t size)
      : device(owner), address(base), bytes(size) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  Device* device;
  CUdeviceptr address;
  std::size_t bytes;
};

struct AllocOperation {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  std::shared_ptr<GraphMemory> memory;
};
struct FreeOperation {
  CUdeviceptr address = 0;
};
struct EventRecordOperation {
  CUevent event = nullptr;
};
struct EventWaitOperation {
  CUevent event = nullptr;
};
struct ChildOperation {
  std::shared_ptr<Graph> graph;
};
struct EmptyOperation {};

// What a handle of cuGraphConditionalHandleCreate stands for. Kernels of several workers set it.
struct Condition {
  std::atomic<unsigned> value{0};
  unsigned at_launch = 0;
  bool is_set_at_launch = false;
  bool has_node = false, has_executable = false; // one node and one executable graph may have it
};

struct ConditionalOperation {
  CUgraphConditionalHandle handle = 0;
  std::shared_ptr<Condition> condition;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<CUgraph>> handles; // of the bodies: the array that the call gives out
};

using Operation =
  std::variant<EmptyOperation, KernelOperation, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
               CUDA_HOST_NODE_PARAMS, AllocOperation, FreeOperation, EventRecordOperation,
               EventWaitOperation, ChildOperation, ConditionalOperation>;

CUgraphNodeType type_of(const Operation& operation);

struct GraphNode : Listed<GraphNode> {
  Graph* graph = nullptr;
  Operation operation;
  std::vector<GraphNode*> dependencies;
  const GraphNode* original = nullptr; // the node this one was cloned from
};

struct UserObject {
  void* object = nullptr;
  CUhostFn destroy = nullptr;
  unsigned references = 0;
};

struct Graph {
  ~Graph();
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::pair<UserObject*, unsigned>> user_objects;
  std::vector<std::shared_ptr<Condition>> conditions; // whose handles were made for it

  GraphNode* add(Operation operation, std::vector<GraphNode*> dependencies);
  std::vector<GraphNode*> in_order() const; // dependencies first; empty if there is a cycle
  bool has_memory_nodes() const;
};

std::unique_ptr<Graph> clone(const Graph& graph);
// An operation whose graphs are its own.
Operation own_copy(const Operation& operation);
// The graphs that a node has: a child, or the bodies of a conditional node.
std::vector<Graph*> graphs_inside(const Operation& operation);
bool has_conditional_nodes(const Graph& graph); // of itself, or of graphs inside of it

struct ExecNode {
  const GraphNode* original = nullptr;
  Operation operation;
  bool enabled = true;
  std::vector<std::size_t> dependencies = {}; // in GraphExec::nodes
};

struct GraphExec {
  ~GraphExec();
  unsigned long long flags = 0;
  std::vector<std::shared_ptr<Condition>> conditions = {};    // of all nodes, inside of others too
  std::vector<ExecNode> nodes;                                // in the order of execution
  std::unordered_map<const GraphNode*, std::size_t> index_of; // in `nodes`, by the original

  void number_nodes(); // when `nodes` has changed, while the originals are alive
  ExecNode* find(CUgraphNode original);
};

void release_user_object(UserObject* object, unsigned count);

// What is behind a handle; nullptr if it is gone.
Graph* find_graph(CUgraph handle); // also one inside a child node
inline GraphNode* find_node(CUgraphNode handle) { return GraphNode::get(handle); }

} // namespace gmt::sim
