// SPDX-License-Identifier: Apache-2.0
// CUDA graphs and executable graphs: which memory their nodes allocate and free, which kernels they
// run, and what else they do. Work of capturing streams becomes nodes when the capture ends. Bodies
// of conditional nodes are graphs inside their node; whether they run is decided on the device.
//
// Where a node was changed that cannot be distinguished from others, it is forgotten which memory
// those of its kind use. Source: CUDA programming guide, graph memory nodes and conditional nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/cuda_state/captures.h"
#include "analyzer/heap/graphs/graph_work.h"
#include "analyzer/heap/store/block_store.h"

namespace gmt {

// What a graph does at each launch.
struct Graph {
  std::vector<Block> allocations;   // as they were allocated
  std::vector<std::uint64_t> frees; // addresses
  // By node, a child graph's under the node that runs it. Under 0 those whose node's handle is not
  // known: captured ones, and what was copied from another graph.
  std::map<std::uint64_t, std::vector<GraphWork>> work;
  // Graphs inside a node whose own handle the program has, by node: these hold what their nodes
  // run.
  struct Inner {
    std::uint64_t graph = 0;
    bool is_body = false; // of a conditional node, which can have several
  };
  std::multimap<std::uint64_t, Inner> inner;
  bool is_captured = false; // not built node by node, or not only
};

struct ExecutableGraph : Graph {
  struct Watched {
    Space space;
    std::uint64_t address, allocated_at;
    friend auto operator<=>(const Watched&, const Watched&) = default;
  };
  std::set<std::uint64_t> disabled; // nodes
  std::vector<Watched> watched; // the blocks that its work points into; while they live all is well
  bool is_watched = false;
  unsigned reviews = 0; // for tensors that were dropped, and whose memory no other one had yet
};

class GraphTable {
public:
  using Handle = std::uint64_t;
  using Node = std::uint64_t;
  using Capture = CaptureTable::Capture;

  bool empty() const { return graphs_.empty() && executables_.empty(); }
  ExecutableGraph* find_executable(Handle executable);
  const ExecutableGraph* find_executable(Handle executable) const;
  // What a launch of it allocates and frees; null if nothing is known.
  const Graph* launched(Handle executable) const;
  // What its kernel nodes run, in the order in which its graph got them. Valid until the next call.
  std::vector<const GraphWork*> kernels_of(Handle executable) const;
  bool is_of_capture(Handle executable) const; // made of a graph that was captured

  void on_life(const Event& e);   // of any object, accepted
  void on_change(const Event& e); // kGraphChange, accepted

  Graph& of_capture(Capture capture) { return captures_[capture]; }
  Graph& of_handle(Handle graph) { return graphs_[graph]; }
  // Nothing came of it if no graph is given
  void end_capture(Capture capture, std::optional<Handle> graph);

  // The node does this from now on; `more`: beside what it is known to do. No kind: it may have
  // been of any. A graph of 0 is found by the node.
  void set_work(Handle graph, Node node, std::vector<GraphWork> work,
                std::optional<GraphWork::Kind> kind, bool more = false);

private:
  using Kind = std::optional<GraphWork::Kind>;
  static void add_to(Graph& whole, const Graph& part, std::optional<Node> as_node,
                     bool may_run = false);
  Graph whole(Handle graph) const; // with what its inner graphs hold now
  void forget(Handle graph);
  static void forget_unknown(Graph& graph, Kind kind);
  void forget_unknown_nodes(Kind kind = std::nullopt);
  void on_graph_life(const event::Life& life);
  void on_inner_graph(const event::Life& life);
  void add_child(const event::GraphChange& change, std::uint64_t order);
  void remove_node(Node node);
  void update(ExecutableGraph& executable, Handle from);
  void enable(ExecutableGraph& executable, Node node, bool enabled);

  std::unordered_map<Handle, Graph> graphs_; // those of which something is known
  std::unordered_map<Handle, ExecutableGraph> executables_;
  std::unordered_map<Capture, Graph> captures_;    // under way
  std::unordered_map<Node, Handle> graph_of_node_; // of nodes that were made by hand
};

} // namespace gmt
