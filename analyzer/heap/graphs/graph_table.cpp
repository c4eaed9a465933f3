// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/graphs/graph_table.h"
#include "trace/object_class.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gmt {

using trace::GraphOp;

// All of its work becomes the node's, if one is given.
void GraphTable::add_to(Graph& whole, const Graph& part, std::optional<Node> as_node,
                        bool may_run) {
  whole.allocations.insert(whole.allocations.end(), part.allocations.begin(),
                           part.allocations.end());
  whole.frees.insert(whole.frees.end(), part.frees.begin(), part.frees.end());
  for (const auto& [node, work] : part.work) {
    std::vector<GraphWork>& all = whole.work[as_node.value_or(node)];
    const auto added = all.insert(all.end(), work.begin(), work.end());
    if (may_run) std::for_each(added, all.end(), [](GraphWork& w) { w.may_run = true; });
  }
}

Graph GraphTable::whole(Handle handle) const {
  Graph whole;
  std::set<Handle> seen;
  struct Part {
    Handle handle;
    std::optional<Node> node; // of the outermost graph, where the part is inside one
    bool may_run;
  };
  std::vector<Part> parts = {{handle, std::nullopt, false}};
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    const auto graph = graphs_.find(part.handle);
    if (graph == graphs_.end() || !seen.insert(part.handle).second) continue;
    add_to(whole, graph->second, part.node, part.may_run);
    for (const auto& [node, inner] : graph->second.inner) {
      parts.push_back({inner.graph, part.node.value_or(node), part.may_run || inner.is_body});
    }
  }
  return whole;
}

ExecutableGraph* GraphTable::find_executable(Handle handle) {
  const auto at = executables_.find(handle);
  return at != executables_.end() ? &at->second : nullptr;
}

const ExecutableGraph* GraphTable::find_executable(Handle handle) const {
  const auto at = executables_.find(handle);
  return at != executables_.end() ? &at->second : nullptr;
}

// Before format 1.1 the handles of captured graphs are missing: those are graph 0, of every
// executable graph.
const Graph* GraphTable::launched(Handle handle) const {
  if (const ExecutableGraph* executable = find_executable(handle)) return executable;
  const auto unnamed = graphs_.find(0);
  return unnamed != graphs_.end() ? &unnamed->second : nullptr;
}

std::vector<const GraphWork*> GraphTable::kernels_of(Handle handle) const {
  std::vector<const GraphWork*> kernels;
  const ExecutableGraph* executable = find_executable(handle);
  if (executable == nullptr) return kernels;
  for (const auto& [node, all] : executable->work) {
    for (const GraphWork& work : all) {
      if (work.kind == GraphWork::Kind::kKernel) kernels.push_back(&work);
    }
  }
  std::ranges::stable_sort(kernels, {}, &GraphWork::added);
  return kernels;
}

bool GraphTable::is_of_capture(Handle handle) const {
  const ExecutableGraph* executable = find_executable(handle);
  return executable != nullptr && executable->is_captured;
}

void GraphTable::end_capture(Capture ended, std::optional<Handle> handle) {
  const auto capture = captures_.extract(ended);
  if (!handle || (*handle == 0 && capture.empty())) return;
  Graph& graph = graphs_[*handle];
  graph.is_captured = *handle != 0;
  if (!capture.empty()) add_to(graph, capture.mapped(), std::nullopt);
}

// ---- lives

void GraphTable::on_life(const Event& e) {
  const event::Life& life = e.life();
  const bool is_graph = life.object == trace::ObjectClass::kGraph;
  if (!is_graph && life.object != trace::ObjectClass::kGraphExec) return;
  if (life.op == trace::LifeOp::kUse) return on_inner_graph(life);
  if (is_graph) return on_graph_life(life);
  executables_.erase(life.handle);
  if (life.op != trace::LifeOp::kCreate) return;
  // A copy, since the graph may be destroyed before what was made of it.
  const auto parent = graphs_.find(life.parent());
  Graph& made = executables_[life.handle];
  made = whole(parent != graphs_.end() ? parent->first : 0);
  made.is_captured = parent != graphs_.end() && parent->second.is_captured;
}

void GraphTable::on_graph_life(const event::Life& life) {
  forget(life.handle);
  const bool is_clone = life.op == trace::LifeOp::kCreate && life.parent() != 0;
  if (!is_clone || !graphs_.contains(life.parent())) return;
  // The clone's nodes have handles of their own.
  Graph clone = whole(life.parent());
  std::vector<GraphWork> work;
  for (const auto& [node, own] : clone.work) work.insert(work.end(), own.begin(), own.end());
  clone.work = {{0, std::move(work)}};
  graphs_[life.handle] = std::move(clone);
}

void GraphTable::on_inner_graph(const event::Life& life) {
  const Handle inner = life.handle;
  const Node node = life.node();
  const bool names_graph = life.graph() != 0;
  const bool is_body = names_graph && life.body() != 0;
  if (names_graph) graph_of_node_[node] = life.graph();
  const auto known = graph_of_node_.find(node);
  if (known == graph_of_node_.end()) return forget_unknown_nodes(); // the node may be any of them
  Graph& parent = graphs_[known->second];
  std::vector<GraphWork>& work = parent.work[node];
  const auto [first, last] = parent.inner.equal_range(node);
  if (std::any_of(first, last, [&](const auto& entry) { return entry.second.graph == inner; }))
    return;
  parent.inner.insert({node, {inner, is_body}});
  const auto [graph, is_new] = graphs_.try_emplace(inner);
  if (is_new && !work.empty()) graph->second.work[0] = std::exchange(work, {});
}

void GraphTable::forget(Handle handle) {
  const auto graph = graphs_.extract(handle);
  if (graph.empty()) return;
  for (const auto& [node, work] : graph.mapped().work) graph_of_node_.erase(node);
  for (const auto& [node, inner] : graph.mapped().inner) forget(inner.graph);
}

// ---- nodes

// Nodes that the program did not make by hand may be any of those that are not known. A node that
// is changed stays where it was among the others.
void GraphTable::set_work(Handle graph, Node node, std::vector<GraphWork> work, Kind kind,
                          bool more) {
  const auto put = [&](Graph& changed) {
    std::vector<GraphWork>& known = changed.work[node];
    if (!more && !known.empty()) {
      for (GraphWork& w : work) w.added = known.front().added;
      known.clear();
    }
    std::ranges::move(work, std::back_inserter(known));
  };
  if (ExecutableGraph* executable = find_executable(graph)) {
    if (!executable->work.contains(node)) forget_unknown(*executable, kind);
    put(*executable);
    executable->is_watched = false;
    return;
  }
  if (graph == 0) {
    const auto known = graph_of_node_.find(node);
    if (known == graph_of_node_.end()) return forget_unknown_nodes(kind);
    graph = known->second;
  }
  graph_of_node_[node] = graph;
  put(graphs_[graph]);
}

void GraphTable::forget_unknown(Graph& graph, Kind kind) {
  const auto unknown = graph.work.find(0);
  if (unknown == graph.work.end()) return;
  for (GraphWork& work : unknown->second) {
    if (!kind || work.kind == *kind) work.pointers.clear();
  }
}

void GraphTable::forget_unknown_nodes(Kind kind) {
  for (auto& [handle, graph] : graphs_) forget_unknown(graph, kind);
}

void GraphTable::on_change(const Event& e) {
  const event::GraphChange& change = e.graph_change();
  ExecutableGraph* executable = find_executable(change.graph);
  switch (change.op) {
  case GraphOp::kChild: add_child(change, e.order); break;
  case GraphOp::kRemove: remove_node(change.node); break;
  case GraphOp::kUpdate:
    if (executable != nullptr) update(*executable, change.other_graph());
    break;
  case GraphOp::kEnable:
    if (executable != nullptr) enable(*executable, change.node, change.is_enabled() != 0);
    break;
  case GraphOp::kEventRecord:
  case GraphOp::kEventWait:
  case GraphOp::kHost:
  case GraphOp::kExternalSignal:
  case GraphOp::kExternalWait: break; // no use of memory
  }
}

void GraphTable::add_child(const event::GraphChange& change, std::uint64_t order) {
  const bool is_executable = executables_.contains(change.graph);
  Graph child;
  add_to(child, whole(change.other_graph()), change.node);
  std::vector<GraphWork> work = std::exchange(child.work[change.node], {});
  std::ranges::stable_sort(work, {}, &GraphWork::added);
  for (GraphWork& w : work) w.added = order;
  set_work(change.graph, change.node, std::move(work), std::nullopt);
  if (!is_executable) add_to(graphs_[change.graph], child, std::nullopt);
}

void GraphTable::remove_node(Node node) {
  const auto known = graph_of_node_.extract(node);
  if (known.empty()) return forget_unknown_nodes();
  Graph& graph = graphs_[known.mapped()];
  graph.work.erase(node);
  while (true) {
    const auto inner = graph.inner.extract(node);
    if (inner.empty()) break;
    forget(inner.mapped().graph);
  }
}

void GraphTable::update(ExecutableGraph& executable, Handle from) {
  executable.is_watched = false;
  executable.work.clear();
  // Which of the other graph's nodes is one that was disabled is not known.
  if (graphs_.contains(from) && executable.disabled.empty()) executable.work = whole(from).work;
}

void GraphTable::enable(ExecutableGraph& executable, Node node, bool enabled) {
  executable.is_watched = false;
  if (!executable.work.contains(node)) forget_unknown(executable, std::nullopt);
  if (enabled) executable.disabled.erase(node);
  else executable.disabled.insert(node);
}

} // namespace gmt
