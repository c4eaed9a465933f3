// SPDX-License-Identifier: Apache-2.0
// What graphs do at each launch: kernels, copies, sets and memory operations, as they were captured or their
// nodes made, and whether the memory that they were given still lives when the graph is launched. Held back
// like the verdict on a launch: an address that a new allocation has got is no mistake, and where a node was
// changed that cannot be told from others, those of its kind are forgotten.
//
// A launch of a graph costs a look at each block that its work points into; the pointers are walked only
// where one of these has ended.

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/heap/heap_state.h"
#include "trace/cuda_constants.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::Family;
using trace::GraphOp;

GraphWork work_of(const Event& e, GraphWork::Kind kind, bool captured) {
  return {.kind = kind,
          .captured = captured,
          .api = e.via != trace::kNoApi ? e.via : e.api,
          .made = e.stack,
          .order = e.order & trace::kOrderMask};
}

// CUgraphNodeType of cuda.h.
GraphWork::Kind kind_of(std::uint64_t node_type) {
  switch (node_type) {
  case cuda::kNodeTypeCopy: return GraphWork::Kind::kCopy;
  case cuda::kNodeTypeSet: return GraphWork::Kind::kSet;
  default: return GraphWork::Kind::kOther;
  }
}

// Left out is memory that comes back by itself: a graph's at every launch, static memory with its module.
// Host memory may belong to malloc again, from which a copy may read, and a kernel may not.
bool is_looked_at(const GraphWork& work, const Block& dead) {
  if (dead.family == Family::kGraph || is_static(dead.family)) return false;
  if (dead.family != Family::kPinned && dead.family != Family::kManaged) return true;
  return work.kind == GraphWork::Kind::kKernel || (dead.born < work.order && work.order < dead.died);
}

bool is_array(const GraphWork& work, std::uint64_t word) {
  return work.kind == GraphWork::Kind::kCopy &&
         trace::argument_parameter(word) >= GraphWork::kDestinationArray &&
         trace::argument_parameter(word) != trace::kNoParameter;
}

} // namespace

void Heap::State::on_graph_kernel(const Event& e) {
  if (!e.succeeded() || e.from_runtime()) return;
  GraphWork kernel = work_of(e, GraphWork::Kind::kKernel, false);
  const trace::GraphKernelView view(e);
  kernel.function = view.function();
  const Words all = view.arguments();
  for (const std::uint64_t word : all) {
    const std::uint64_t address = trace::argument_address(word);
    if (word == 0) continue;
    Id id = store.find_id(Space::kAddress, address);
    if (id == kNone) id = store.find_id(Space::kRegistered, address);
    if (id != kNone) {
      touch(e, id, Touch::Access::kArgument, address, 0, trace::argument_parameter(word));
      kernel.pointers.push_back(word);
    } else if (store.find_dead(Space::kAddress, address) != nullptr) {
      kernel.pointers.push_back(word); // a mistake only if the graph is launched so
    } else {
      note_end(kernel.function, all, word);
    }
  }
  change_node(view.graph(), view.node(), {std::move(kernel)}, GraphWork::Kind::kKernel);
}

bool Heap::State::on_graph_use(const Event& e) {
  const trace::UseView use(e);
  if (use.use() != trace::UseClass::kGraphNode) return false;
  if (!use.has(trace::UseWord::node_type) || !e.succeeded() || e.from_runtime()) return false;
  const GraphWork::Kind kind = kind_of(use.node_type());
  const std::uint64_t address = use.address();
  GraphWork work = work_of(e, kind, false);
  const bool reads = (e.flags & trace::kUseReads) != 0;
  const auto point = [&](unsigned part) { work.pointers.push_back(trace::argument_word(address, part)); };
  Id id = address != 0 ? array_of(address) : kNone;
  if (id != kNone) {
    point(reads ? GraphWork::kSourceArray : GraphWork::kDestinationArray);
  } else if (address != 0) {
    id = store.find_id(Space::kAddress, address);
    if (id == kNone) id = store.find_id(Space::kRegistered, address);
    const bool is_known = id != kNone || store.find_dead(Space::kAddress, address) != nullptr;
    if (is_known) point(reads ? GraphWork::kSource : GraphWork::kDestination);
  }
  if (id != kNone) touch(e, id, Touch::Access::kBound, address, use.bytes());
  change_node(use.graph(), use.node(), {std::move(work)}, kind, use.part() != 0);
  return true;
}

// What a node copies or sets past the end of its memory is a mistake when the node is made, whatever CUDA
// answers.
void Heap::State::judge_node_range(const Event& e) {
  if (e.from_runtime() || is_dead(e.context) || (e.flags & trace::kUseToldBefore) != 0) return;
  if (const std::optional<Event> work = work_of_node(e)) {
    judge_node_side(*work, Side::kDestination);
    if (work->kind == trace::Kind::kCopy) judge_node_side(*work, Side::kSource);
    return;
  }
  const trace::UseView use(e);
  if (use.address() == 0) return;
  const auto range = store.find(Space::kAddress, use.address());
  if (!range || use.bytes() <= range.end - use.address()) return;
  const bool reads = (e.flags & trace::kUseReads) != 0;
  judge_live_range(e, range, use.address(), use.bytes(), reads ? Side::kSource : Side::kDestination);
}

void Heap::State::judge_node_side(const Event& work, Side side) {
  const bool copies = work.kind == trace::Kind::kCopy;
  const trace::Side declared = copies ? declared_side(work, side) : trace::Side::kDevice;
  if (declared == trace::Side::kArray) return judge_array_side(work, side);
  const std::uint64_t address = address_of(work, side);
  const std::uint64_t bytes = copies ? copy_extent(work, side) : set_extent(work);
  if (address == 0 || bytes == 0) return;
  if (const auto range = store.find(Space::kAddress, address)) {
    if (bytes > range.end - address) judge_live_range(work, range, address, bytes, side);
  } else { // not freed memory: that is judged when the graph is launched
    judge_stray(work, address, bytes, side, declared);
  }
}

void Heap::State::note_captured_kernel(const Event& e) {
  const trace::LaunchView launch(e);
  const auto origin = capturing.find(e.own_stream(launch.stream()));
  if (!e.succeeded() || origin == capturing.end()) return;
  GraphWork kernel = work_of(e, GraphWork::Kind::kKernel, true);
  kernel.function = launch.function();
  for (std::size_t i = 0; i < arguments.size(); ++i) { // what was freed before is the launch's own mistake
    if (arguments[i] != kNone) kernel.pointers.push_back(launch.arguments()[i]);
  }
  if (!kernel.pointers.empty()) captures[origin->second].work[0].push_back(std::move(kernel));
}

// Of the uses, memory operations are what streams do.
void Heap::State::note_captured_use(const Event& e, GraphWork::Kind kind) {
  using trace::UseClass;
  const UseClass use = trace::UseView(e).use();
  if (e.kind == trace::Kind::kUse && use != UseClass::kMemOp && use != UseClass::kMemOpWait) return;
  const auto origin = capturing.find(e.own_stream(named_stream(e)));
  if (!e.succeeded() || origin == capturing.end()) return;
  GraphWork work = work_of(e, kind, true);
  for (const Touch& t : touched) {
    const bool reads = t.access == Touch::Access::kRead;
    const bool array = !has_ranges(space_of(t.block->family));
    work.pointers.push_back(trace::argument_word(
      t.address, array ? (reads ? GraphWork::kSourceArray : GraphWork::kDestinationArray)
                       : (reads ? GraphWork::kSource : GraphWork::kDestination)));
  }
  if (!work.pointers.empty()) captures[origin->second].work[0].push_back(std::move(work));
}

// Nodes that the program did not make by hand may be any of those that are not known.
void Heap::State::change_node(std::uint64_t graph, std::uint64_t node, std::vector<GraphWork> work,
                              std::optional<GraphWork::Kind> kind, bool more) {
  const auto put = [&](Graph& changed) {
    std::vector<GraphWork>& known = changed.work[node];
    if (!more) known.clear();
    std::ranges::move(work, std::back_inserter(known));
  };
  if (const auto executable = executable_graphs.find(graph); executable != executable_graphs.end()) {
    if (!executable->second.work.contains(node)) forget_unknown(executable->second, kind);
    put(executable->second);
    executable->second.is_watched = false;
    return;
  }
  const auto known = graph_of_node.find(node);
  if (graph == 0) {
    if (known == graph_of_node.end()) return forget_unknown_nodes(kind);
    graph = known->second;
  }
  graph_of_node[node] = graph;
  put(graphs[graph]);
}

void Heap::State::forget_unknown(Graph& graph, std::optional<GraphWork::Kind> kind) {
  const auto unknown = graph.work.find(0);
  if (unknown == graph.work.end()) return;
  std::erase_if(unknown->second, [&](const GraphWork& work) { return !kind || work.kind == *kind; });
}

void Heap::State::forget_unknown_nodes(std::optional<GraphWork::Kind> kind) {
  for (auto& [handle, graph] : graphs) forget_unknown(graph, kind);
}

void Heap::State::on_graph_change(const Event& e) {
  if (!e.succeeded() || e.from_runtime()) return;
  const trace::GraphChangeView change(e);
  const std::uint64_t node = change.node();
  const auto other = graphs.find(change.other_graph());
  const auto executable = executable_graphs.find(change.graph());
  switch (change.op()) {
  case GraphOp::kChild: {
    Graph child;
    add_to(child, whole_graph(change.other_graph()), node);
    change_node(change.graph(), node, std::exchange(child.work[node], {}), std::nullopt);
    if (executable == executable_graphs.end()) add_to(graphs[change.graph()], child, std::nullopt);
    break;
  }
  case GraphOp::kUpdate:
    if (executable == executable_graphs.end()) return;
    executable->second.is_watched = false;
    executable->second.work.clear();
    // Which of the other graph's nodes is one that was disabled is not known.
    if (other != graphs.end() && executable->second.disabled.empty()) {
      executable->second.work = whole_graph(change.other_graph()).work;
    }
    break;
  case GraphOp::kRemove:
    if (const auto known = graph_of_node.extract(node); !known.empty()) {
      Graph& graph = graphs[known.mapped()];
      graph.work.erase(node);
      while (true) {
        const auto inner = graph.inner.extract(node);
        if (inner.empty()) break;
        forget_graph(inner.mapped().graph);
      }
    } else {
      forget_unknown_nodes();
    }
    break;
  case GraphOp::kEnable:
    if (executable == executable_graphs.end()) return;
    executable->second.is_watched = false;
    if (!executable->second.work.contains(node)) forget_unknown(executable->second, std::nullopt);
    if (change.is_enabled() == 0) executable->second.disabled.insert(node);
    else executable->second.disabled.erase(node);
    break;
  case GraphOp::kEventRecord:
  case GraphOp::kEventWait:
  case GraphOp::kHost:
  case GraphOp::kExternalSignal:
  case GraphOp::kExternalWait: break; // no use of memory
  }
}

void Heap::State::judge_graph_work(const Event& e, ExecutableGraph& graph) {
  if (e.from_runtime() || (!e.succeeded() && e.result != cuda::CUDA_ERROR_INVALID_VALUE)) return;
  if (is_dead(e.context) || capturing.contains(e.own_stream(trace::SyncView(e).stream()))) return;
  const auto lives = [this](const ExecutableGraph::Watched& w) {
    const Id id = store.find_exact(w.space, w.address);
    return id != kNone && store[id].born == w.born;
  };
  if (graph.is_watched && std::ranges::all_of(graph.watched, lives)) return;
  graph.watched.clear();
  for (auto& [node, all] : graph.work) {
    if (graph.disabled.contains(node)) continue;
    for (GraphWork& work : all) {
      std::vector<std::uint64_t> kept;
      std::ranges::copy_if(work.pointers, std::back_inserter(kept),
                           [&](std::uint64_t word) { return !judge_graph_pointer(graph, work, word); });
      work.pointers = std::move(kept);
    }
  }
  std::ranges::sort(graph.watched);
  graph.watched.erase(std::unique(graph.watched.begin(), graph.watched.end()), graph.watched.end());
  graph.is_watched = true;
}

// True if there is nothing more to say of the pointer: it has been told, or is not judged.
bool Heap::State::judge_graph_pointer(ExecutableGraph& graph, const GraphWork& work, std::uint64_t word) {
  const std::uint64_t address = trace::argument_address(word);
  const bool array = is_array(work, word);
  const Id id = array ? array_of(address) : store.find_id(Space::kAddress, address);
  if (id != kNone) {
    graph.watched.push_back({space_of(store[id].family), store[id].address, store[id].born});
    return false;
  }
  if (!array && store.find_id(Space::kRegistered, address) != kNone) return false;
  const Block* dead = array ? dead_array_of(address) : store.find_dead(Space::kAddress, address);
  if (dead == nullptr || !is_looked_at(work, *dead)) return dead == nullptr;
  if (judged == judgements.size()) return false; // at the next launch
  const bool reads = (trace::argument_parameter(word) & 1) == GraphWork::kSource;
  const bool is_kernel = work.kind == GraphWork::Kind::kKernel;
  Judgement judgement{.verdict = Verdict::kUseAfterFree,
                      .side = is_kernel ? Side::kNone : reads ? Side::kSource : Side::kDestination,
                      .block = dead,
                      .work = &work,
                      .offset = address - dead->address,
                      .range_begin = address};
  if (is_kernel) {
    judgement.parameter = static_cast<std::uint8_t>(trace::argument_parameter(word));
    if (!is_mistake(judgement, work.function, work.pointers)) return true;
  }
  add(judgement);
  return true;
}

} // namespace gmt
