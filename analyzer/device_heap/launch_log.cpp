// SPDX-License-Identifier: Apache-2.0
#include "analyzer/device_heap/launch_log.h"

#include <algorithm>

#include "analyzer/heap/heap.h"
#include "trace/cuda_constants.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using Kind = EventKind;
using trace::SyncOp;

// Sets that surely take no id of a grid, and such that surely take one.
constexpr std::uint64_t kSmallSet = 4096, kLargeSet = 1 << 20;
constexpr std::uint64_t kMostNodes = 1'000'000; // of a graph
constexpr std::size_t kMostEvents = 100'000;    // remembered; then all are forgotten

std::uint16_t written_call(const Event& e) { return e.via != trace::kNoApi ? e.via : e.api; }

void describe(LoggedLaunch& launch, const Event& e, LoggedLaunch::What what) {
  launch.what = what;
  launch.order = e.order;
  launch.stack = e.stack;
  launch.api = written_call(e);
  launch.context = e.context;
}

bool is_legacy(std::uint64_t stream) { return stream <= cuda::kStreamLegacy; }

bool is_blocking(std::uint64_t handle, const Heap& heap) {
  if (is_legacy(handle)) return true; // nearly all
  const Stream* stream = heap.cuda().streams.find(handle);
  return stream == nullptr || stream->is_blocking;
}

// Once a device, and out of the way of each launch.
template <class Value>
[[gnu::noinline]] void make_room(std::vector<Value>& by_device, std::size_t device) {
  by_device.resize(device + 1);
}

} // namespace

void LaunchLog::follow_other(const Event& e, const Heap& heap) {
  if (!e.succeeded() || e.is_nested || e.from_runtime) {
    // A launch in whose call the process died may have been given to the GPU.
    if (e.kind != Kind::kLaunch || !e.in_flight()) return;
  }
  switch (e.kind) {
  case Kind::kLaunch: return on_launch(e, heap);
  case Kind::kSync: return on_sync(e, heap);
  case Kind::kGraphKernel: return on_graph_kernel(e);
  case Kind::kLife: return on_life(e);
  case Kind::kSet: return on_set(e, heap);
  case Kind::kCopy: {
    ++ids_of(e, heap).most;
    const bool waits = !e.copy().is_async && heap.accesses().size() < 2;
    if (waits) wait_for_stream(e, named_stream(e), e.order);
    return;
  }
  case Kind::kFree:
    if (e.free().function == trace::FreeFunction::kMemFree) of(e.context).waited = e.order;
    return;
  default: return;
  }
}

LaunchLog::Ids& LaunchLog::ids_of(const Event& e, const Heap& heap) {
  // Before a process has a second context its calls name none.
  const int of_context = heap.device_of_context(e.context != 0 ? e.context : 1);
  const auto device = static_cast<std::size_t>(std::max(of_context, 0));
  if (ids_.size() <= device) [[unlikely]]
    make_room(ids_, device);
  return ids_[device];
}

void LaunchLog::on_launch(const Event& e, const Heap& heap) {
  const event::Launch& view = e.launch();
  LoggedLaunch& launch = kept_.reuse();
  describe(launch, e, LoggedLaunch::What::kKernel);
  launch.function = view.function;
  launch.executable = 0;
  launch.given.clear();
  launch.grid = view.grid;
  launch.block = view.block;
  launch.stream = e.own_stream(view.stream);
  launch.is_blocking = is_blocking(view.stream, heap);
  note_given(launch, e, heap);
  if (heap.is_capturing(e, view.stream)) {
    launch.what = LoggedLaunch::What::kCaptured;
    launch.least_id = 0;
    launch.most_id = UINT64_MAX;
  } else {
    Ids& ids = ids_of(e, heap);
    launch.least_id = ++ids.least;
    launch.most_id = ++ids.most;
  }
}

void LaunchLog::on_set(const Event& e, const Heap& heap) {
  const event::Set& set = e.set();
  if (set.bytes <= kSmallSet || heap.is_capturing(e, set.stream)) return;
  Ids& ids = ids_of(e, heap);
  ++ids.most;
  if (set.bytes >= kLargeSet && set.shape->height <= 1) ++ids.least;
}

void LaunchLog::note_given(LoggedLaunch& launch, const Event& e, const Heap& heap) const {
  if (!keeps_given_) return;
  for (const Argument word : arguments_of(e)) {
    const std::uint64_t address = word.address();
    const Block* block = heap.find_live(address);
    if (block == nullptr) block = heap.find_freed(address);
    if (block == nullptr) continue;
    const bool known = std::ranges::find(launch.given, block->address) != launch.given.end();
    if (!known && launch.given.size() < kMostGiven) launch.given.push_back(block->address);
  }
}

void LaunchLog::on_life(const Event& e) {
  using trace::LifeOp;
  using trace::ObjectClass;
  const event::Life& life = e.life();
  if (life.object == ObjectClass::kGraphExec) launched_.erase(life.handle);
  const bool of_context =
    life.object == ObjectClass::kContext || life.object == ObjectClass::kPrimaryContext;
  const bool ends =
    life.op == LifeOp::kDestroy || life.op == LifeOp::kReset || life.op == LifeOp::kRelease;
  if (!of_context || !ends) return;
  for (Ids& ids : ids_) ids.least = 0; // where it was the device's last one, ids begin anew
}

void LaunchLog::on_graph_launch(const Event& e, const Heap& heap) {
  const event::Sync& sync = e.sync();
  if (heap.is_capturing(e, sync.stream)) return;
  LoggedLaunch& launch = kept_.add();
  describe(launch, e, LoggedLaunch::What::kGraph);
  launch.executable = sync.executable_graph();
  launch.stream = e.own_stream(sync.stream);
  launch.is_blocking = is_blocking(sync.stream, heap);
  if (!launched_.insert(launch.executable).second) return;
  Ids& ids = ids_of(e, heap);
  ids.least += heap.kernels_of_graph(launch.executable).size();
  ids.most += kMostNodes;
}

void LaunchLog::on_sync(const Event& e, const Heap& heap) {
  const event::Sync& sync = e.sync();
  switch (sync.op) {
  case SyncOp::kGraphLaunch: return on_graph_launch(e, heap);
  case SyncOp::kContextSynchronize: of(e.context).waited = e.order; return;
  case SyncOp::kStreamSynchronize:
  case SyncOp::kStreamQuery: return wait_for_stream(e, sync.stream, e.order);
  case SyncOp::kEventRecord:
    if (events_.size() >= kMostEvents) events_.clear();
    events_[sync.event()] = {sync.stream, e.order};
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
  std::uint64_t& own = waited_for(e.own_stream(handle));
  own = std::max(own, until);
  if (!is_legacy(handle)) return;
  std::uint64_t& legacy = of(e.context).legacy;
  legacy = std::max(legacy, until);
}

bool LaunchLog::is_done(const LoggedLaunch& launch) const {
  // Before a process has a second context its calls name none, or the first one.
  const bool first = launch.context <= 1;
  const std::uint64_t all =
    std::max(known_of(launch.context).waited, first ? known_of(0).waited : 0);
  const auto stream = streams_.find(launch.stream);
  if (all > launch.order || (stream != streams_.end() && stream->second > launch.order))
    return true;
  return launch.is_blocking && known_of(launch.context).legacy > launch.order;
}

void LaunchLog::on_graph_kernel(const Event& e) {
  const event::GraphKernel& view = e.graph_kernel();
  LoggedLaunch& made = kept_.add();
  describe(made, e, LoggedLaunch::What::kNodeMade);
  made.function = view.function;
  made.grid = view.grid;
  made.block = view.block;
}

const LoggedLaunch* LaunchLog::find(std::uint64_t order) const {
  std::size_t first = 0, last = kept_.size();
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (kept_[middle].order < order) first = middle + 1;
    else last = middle;
  }
  return first < kept_.size() && kept_[first].order == order ? &kept_[first] : nullptr;
}

std::vector<const LoggedLaunch*> LaunchLog::in_flight(std::uint16_t context) const {
  std::vector<const LoggedLaunch*> launches;
  for (std::size_t i = kept_.size(); i-- > 0;) {
    const LoggedLaunch& launch = kept_[i];
    const bool runs =
      launch.what == LoggedLaunch::What::kKernel || launch.what == LoggedLaunch::What::kGraph;
    const bool of_it = context == 0 || launch.context == 0 || launch.context == context;
    if (runs && of_it && !is_done(launch)) launches.push_back(&launch);
  }
  return launches;
}

} // namespace gmt
