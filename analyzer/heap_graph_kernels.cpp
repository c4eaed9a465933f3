// SPDX-License-Identifier: Apache-2.0
// The kernels that graphs run: what each was given when it was captured or its node was made, and whether that
// memory still lives when the graph is launched. Held back like the verdict on a launch: an address that
// a new allocation has got is no mistake, and where a node was changed that cannot be told from others, those
// are forgotten.
//
// A launch of a graph costs a look at each block that its kernels point into; their arguments are walked only
// where one of these has ended.

#include <algorithm>
#include <utility>

#include "analyzer/heap_state.h"

namespace gmt {
namespace {

using trace::Family;
using trace::GraphOp;

std::uint16_t call_of(const Event& e) { return e.via != trace::kNoApi ? e.via : e.api; }

// Left out is memory that comes back by itself, a graph's at every launch and static memory with its module, and
// host memory, which may belong to malloc again.
bool is_judged(Family family) {
  return family != Family::kGraph && family != Family::kModuleGlobal && family != Family::kPinned &&
         family != Family::kManaged;
}

} // namespace

void Heap::State::on_graph_kernel(const Event& e) {
  if (!e.succeeded() || e.from_runtime()) return;
  GraphKernel kernel{.function = e.p(0), .made = e.stack, .api = call_of(e)};
  for (std::size_t i = trace::first_argument(e.kind); i < e.payload.size(); ++i) {
    const std::uint64_t word = e.payload[i];
    const std::uint64_t address = trace::argument_address(word);
    if (word == 0) continue;
    Id id = store.find_id(Space::kAddress, address);
    if (id == kNone) id = store.find_id(Space::kRegistered, address);
    if (id != kNone) {
      touch(e, id, Touch::Access::kArgument, address, 0, trace::argument_parameter(word));
      kernel.pointers.push_back(word);
    } else if (store.find_dead(Space::kAddress, address) != nullptr) {
      kernel.pointers.push_back(word); // a mistake only if the graph is launched so
    }
  }
  change_node(e.p(1), e.p(4), {std::move(kernel)});
}

void Heap::State::note_captured_kernel(const Event& e) {
  const auto origin = capturing.find(e.p(1));
  if (!e.succeeded() || origin == capturing.end()) return;
  GraphKernel kernel{.function = e.p(0), .made = e.stack, .api = call_of(e), .captured = true};
  for (std::size_t i = 0; i < arguments.size(); ++i) { // what was freed before is the launch's own mistake
    if (arguments[i] != kNone) kernel.pointers.push_back(e.payload[trace::first_argument(e.kind) + i]);
  }
  if (!kernel.pointers.empty()) captures[origin->second].kernels[0].push_back(std::move(kernel));
}

// Nodes that the program did not make by hand may be any of those that are not known.
void Heap::State::change_node(std::uint64_t graph, std::uint64_t node, std::vector<GraphKernel> kernels) {
  if (const auto executable = executable_graphs.find(graph); executable != executable_graphs.end()) {
    ExecutableGraph& changed = executable->second;
    if (!changed.kernels.contains(node)) changed.kernels.erase(0);
    changed.kernels[node] = std::move(kernels);
    changed.is_watched = false;
    return;
  }
  const auto known = graph_of_node.find(node);
  if (graph == 0) {
    if (known == graph_of_node.end()) return forget_unknown_nodes();
    graph = known->second;
  }
  graph_of_node[node] = graph;
  graphs[graph].kernels[node] = std::move(kernels);
}

void Heap::State::forget_unknown_nodes() {
  for (auto& [handle, graph] : graphs) graph.kernels.erase(0);
}

void Heap::State::on_graph_change(const Event& e) {
  if (!e.succeeded() || e.from_runtime()) return;
  const std::uint64_t node = e.p(2);
  const auto other = graphs.find(e.p(3));
  const auto executable = executable_graphs.find(e.p(0));
  switch (static_cast<GraphOp>(e.p(1))) {
  case GraphOp::kChild: {
    Graph child;
    add_to(child, whole_graph(e.p(3)), node);
    change_node(e.p(0), node, std::exchange(child.kernels[node], {}));
    if (executable == executable_graphs.end()) add_to(graphs[e.p(0)], child, std::nullopt);
    break;
  }
  case GraphOp::kUpdate:
    if (executable == executable_graphs.end()) return;
    executable->second.is_watched = false;
    executable->second.kernels.clear();
    // Which of the other graph's nodes is one that was disabled is not known.
    if (other != graphs.end() && executable->second.disabled.empty()) {
      executable->second.kernels = whole_graph(e.p(3)).kernels;
    }
    break;
  case GraphOp::kRemove:
    if (const auto known = graph_of_node.extract(node); !known.empty()) {
      Graph& graph = graphs[known.mapped()];
      graph.kernels.erase(node);
      if (const auto inner = graph.inner.extract(node); !inner.empty()) forget_graph(inner.mapped());
    } else {
      forget_unknown_nodes();
    }
    break;
  case GraphOp::kEnable:
    if (executable == executable_graphs.end()) return;
    executable->second.is_watched = false;
    if (!executable->second.kernels.contains(node)) executable->second.kernels.erase(0);
    if (e.p(3) == 0) executable->second.disabled.insert(node);
    else executable->second.disabled.erase(node);
    break;
  }
}

void Heap::State::judge_graph_kernels(const Event& e, ExecutableGraph& graph) {
  if (is_dead(e.context) || capturing.contains(e.p(0))) return;
  const auto lives = [this](const ExecutableGraph::Watched& w) {
    const Id id = store.find_exact(Space::kAddress, w.address);
    return id != kNone && store[id].born == w.born;
  };
  if (graph.is_watched && std::ranges::all_of(graph.watched, lives)) return;
  graph.watched.clear();
  for (auto& [node, kernels] : graph.kernels) {
    if (graph.disabled.contains(node)) continue;
    for (GraphKernel& kernel : kernels) {
      std::erase_if(kernel.pointers,
                    [&](std::uint64_t word) { return judge_graph_pointer(graph, kernel, word); });
    }
  }
  std::ranges::sort(graph.watched);
  graph.watched.erase(std::unique(graph.watched.begin(), graph.watched.end()), graph.watched.end());
  graph.is_watched = true;
}

// True if there is nothing more to say of the pointer: it has been told, or is not judged.
bool Heap::State::judge_graph_pointer(ExecutableGraph& graph, const GraphKernel& kernel, std::uint64_t word) {
  const std::uint64_t address = trace::argument_address(word);
  if (const Id id = store.find_id(Space::kAddress, address); id != kNone) {
    graph.watched.push_back({store[id].address, store[id].born});
    return false;
  }
  if (store.find_id(Space::kRegistered, address) != kNone) return false;
  const Block* dead = store.find_dead(Space::kAddress, address);
  if (dead == nullptr || !is_judged(dead->family)) return dead == nullptr;
  if (judged == judgements.size()) return false; // at the next launch
  add({.verdict = Verdict::kUseAfterFree,
       .parameter = static_cast<std::uint8_t>(trace::argument_parameter(word)),
       .block = dead,
       .kernel = &kernel,
       .offset = address - dead->address,
       .range_begin = address});
  return true;
}

} // namespace gmt
