// SPDX-License-Identifier: Apache-2.0
// See launch_log.h.
#include "analyzer/device_heap/launch_log.h"

#include <algorithm>

#include "analyzer/heap/heap.h"
#include "trace/cuda_constants.h"

namespace gmt {
namespace {

using trace::Kind;
using trace::SyncOp;

// Sets that surely take no id of a grid, and such that surely take one.
constexpr std::uint64_t kSmallSet = 4096, kLargeSet = 1 << 20;
constexpr std::uint64_t kMostNodes = 1'000'000; // of a graph
constexpr std::size_t kMostEvents = 100'000;    // remembered; then all are forgotten

std::uint16_t written_call(const Event& e) { return e.via != trace::kNoApi ? e.via : e.api; }

LoggedLaunch logged(const Event& e, LoggedLaunch::What what) {
  LoggedLaunch launch;
  launch.what = what;
  launch.order = e.order;
  launch.stack = e.stack;
  launch.api = written_call(e);
  launch.context = e.context;
  return launch;
}

bool is_legacy(std::uint64_t stream) { return stream <= cuda::kStreamLegacy; }

} // namespace

void LaunchLog::follow(const Event& e, const Heap& heap) {
  if (!e.succeeded() || (e.flags & (trace::kFlagNested | trace::kFlagRuntime)) != 0) {
    if (e.kind == Kind::kSync) {
      if (const auto ended = CaptureTable::ended_by(e)) captures_.erase(*ended);
    }
    // A launch in whose call the process died may have been given to the GPU.
    if (e.kind != Kind::kLaunch || !e.in_flight()) return;
  }
  switch (e.kind) {
  case Kind::kLaunch: return on_launch(e, heap);
  case Kind::kSync: return on_sync(e, heap);
  case Kind::kGraphKernel: return on_graph_kernel(e, heap);
  case Kind::kLife: return on_life(e);
  case Kind::kSet: return on_set(e, heap);
  case Kind::kCopy: {
    ++ids_[e.context].most;
    const bool waits = (e.flags & trace::kCopyAsync) == 0 && heap.accesses().size() < 2;
    if (waits) wait_for_stream(e, named_stream(e), e.order);
    return;
  }
  case Kind::kFree:
    if (trace::FreeView(e).function() == trace::FreeFunction::kMemFree)
      waited_[e.context] = e.order;
    return;
  default: return;
  }
}

void LaunchLog::on_launch(const Event& e, const Heap& heap) {
  const trace::LaunchView view(e);
  LoggedLaunch launch = logged(e, LoggedLaunch::What::kKernel);
  launch.function = view.function();
  launch.grid = view.word(trace::LaunchWord::grid);
  launch.block = view.word(trace::LaunchWord::block);
  launch.stream = e.own_stream(view.stream());
  const Stream* stream = heap.cuda().streams.find(view.stream());
  launch.is_blocking = stream == nullptr || stream->is_blocking;
  note_given(launch, heap);
  if (const CaptureTable::Capture capture = heap.cuda().captures.of(e, view.stream());
      capture != 0) {
    launch.what = LoggedLaunch::What::kCaptured;
    captures_[capture].push_back(launch);
  } else {
    Ids& ids = ids_[e.context];
    launch.least_id = ++ids.least;
    launch.most_id = ++ids.most;
  }
  keep(launch);
}

void LaunchLog::on_set(const Event& e, const Heap& heap) {
  const trace::SetView set(e);
  if (set.bytes() <= kSmallSet || heap.is_capturing(e, set.stream())) return;
  Ids& ids = ids_[e.context];
  ++ids.most;
  if (set.bytes() >= kLargeSet && set.height() <= 1) ++ids.least;
}

void LaunchLog::note_given(LoggedLaunch& launch, const Heap& heap) const {
  if (!keeps_given_) return;
  for (const Access& access : heap.accesses()) {
    if (access.kind != Access::Kind::kArgument || access.block == nullptr) continue;
    const bool known = std::ranges::find(launch.given, access.block->address) != launch.given.end();
    if (!known && launch.given.size() < kMostGiven) launch.given.push_back(access.block->address);
  }
}

void LaunchLog::keep(const LoggedLaunch& launch) {
  kept_.push_back(launch);
  if (kept_.size() > kMostKept) kept_.pop_front();
}

void LaunchLog::on_graph_launch(const Event& e, const Heap& heap) {
  const trace::SyncView sync(e);
  if (heap.is_capturing(e, sync.stream())) return;
  LoggedLaunch launch = logged(e, LoggedLaunch::What::kGraph);
  launch.executable = sync.executable_graph();
  launch.stream = e.own_stream(sync.stream());
  const Stream* stream = heap.cuda().streams.find(sync.stream());
  launch.is_blocking = stream == nullptr || stream->is_blocking;
  if (launched_.insert(launch.executable).second) {
    Ids& ids = ids_[e.context];
    ids.least += kernels_of(launch.executable).size();
    ids.most += kMostNodes;
  }
  keep(launch);
}

void LaunchLog::on_sync(const Event& e, const Heap& heap) {
  const trace::SyncView sync(e);
  switch (sync.op()) {
  case SyncOp::kGraphLaunch: return on_graph_launch(e, heap);
  case SyncOp::kEndCapture:
    if (const auto ended = CaptureTable::ended_by(e)) {
      const auto capture = captures_.extract(*ended);
      if (!capture.empty()) {
        Kernels& graph = graphs_[sync.graph()];
        graph.insert(graph.end(), capture.mapped().begin(), capture.mapped().end());
      }
    }
    return;
  case SyncOp::kContextSynchronize: waited_[e.context] = e.order; return;
  case SyncOp::kStreamSynchronize:
  case SyncOp::kStreamQuery: return wait_for_stream(e, sync.stream(), e.order);
  case SyncOp::kEventRecord:
    if (events_.size() >= kMostEvents) events_.clear();
    events_[sync.event()] = {sync.stream(), e.order};
    return;
  case SyncOp::kEventSynchronize:
  case SyncOp::kEventQuery:
    if (const auto at = events_.find(sync.event()); at != events_.end())
      wait_for_stream(e, at->second.stream, at->second.order);
    return;
  default: return;
  }
}

// Work on the legacy stream has waited for all blocking streams.
void LaunchLog::wait_for_stream(const Event& e, std::uint64_t handle, std::uint64_t until) {
  std::uint64_t& own = streams_[e.own_stream(handle)];
  own = std::max(own, until);
  if (!is_legacy(handle)) return;
  std::uint64_t& legacy = legacy_[e.context];
  legacy = std::max(legacy, until);
}

bool LaunchLog::is_done(const LoggedLaunch& launch) const {
  const auto until = [&](const auto& map, auto key) -> std::uint64_t {
    const auto at = map.find(key);
    return at == map.end() ? 0 : at->second;
  };
  // Before a process has a second context its calls name none, or the first one.
  const bool first = launch.context <= 1;
  const std::uint64_t all =
    std::max(until(waited_, launch.context), first ? until(waited_, std::uint16_t{0}) : 0);
  if (all > launch.order || until(streams_, launch.stream) > launch.order) return true;
  return launch.is_blocking && until(legacy_, launch.context) > launch.order;
}

void LaunchLog::on_graph_kernel(const Event& e, const Heap& heap) {
  const trace::GraphKernelView view(e);
  LoggedLaunch made = logged(e, LoggedLaunch::What::kNodeMade);
  made.function = view.function();
  made.grid = view.word(trace::GraphKernelWord::grid);
  made.block = view.word(trace::GraphKernelWord::block);
  made.node = view.node();
  note_given(made, heap);
  keep(made);
  const auto replace = [&made](Kernels& kernels) {
    const auto at = std::ranges::find(kernels, made.node, &LoggedLaunch::node);
    if (at != kernels.end()) *at = made;
    else kernels.push_back(made);
  };
  if (const auto at = executables_.find(view.graph()); at != executables_.end())
    return replace(at->second);
  if (view.graph() != 0) replace(graphs_[view.graph()]);
}

void LaunchLog::on_life(const Event& e) {
  const trace::LifeView life(e);
  const bool created = life.op() == trace::LifeOp::kCreate;
  const bool executable = life.object() == trace::ObjectClass::kGraphExec;
  if (!executable && life.object() != trace::ObjectClass::kGraph) return;
  if (executable) launched_.erase(life.handle());
  auto& table = executable ? executables_ : graphs_;
  const auto parent = graphs_.find(life.parent());
  if (!created || parent == graphs_.end() || parent->second.empty()) table.erase(life.handle());
  else table.insert_or_assign(life.handle(), Kernels(parent->second));
}

const LoggedLaunch* LaunchLog::find(std::uint64_t order) const {
  const auto at = std::ranges::lower_bound(kept_, order, {}, &LoggedLaunch::order);
  return at != kept_.end() && at->order == order ? &*at : nullptr;
}

std::vector<const LoggedLaunch*> LaunchLog::in_flight(std::uint16_t context) const {
  std::vector<const LoggedLaunch*> launches;
  for (auto at = kept_.rbegin(); at != kept_.rend(); ++at) {
    const bool runs =
      at->what == LoggedLaunch::What::kKernel || at->what == LoggedLaunch::What::kGraph;
    const bool of_it = context == 0 || at->context == 0 || at->context == context;
    if (runs && of_it && !is_done(*at)) launches.push_back(&*at);
  }
  return launches;
}

const std::vector<LoggedLaunch>& LaunchLog::kernels_of(std::uint64_t executable) const {
  static const Kernels kNone;
  const auto at = executables_.find(executable);
  return at == executables_.end() ? kNone : at->second;
}

} // namespace gmt
