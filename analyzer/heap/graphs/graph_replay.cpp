// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/graphs/graph_replay.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "trace/cuda_constants.h"

namespace gmt {
namespace {

using trace::MemoryKind;

GraphWork work_of(const Event& e, GraphWork::Kind kind, bool captured) {
  return {.kind = kind,
          .captured = captured,
          .api = e.via != trace::kNoApi ? e.via : e.api,
          .made = e.stack,
          .order = e.order,
          .added = e.order,
          .context = e.context};
}

// CUgraphNodeType of cuda.h.
GraphWork::Kind kind_of(std::uint64_t node_type) {
  switch (node_type) {
  case cuda::kNodeTypeCopy: return GraphWork::Kind::kCopy;
  case cuda::kNodeTypeSet: return GraphWork::Kind::kSet;
  default: return GraphWork::Kind::kOther;
  }
}

GraphWork::Part part_of(bool reads, bool array) {
  if (array) return reads ? GraphWork::kSourceArray : GraphWork::kDestinationArray;
  return reads ? GraphWork::kSource : GraphWork::kDestination;
}

} // namespace

// ---- nodes that are made by hand

void GraphReplay::on_kernel(const Event& e, AccessList& accesses, CallVerdicts& verdicts) {
  if (!e.succeeded() || e.from_runtime) return;
  GraphWork kernel = work_of(e, GraphWork::Kind::kKernel, false);
  const event::GraphKernel& view = e.graph_kernel();
  kernel.function = view.function;
  kernel.grid = view.grid;
  kernel.block = view.block;
  const Arguments all = view.arguments;
  for (const Argument word : all) {
    const std::uint64_t address = word.address();
    if (word.is_unused()) continue;
    Id id = store_.find_id(Space::kAddress, address);
    if (id == BlockStore::kNone) id = store_.find_id(Space::kRegistered, address);
    if (id != BlockStore::kNone) {
      accesses.add(e, id, Access::Kind::kArgument, address, 0, word.parameter());
      kernel.pointers.push_back(word);
    } else if (store_.find_dead(Space::kAddress, address) != nullptr) {
      kernel.pointers.push_back(word); // a mistake only if the graph is launched so
    } else {
      readings_.note_end(kernel.function, all, word, verdicts);
    }
  }
  table_.set_work(view.graph, view.node, {std::move(kernel)}, GraphWork::Kind::kKernel);
}

bool GraphReplay::on_use(const Event& e, AccessList& accesses) {
  const event::Use& use = e.use();
  if (use.use != trace::UseClass::kGraphNode) return false;
  if (!use.shape->has_node || !e.succeeded() || e.from_runtime) return false;
  const GraphWork::Kind kind = kind_of(use.shape->node_type);
  const std::uint64_t address = use.address;
  GraphWork work = work_of(e, kind, false);
  const bool reads = e.use().reads;
  Id id = address != 0 ? arrays_.find(address) : BlockStore::kNone;
  if (id != BlockStore::kNone) {
    work.pointers.push_back(Argument(address, part_of(reads, true)));
  } else if (address != 0) {
    id = store_.find_id(Space::kAddress, address);
    if (id == BlockStore::kNone) id = store_.find_id(Space::kRegistered, address);
    const bool is_known =
      id != BlockStore::kNone || store_.find_dead(Space::kAddress, address) != nullptr;
    if (is_known) work.pointers.push_back(Argument(address, part_of(reads, false)));
  }
  if (id != BlockStore::kNone) accesses.add(e, id, Access::Kind::kBound, address, use.bytes);
  table_.set_work(use.graph(), use.shape->node, {std::move(work)}, kind, use.shape->part != 0);
  return true;
}

void GraphReplay::on_change(const Event& e) {
  if (e.succeeded() && !e.from_runtime) table_.on_change(e);
}

// ---- captures

void GraphReplay::on_end_of_capture(const Event& e, CaptureTable::Capture capture) {
  table_.end_capture(capture, e.succeeded() ? std::optional(e.sync().graph()) : std::nullopt);
}

void GraphReplay::on_allocation(const Event& e, const Block& block, std::uint64_t stream_or_graph) {
  const CaptureTable::Capture capture = cuda_.captures.of(e, stream_or_graph);
  Graph& graph = capture != 0 ? table_.of_capture(capture) : table_.of_handle(stream_or_graph);
  graph.allocations.push_back(block);
}

bool GraphReplay::on_captured_free(const Event& e) {
  const event::Free& free = e.free();
  const CaptureTable::Capture capture = cuda_.captures.of(e, free.stream);
  if (capture == 0) return false;
  table_.of_capture(capture).frees.push_back(free.address);
  return true;
}

void GraphReplay::on_captured_kernel(const Event& e, std::span<const Id> blocks) {
  const event::Launch& launch = e.launch();
  const CaptureTable::Capture capture = cuda_.captures.of(e, launch.stream);
  if (!e.succeeded() || e.from_runtime || capture == 0) return;
  GraphWork kernel = work_of(e, GraphWork::Kind::kKernel, true);
  kernel.function = launch.function;
  kernel.grid = launch.grid;
  kernel.block = launch.block;
  kernel.stream = launch.stream;
  const Stream* stream = cuda_.streams.find(launch.stream);
  kernel.is_blocking = stream == nullptr || stream->is_blocking;
  // What was freed before is the launch's own mistake
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] != BlockStore::kNone) kernel.pointers.push_back(launch.arguments[i]);
  }
  table_.of_capture(capture).work[0].push_back(std::move(kernel));
}

// Of the uses, memory operations are what streams do.
void GraphReplay::on_captured_use(const Event& e, GraphWork::Kind kind,
                                  std::span<const Access> used) {
  using trace::UseClass;
  if (e.kind == EventKind::kUse && e.use().use != UseClass::kMemOp &&
      e.use().use != UseClass::kMemOpWait)
    return;
  const CaptureTable::Capture capture = cuda_.captures.of(e, named_stream(e));
  if (!e.succeeded() || capture == 0) return;
  GraphWork work = work_of(e, kind, true);
  for (const Access& t : used) {
    const bool reads = t.kind == Access::Kind::kRead;
    const bool array = !has_ranges(space_of(t.block->memory_kind));
    work.pointers.push_back(Argument(t.address, part_of(reads, array)));
  }
  if (!work.pointers.empty()) table_.of_capture(capture).work[0].push_back(std::move(work));
}

// ---- launches

void GraphReplay::on_launch(const Event& e, CallVerdicts& verdicts) {
  const GraphTable::Handle handle = e.sync().executable_graph();
  if (e.succeeded() && !table_.empty()) {
    if (const Graph* graph = table_.launched(handle)) run(*graph, e.order);
  }
  ExecutableGraph* executable = table_.find_executable(handle);
  if (executable == nullptr || !verdicts_.is_checked(e) || verdicts_.is_all_alive(*executable))
    return;
  review(*executable, verdicts);
}

void GraphReplay::run(const Graph& graph, std::uint64_t order) {
  for (const Block& allocation : graph.allocations) {
    Id id = store_.find_exact(Space::kAddress, allocation.address);
    if (id == BlockStore::kNone || store_[id].memory_kind != MemoryKind::kGraph)
      id = allocate_again(allocation, order);
    store_.count_graph_memory(id, true);
  }
  for (const std::uint64_t address : graph.frees) {
    const Id id = store_.find_exact(Space::kAddress, address);
    if (id != BlockStore::kNone) store_.count_graph_memory(id, false);
  }
}

// Freed since the last launch: the same block at the same address, used as before.
GraphReplay::Id GraphReplay::allocate_again(const Block& allocation, std::uint64_t order) {
  Block block = allocation;
  block.allocated_at = order & kOrderMask;
  const Block* dead = store_.find_dead(Space::kAddress, block.address);
  if (dead != nullptr && dead->memory_kind == MemoryKind::kGraph)
    block.flags = dead->flags & static_cast<std::uint16_t>(~kGraphRan);
  return store_.make_live(store_.create(block));
}

// Forgets pointers of which all is said, and remembers the blocks that the others point into.
void GraphReplay::review(ExecutableGraph& graph, CallVerdicts& verdicts) const {
  constexpr unsigned kMostReviews = 1000;
  graph.watched.clear();
  bool is_any_dropped = false;
  for (auto& [node, all] : graph.work) {
    if (graph.disabled.contains(node)) continue;
    for (GraphWork& work : all) {
      std::vector<Argument> kept;
      for (const Argument word : work.pointers) {
        const GraphVerdicts::Answer answer = verdicts_.check_pointer(work, word, verdicts);
        if (answer.watched) graph.watched.push_back(*answer.watched);
        if (answer.tensor) graph.watched.push_back(*answer.tensor);
        is_any_dropped |= answer.is_dropped;
        if (!answer.is_settled) kept.push_back(word);
      }
      work.pointers = std::move(kept);
    }
  }
  std::ranges::sort(graph.watched);
  graph.watched.erase(std::unique(graph.watched.begin(), graph.watched.end()), graph.watched.end());
  graph.is_watched = !is_any_dropped || ++graph.reviews > kMostReviews;
}

const Block* GraphReplay::unfreed_of(GraphTable::Handle handle) const {
  const ExecutableGraph* graph = table_.find_executable(handle);
  if (graph == nullptr) return nullptr;
  for (const Block& allocation : graph->allocations) {
    const Id id = store_.find_exact(Space::kAddress, allocation.address);
    if (id != BlockStore::kNone && (store_[id].flags & kGraphRan) != 0) return &store_[id];
  }
  return nullptr;
}

} // namespace gmt
