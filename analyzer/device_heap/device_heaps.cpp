// SPDX-License-Identifier: Apache-2.0
// All device heaps of a process, see device_heaps.h.

#include "analyzer/device_heap/device_heaps.h"

#include <algorithm>

#include "analyzer/heap/heap.h"
#include "analyzer/model/trace_names.h"
#include "trace/cuda_constants.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using Kind = EventKind;

// Extents of a launch as the device's records have them.
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
    context->heap.read(reader, clock_);
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
    if (e.note().first == cuda::kLimitMallocHeapSize && !e.in_flight()) on_limit(e);
    break;
  case Kind::kSync: on_sync(e); break;
  case Kind::kLife:
    if (!e.succeeded() || e.from_runtime) break;
    on_context_end(e, heap);
    on_life(e, heap);
    break;
  default: break;
  }
}

void DeviceHeaps::on_sync(const Event& e) {
  if (!any()) return;
  const event::Sync& sync = e.sync();
  const trace::SyncOp op = sync.op;
  if (!e.succeeded() || op == trace::SyncOp::kEndCapture) return;
  on_wait(e, op);
  if (op != trace::SyncOp::kGraphLaunch) return;
  const auto at = executable_graphs_.find(sync.executable_graph());
  if (at == executable_graphs_.end()) return;
  at->second->add(
    {.begun = clock_.realtime(e), .stream = sync.stream, .stack = e.stack, .api = call_of(e)});
}

// Kernels of a graph take their grids' ids now, and what was captured has not run before.
void DeviceHeaps::on_life(const Event& e, const Heap& heap) {
  const event::Life& life = e.life();
  if (life.object != trace::ObjectClass::kGraphExec) return;
  executable_graphs_.erase(life.handle);
  if (life.op != trace::LifeOp::kCreate) return;
  const std::vector<const GraphWork*> kernels = heap.kernels_of_graph(life.handle);
  if (kernels.empty()) return;
  GraphLaunches* launches = executable_graphs_[life.handle] = &graph_launches_.emplace_back();
  for (const GraphWork* kernel : kernels) {
    const KernelLaunch launch{.extents = PackedIndex(kernel->grid),
                              .block_extents = PackedIndex(kernel->block),
                              .realtime = kernel->captured ? clock_.realtime(e) : 0,
                              .stream = kernel->stream,
                              .stack = kernel->made,
                              .api = kernel->api,
                              .captured = true,
                              .by_hand = !kernel->captured,
                              .graph = launches,
                              .is_blocking = kernel->is_blocking};
    add(kernel->context, launch, names_.handle_name(kernel->function));
  }
}

void DeviceHeaps::on_launch(const Event& e, const Heap& heap) {
  if (!e.succeeded() || e.is_nested || e.from_runtime) return;
  const event::Launch& view = e.launch();
  if (heap.is_capturing(e, view.stream)) return; // see on_life()
  const Stream* stream = heap.cuda().streams.find(view.stream);
  const KernelLaunch launch{.extents = PackedIndex(view.grid),
                            .block_extents = PackedIndex(view.block),
                            .realtime = clock_.realtime(e),
                            .stream = view.stream,
                            .stack = e.stack,
                            .api = call_of(e),
                            .is_blocking = stream == nullptr || stream->is_blocking};
  add(e.context, launch, names_.handle_name(view.function));
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
    const bool has_begun = now == 0 || grids.empty() ||
                           context->heap.host_time(grids.front().time) <= now + kDeviceClockError;
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
  const std::uint64_t stream = e.sync().stream;
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
  const std::uint64_t bytes = e.note().second;
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
  const event::Note& limit = e.note();
  if (e.kind != Kind::kNote || limit.first != cuda::kLimitMallocHeapSize) return false;
  return std::ranges::any_of(contexts_, [&](const auto& context) {
    if (context->heap.refusals().empty() || context->refused.empty()) return false;
    const HeapLimitCall& call = context->refused.back();
    return call.stack == e.stack && call.bytes == limit.second && call.result == e.result;
  });
}

std::uint64_t DeviceHeaps::misused_by(const Event& e, const Heap& heap) const {
  if (!any() || e.is_nested || heap.is_dead(e.context)) return 0;
  const auto if_heap = [&](std::uint64_t address) {
    return spans(address) && heap.find_live(address) == nullptr ? address : 0;
  };
  switch (e.kind) {
  case Kind::kFree: return if_heap(e.free().address);
  case Kind::kSet: return if_heap(e.set().destination);
  case Kind::kUse: return if_heap(e.use().address);
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
