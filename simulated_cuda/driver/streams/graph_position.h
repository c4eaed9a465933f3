// SPDX-License-Identifier: Apache-2.0
// Which node of a graph's launch runs now, and which of the others are done before it begins on any
// device: those on which it depends, through any number of nodes and child graphs. Driver lock
// held.
#pragma once

#include "simulated_cuda/driver/streams/graph.h"

#include <cstdint>
#include <unordered_map>

namespace gmt::sim {

struct GraphPosition {
  bool is_in_launch = false;
  std::uint64_t index = 0;  // the node's number in the launch, from 0; nodes of child graphs count
  std::uint64_t before = 0; // bits of the first 64 nodes
  std::uint64_t next = 0;   // number of the next node
};
GraphPosition& graph_position();

// Numbers the nodes of a graph, or of a child graph, as they run.
class GraphOrder {
public:
  GraphOrder() : outside_(graph_position().before) {}

  // The node begins; its dependencies have run.
  template <class Dependencies>
  void begin(const Dependencies& dependencies) {
    GraphPosition& now = graph_position();
    before_ = outside_;
    for (const auto& needed : dependencies) {
      if (const auto at = done_.find(key(needed)); at != done_.end()) before_ |= at->second;
    }
    now.before = before_;
    now.index = now.next++;
    first_ = now.index;
  }
  // It is done, and so are all nodes of its child graph.
  template <class Node>
  void end(const Node& node) {
    std::uint64_t bits = before_;
    for (std::uint64_t i = first_; i < graph_position().next && i < 64; ++i)
      bits |= std::uint64_t{1} << i;
    done_[key(node)] = bits;
  }

private:
  static std::uint64_t key(const GraphNode* node) { return reinterpret_cast<std::uintptr_t>(node); }
  static std::uint64_t key(std::size_t number) { return number; }

  const std::uint64_t outside_; // before the graph as a whole
  std::uint64_t before_ = 0, first_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> done_; // by node
};

// What a graph's node that is no kernel has used, allocates or frees: the observer hears of it.
void observe_node(const Operation& operation, const Stream& stream);

} // namespace gmt::sim
