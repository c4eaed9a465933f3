// SPDX-License-Identifier: Apache-2.0
// All device heaps of a process, see device_heaps.h.

#include "analyzer/device_heap/device_heaps.h"

#include <algorithm>

#include "analyzer/heap/heap.h"
#include "analyzer/model/trace_names.h"
#include "trace/cuda_constants.h"

namespace gmt {
namespace {

using trace::Kind;

// Extents of a launch as the device's records have them.
std::uint64_t pack(trace::Index3 extents) {
  return trace::pack_block(extents.x, extents.y, extents.z);
}

std::uint16_t call_of(const Event& e) { return e.via != trace::kNoApi ? e.via : e.api; }

bool is_of(const DeviceContext& context, std::uint16_t id) {
  return id == 0 || context.heap.context() == 0 || context.heap.context() == id;
}

} // namespace

void DeviceHeaps::read(const std::vector<DeviceLogFiles>& files) {
  for (const DeviceLogFiles& file : files) {
    auto context = std::make_unique<DeviceContext>();
    context->log = file.name;
    DeviceLogReader reader(file);
    context->heap.read(reader);
    context->stats = reader.stats();
    contexts_.push_back(std::move(context));
  }
  // As they were made: device-2 before device-10.
  std::ranges::stable_sort(contexts_, {},
                           [](const auto& c) { return std::pair(c->log.size(), c->log); });
}

void DeviceHeaps::follow(const Event& e, const Heap& heap) {
  switch (e.kind) {
  case Kind::kLaunch: on_launch(e, heap); break;
  case Kind::kNote:
    if (trace::NoteView(e).first() == cuda::kLimitMallocHeapSize && !e.in_flight()) on_limit(e);
    break;
  case Kind::kSync: on_sync(e); break;
  case Kind::kLife:
    if (!e.succeeded() || e.from_runtime()) break;
    on_context_end(e, heap);
    on_life(e);
    break;
  case Kind::kGraphKernel:
    if (e.succeeded()) on_graph_kernel(e);
    break;
  case Kind::kGraphChange:
    if (e.succeeded()) on_graph_change(e);
    break;
  default: break;
  }
}

void DeviceHeaps::on_sync(const Event& e) {
  if (!any()) return;
  const trace::SyncView sync(e);
  const trace::SyncOp op = sync.op();
  if (const auto ended = CaptureTable::ended_by(e)) end_capture(e, *ended);
  if (!e.succeeded() || op == trace::SyncOp::kEndCapture) return;
  on_wait(e, op);
  if (op != trace::SyncOp::kGraphLaunch) return;
  const auto at = executable_graphs_.find(sync.executable_graph());
  if (at == executable_graphs_.end()) return;
  at->second->add(
    {.begun = clock_.realtime(e), .stream = sync.stream(), .stack = e.stack, .api = call_of(e)});
}

void DeviceHeaps::end_capture(const Event& e, CaptureTable::Capture ended) {
  const auto capture = captures_.extract(ended);
  if (capture.empty() || !e.succeeded()) return;
  std::vector<Captured>& graph = graphs_[trace::SyncView(e).graph()];
  graph.insert(graph.end(), capture.mapped().begin(), capture.mapped().end());
}

void DeviceHeaps::on_life(const Event& e) {
  const trace::LifeView life(e);
  const trace::ObjectClass object = life.object();
  const std::uint64_t handle = life.handle();
  const bool created = life.op() == trace::LifeOp::kCreate;
  if (object == trace::ObjectClass::kGraphExec) {
    executable_graphs_.erase(handle);
    const auto graph = created ? graphs_.find(life.parent()) : graphs_.end();
    if (graph == graphs_.end()) return;
    GraphLaunches* launches = executable_graphs_[handle] = &graph_launches_.emplace_back();
    for (const Captured& c : graph->second) {
      KernelLaunch launch = c.launch;
      launch.graph = launches;
      add(c.context, launch, c.name);
    }
  } else if (object == trace::ObjectClass::kGraph) {
    graphs_.erase(handle);
    const auto original = created ? graphs_.find(life.parent()) : graphs_.end();
    if (original == graphs_.end()) return;
    std::vector<Captured> clone = original->second;
    for (Captured& c : clone) c.node = 0; // it has a handle of its own
    graphs_[handle] = std::move(clone);
  }
}

std::vector<DeviceHeaps::Captured>* DeviceHeaps::graph_of(std::uint64_t node) {
  for (auto& [handle, kernels] : graphs_) {
    if (std::ranges::find(kernels, node, &Captured::node) != kernels.end()) return &kernels;
  }
  return nullptr;
}

// Nodes of an executable graph keep their ids when they are changed.
void DeviceHeaps::on_graph_kernel(const Event& e) {
  const trace::GraphKernelView view(e);
  if (executable_graphs_.contains(view.graph())) return;
  std::vector<Captured>* kernels =
    view.graph() != 0 ? &graphs_[view.graph()] : graph_of(view.node());
  if (kernels == nullptr) return;
  const KernelLaunch launch{.extents = pack(view.grid()),
                            .block_extents = pack(view.block()),
                            .stack = e.stack,
                            .api = call_of(e),
                            .captured = true,
                            .by_hand = true};
  auto at = std::ranges::find(*kernels, view.node(), &Captured::node);
  if (at == kernels->end()) at = kernels->emplace(at);
  *at = {e.context, launch, std::string(names_.handle_name(view.function())), view.node()};
}

// A child's kernels stand under the node that runs them.
void DeviceHeaps::on_graph_change(const Event& e) {
  const trace::GraphChangeView change(e);
  const trace::GraphOp op = change.op();
  const std::uint64_t node = change.node();
  if (op == trace::GraphOp::kRemove) {
    if (auto* kernels = graph_of(node))
      std::erase_if(*kernels, [&](const Captured& c) { return c.node == node; });
  }
  const auto child = graphs_.find(change.other_graph());
  if (op != trace::GraphOp::kChild || child == graphs_.end() ||
      executable_graphs_.contains(change.graph()))
    return;
  std::vector<Captured> kernels = child->second;
  for (Captured& c : kernels) c.node = node;
  std::vector<Captured>& parent = graphs_[change.graph()];
  parent.insert(parent.end(), kernels.begin(), kernels.end());
}

void DeviceHeaps::on_launch(const Event& e, const Heap& heap) {
  if (!e.succeeded() || (e.flags & (trace::kFlagNested | trace::kFlagRuntime)) != 0) return;
  const trace::LaunchView view(e);
  const Stream* stream = heap.cuda().streams.find(view.stream());
  KernelLaunch launch{.extents = pack(view.grid()),
                      .block_extents = pack(view.block()),
                      .realtime = clock_.realtime(e),
                      .stream = view.stream(),
                      .stack = e.stack,
                      .api = call_of(e),
                      .is_blocking = stream == nullptr || stream->is_blocking};
  const std::string_view name = names_.handle_name(view.function());
  const CaptureTable::Capture capture = heap.cuda().captures.of(e, view.stream());
  if (capture == 0) return add(e.context, launch, name);
  launch.captured = true;
  captures_[capture].push_back({e.context, launch, std::string(name), 0});
}

void DeviceHeaps::add(std::uint16_t id, KernelLaunch launch, std::string_view name) {
  for (const auto& context : contexts_) {
    if (!is_of(*context, id) || context->end) continue;
    // Launches that name no context were the first one's, once some do.
    const bool own = id > 1 && context->heap.context() == id;
    if (own && !std::exchange(context->launches_named, true)) context->launches.forget();
    launch.waits = context->waits;
    context->launches.add(launch, name);
  }
}

// Its heap is the oldest that had begun by then, as far as two clocks can say. The others belong
// to later lives of the context, in which grids are counted from 1 again.
void DeviceHeaps::on_context_end(const Event& e, const Heap& heap) {
  const std::uint64_t now = clock_.realtime(e);
  bool found = false;
  for (const auto& context : contexts_) {
    if (context->end || !heap.cuda().contexts.is_ended_by(context->heap.context(), e)) continue;
    const auto& grids = context->heap.grids();
    const bool has_begun =
      now == 0 || grids.empty() || grids.front().time <= now + kDeviceClockError;
    if (!found && has_begun) {
      context->end = {call_of(e), e.stack};
    } else {
      context->launches.restart();
      context->limit = DeviceContext::kDefaultLimit;
      context->refused.clear();
    }
    found = true;
  }
}

// Which of several contexts was waited for must be known; and for launches of graphs when.
void DeviceHeaps::on_wait(const Event& e, trace::SyncOp op) {
  const bool for_all = op == trace::SyncOp::kContextSynchronize;
  for (const auto& context : contexts_) {
    const bool is_its = contexts_.size() == 1 || context->heap.context() == e.context;
    if (for_all && is_its) ++context->waits;
  }
  const std::uint64_t begun = e.ticks != 0 ? clock_.realtime(e) : 0;
  const std::uint64_t until = begun + static_cast<std::uint64_t>(clock_.nanoseconds(e.ticks));
  const std::uint64_t stream = trace::SyncView(e).stream();
  const bool for_stream =
    op == trace::SyncOp::kStreamSynchronize && stream != cuda::kStreamPerThread;
  if (begun == 0 || (!for_all && !for_stream)) return;
  for (const auto& [handle, launches] : executable_graphs_) {
    if (!for_all) launches->wait_for_stream(stream, until);
    else if (contexts_.size() == 1) launches->wait_for_all(until);
  }
}

void DeviceHeaps::on_limit(const Event& e) {
  const std::string_view api = names_.api_name(e.api);
  if (api != "cuCtxSetLimit" && api != "cudaDeviceSetLimit" && api != "cudaThreadSetLimit") return;
  const std::uint64_t bytes = trace::NoteView(e).second();
  for (const auto& context : contexts_) {
    if (!is_of(*context, e.context) || context->end) continue;
    if (e.succeeded()) context->limit = bytes;
    else
      context->refused.push_back(
        {bytes, e.result, call_of(e), e.stack, context->launches.count() != 0});
  }
}

const DeviceContexts& DeviceHeaps::conclude() {
  for (const auto& context : contexts_) context->launches.conclude();
  return contexts_;
}

bool DeviceHeaps::is_refused_limit(const Event& e) const {
  const trace::NoteView limit(e);
  if (e.kind != Kind::kNote || limit.first() != cuda::kLimitMallocHeapSize) return false;
  return std::ranges::any_of(contexts_, [&](const auto& context) {
    if (context->heap.refusals().empty() || context->refused.empty()) return false;
    const HeapLimitCall& call = context->refused.back();
    return call.stack == e.stack && call.bytes == limit.second() && call.result == e.result;
  });
}

std::uint64_t DeviceHeaps::misused_by(const Event& e, const Heap& heap) const {
  if (!any() || (e.flags & trace::kFlagNested) != 0 || heap.is_dead(e.context)) return 0;
  const auto if_heap = [&](std::uint64_t address) {
    return spans(address) && heap.find_live(address) == nullptr ? address : 0;
  };
  switch (e.kind) {
  case Kind::kFree: return if_heap(trace::FreeView(e).address());
  case Kind::kSet: return if_heap(trace::SetView(e).destination());
  case Kind::kUse: return if_heap(trace::UseView(e).address());
  case Kind::kCopy:
    for (const auto side : {Verdict::Side::kSource, Verdict::Side::kDestination}) {
      if (declared_side(e, side) == trace::Side::kArray) continue;
      if (const std::uint64_t address = if_heap(address_of(e, side)); address != 0) return address;
    }
    return 0;
  default: return 0;
  }
}

bool DeviceHeaps::spans(std::uint64_t address) const {
  for (const auto& context : contexts_) {
    if (context->heap.spans(address)) return true;
  }
  return false;
}

// A pointer is rather of the context's own present life than of another context, and rather of
// either than of a life that has ended, or is to come. Lives of one context, in whose order they
// stand here, have their heaps at the same addresses.
DeviceHeaps::Found DeviceHeaps::find(std::uint64_t address, std::uint16_t id,
                                     std::uint64_t now) const {
  struct Candidate {
    int rank;
    std::ptrdiff_t order; // the newest first of those that have ended
    std::size_t context;  // in contexts_
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    const DeviceContext& context = *contexts_[i];
    if (!context.heap.spans(address)) continue;
    const auto order = static_cast<std::ptrdiff_t>(candidates.size());
    if (context.end) candidates.push_back({2, -order, i});
    else candidates.push_back({context.heap.context() == id ? 0 : 1, order, i});
  }
  std::ranges::sort(candidates, {}, [](const Candidate& c) { return std::pair(c.rank, c.order); });
  for (const Candidate& c : candidates) {
    if (const DeviceBlock* block = contexts_[c.context]->heap.find(address, now))
      return {c.context, block};
  }
  return {candidates.empty() ? kNoContext : candidates.front().context, nullptr};
}

} // namespace gmt
