// SPDX-License-Identifier: Apache-2.0
// CUDA graphs and the memory they allocate; graph_nodes.cpp has what else they do. A node's address is
// fixed when the node is made, and from then on the heap knows the block; the memory exists from a launch of
// its graph to its free, which is a node's or an ordinary one (kGraphRan). Work of capturing streams becomes
// nodes. Bodies of conditional nodes are graphs inside their node; whether they run is decided on the device.
// Source: CUDA programming guide, graph memory nodes and conditional nodes.

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/heap/heap_state.h"
#include "trace/cuda_results.h"

namespace gmt {

using trace::Family;
using trace::SyncOp;

// All of its work becomes the node's, if one is given.
void Heap::State::add_to(Graph& whole, const Graph& part, std::optional<std::uint64_t> as_node,
                         bool may_run) {
  whole.allocations.insert(whole.allocations.end(), part.allocations.begin(), part.allocations.end());
  whole.frees.insert(whole.frees.end(), part.frees.begin(), part.frees.end());
  for (const auto& [node, work] : part.work) {
    std::vector<GraphWork>& all = whole.work[as_node.value_or(node)];
    const auto added = all.insert(all.end(), work.begin(), work.end());
    if (may_run) std::for_each(added, all.end(), [](GraphWork& w) { w.may_run = true; });
  }
}

void Heap::State::on_sync(const Event& e) {
  const trace::SyncView sync(e);
  const SyncOp op = sync.op();
  if (op == SyncOp::kEndCapture) return end_capture(e);
  if (op == SyncOp::kGraphLaunch) {
    if (e.succeeded()) {
      last_kernel = last_blind_call = e.order;
      run_graph(e);
    }
    const auto graph = executable_graphs.find(sync.executable_graph());
    if (graph != executable_graphs.end()) judge_graph_work(e, graph->second);
  }
  if (!e.succeeded()) return;
  const std::uint64_t stream = e.own_stream(sync.stream());
  if (op == SyncOp::kBeginCapture) capturing[stream] = stream;
  if (capturing.empty()) return;
  // A stream that waits for an event of a capture takes part in it until it ends. Events of the graph are another thing.
  if (sync.flags() == trace::kSyncExternal) return;
  const auto origin = capturing.find(stream);
  if (op == SyncOp::kEventRecord) {
    if (origin != capturing.end()) captured_events[sync.event()] = origin->second;
    else captured_events.erase(sync.event());
  } else if (op == SyncOp::kStreamWaitEvent && origin == capturing.end()) {
    const auto event = captured_events.find(sync.event());
    if (event != captured_events.end()) capturing[stream] = event->second;
  }
}

// Whatever the answer, except to the wrong thread.
bool ends_capture(const Event& end) {
  return !end.in_flight() && end.result != cuda::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

void Heap::State::end_capture(const Event& e) {
  if (!ends_capture(e)) return;
  const trace::SyncView sync(e);
  const std::uint64_t stream = e.own_stream(sync.stream());
  const auto belongs = [&](const auto& entry) { return entry.second == stream; };
  std::erase_if(capturing, belongs);
  std::erase_if(captured_events, belongs);
  const auto capture = captures.extract(stream);
  if (capture.empty() || !e.succeeded()) return;
  // Before format 1.1 the graph's handle is missing: those captures are graph 0, of every executable graph.
  Graph& graph = graphs[sync.graph()];
  add_to(graph, capture.mapped(), std::nullopt);
}

void Heap::State::note_graph_allocation(const Event& e, const Block& block) {
  const auto origin = capturing.find(e.own_stream(block.stream));
  Graph& graph = origin != capturing.end() ? captures[origin->second] : graphs[block.stream];
  graph.allocations.push_back(block);
}

bool Heap::State::note_captured_free(const Event& e) {
  const trace::FreeView free(e);
  const auto origin = capturing.find(e.own_stream(free.stream()));
  if (origin == capturing.end()) return false;
  captures[origin->second].frees.push_back(free.address());
  return true;
}

void Heap::State::on_graph_life(const Event& e) {
  const trace::LifeView life(e);
  const std::uint64_t handle = life.handle(), parent = life.parent();
  const bool created = life.op() == trace::LifeOp::kCreate;
  if (life.op() == trace::LifeOp::kUse) return note_inner_graph(e);
  if (life.object() == trace::ObjectClass::kGraph) {
    forget_graph(handle);
    const auto original = created && parent != 0 ? graphs.find(parent) : graphs.end();
    if (original == graphs.end()) return;
    // A clone: its nodes have handles of their own.
    Graph clone = whole_graph(parent);
    std::vector<GraphWork> work;
    for (const auto& [node, own] : clone.work) work.insert(work.end(), own.begin(), own.end());
    clone.work = {{0, std::move(work)}};
    graphs[handle] = std::move(clone);
    return;
  }
  executable_graphs.erase(handle);
  if (!created) return;
  // A copy, since the graph may be destroyed before what was made of it.
  static_cast<Graph&>(executable_graphs[handle]) = whole_graph(graphs.contains(parent) ? parent : 0);
}

void Heap::State::note_inner_graph(const Event& e) {
  const trace::LifeView life(e);
  const std::uint64_t inner = life.handle(), node = life.node();
  const bool names_graph = life.graph() != 0;
  const bool is_body = names_graph && life.body() != 0;
  if (names_graph) graph_of_node[node] = life.graph();
  const auto known = graph_of_node.find(node);
  if (known == graph_of_node.end()) return forget_unknown_nodes(); // the node may be any of them
  Graph& parent = graphs[known->second];
  std::vector<GraphWork>& work = parent.work[node];
  const auto [first, last] = parent.inner.equal_range(node);
  if (std::any_of(first, last, [&](const auto& entry) { return entry.second.graph == inner; })) return;
  parent.inner.insert({node, {inner, is_body}});
  const auto [graph, is_new] = graphs.try_emplace(inner);
  if (is_new && !work.empty()) graph->second.work[0] = std::exchange(work, {});
}

Heap::State::Graph Heap::State::whole_graph(std::uint64_t handle) const {
  Graph whole;
  std::set<std::uint64_t> seen;
  struct Part {
    std::uint64_t handle;
    std::optional<std::uint64_t> node; // of the outermost graph, where the part is inside one
    bool may_run;
  };
  std::vector<Part> parts = {{handle, std::nullopt, false}};
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    const auto graph = graphs.find(part.handle);
    if (graph == graphs.end() || !seen.insert(part.handle).second) continue;
    add_to(whole, graph->second, part.node, part.may_run);
    for (const auto& [node, inner] : graph->second.inner) {
      parts.push_back({inner.graph, part.node.value_or(node), part.may_run || inner.is_body});
    }
  }
  return whole;
}

void Heap::State::forget_graph(std::uint64_t handle) {
  const auto graph = graphs.extract(handle);
  if (graph.empty()) return;
  for (const auto& [node, work] : graph.mapped().work) graph_of_node.erase(node);
  for (const auto& [node, inner] : graph.mapped().inner) forget_graph(inner.graph);
}

void Heap::State::run_graph(const Event& e) {
  if (graphs.empty() && executable_graphs.empty()) return;
  const auto known = executable_graphs.find(trace::SyncView(e).executable_graph());
  const auto unnamed = graphs.find(0);
  if (known == executable_graphs.end() && unnamed == graphs.end()) return;
  const Graph* named = known != executable_graphs.end() ? &known->second : nullptr;
  const Graph& graph = named != nullptr ? *named : unnamed->second;
  for (const Block& allocation : graph.allocations) {
    Id id = store.find_exact(Space::kAddress, allocation.address);
    if (id == kNone || store[id].family != Family::kGraph) id = bear_again(allocation, e.order);
    store[id].marks |= kGraphRan;
  }
  for (const std::uint64_t address : graph.frees) {
    const Id id = store.find_exact(Space::kAddress, address);
    if (id != kNone) store[id].marks &= static_cast<std::uint16_t>(~kGraphRan);
  }
}

// Freed since the last launch: the same block at the same address, touched as before.
Heap::State::Id Heap::State::bear_again(const Block& allocation, std::uint64_t order) {
  Block block = allocation;
  block.born = order & trace::kOrderMask;
  const Block* dead = store.find_dead(Space::kAddress, block.address);
  if (dead != nullptr && dead->family == Family::kGraph) block.marks = dead->marks;
  return make_live(store.create(block));
}

const Block* Heap::unfreed_of_graph(std::uint64_t executable) const {
  const auto graph = state_->executable_graphs.find(executable);
  if (graph == state_->executable_graphs.end()) return nullptr;
  for (const Block& allocation : graph->second.allocations) {
    const State::Id id = state_->store.find_exact(Space::kAddress, allocation.address);
    if (id != State::kNone && (state_->store[id].marks & kGraphRan) != 0) return &state_->store[id];
  }
  return nullptr;
}

} // namespace gmt
