// SPDX-License-Identifier: Apache-2.0
// Calls about CUDA graphs, applied to the heap: what nodes are given, what captured calls leave in
// a graph, and what a launch allocates and frees.
//
// A node's address is fixed when the node is made, and from then on the heap knows the block; the
// memory exists from a launch of its graph to its free, which is a node's or an ordinary one
// (kGraphRan). A launch of a graph costs a look at each block that its work points into; the
// pointers are walked only where one of these has ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/cuda_state/cuda_state.h"
#include "analyzer/heap/access_list.h"
#include "analyzer/heap/arrays.h"
#include "analyzer/heap/graphs/graph_table.h"
#include "analyzer/heap/graphs/graph_verdicts.h"

namespace gmt {

class GraphReplay {
public:
  using Id = BlockStore::Id;

  GraphReplay(BlockStore& store, const CudaState& cuda, const Arrays& arrays,
              const PointerReadings& readings, const HostMemory& host_memory)
      : store_(store), cuda_(cuda), arrays_(arrays), readings_(readings),
        verdicts_(store, cuda, arrays, readings, host_memory) {}

  void on_life(const Event& e) { table_.on_life(e); } // of any object, accepted
  void on_change(const Event& e);
  void on_kernel(const Event& e, AccessList& accesses, CallVerdicts& verdicts); // of a node
  bool on_use(const Event& e, AccessList& accesses); // false: nothing is known of its node
  void on_launch(const Event& e, CallVerdicts& verdicts);
  void on_end_of_capture(const Event& e, CaptureTable::Capture capture);

  // Of a capture, or of a node that was made by hand: then the call names the graph, not a stream.
  void on_allocation(const Event& e, const Block& block, std::uint64_t stream_or_graph);
  void on_free_node(const event::Free& free) {
    table_.of_handle(free.graph()).frees.push_back(free.address);
  }
  bool on_captured_free(const Event& e); // false: it is not captured
  // What each of its words points into
  void on_captured_kernel(const Event& e, std::span<const Id> blocks);
  // A copy, set or use
  void on_captured_use(const Event& e, GraphWork::Kind kind, std::span<const Access> used);

  // A live block that the executable graph's last launch allocated; null if all is freed.
  const Block* unfreed_of(GraphTable::Handle executable) const;
  const GraphTable& table() const { return table_; }

private:
  void run(const Graph& graph, std::uint64_t order);
  Id allocate_again(const Block& allocation, std::uint64_t order);
  void review(ExecutableGraph& graph, CallVerdicts& verdicts) const;

  BlockStore& store_;
  const CudaState& cuda_;
  const Arrays& arrays_;
  const PointerReadings& readings_;
  const GraphVerdicts verdicts_;
  GraphTable table_;
};

} // namespace gmt
