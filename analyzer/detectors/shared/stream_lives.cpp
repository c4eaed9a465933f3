// SPDX-License-Identifier: Apache-2.0
// Which streams, events and graphs StreamClock knows, by their lives: see stream_clock.h.

#include "analyzer/detectors/shared/stream_clock.h"
#include "trace/cuda_constants.h"
#include "trace/object_class.h"

#include <algorithm>
#include <utility>

namespace gmt {

using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;

namespace {

// Default streams have one handle each for all devices and threads.
std::uint64_t key_of(std::uint64_t handle, int device, std::uint32_t thread) {
  constexpr std::uint64_t kDefault = std::uint64_t{1} << 63;
  if (handle > cuda::kStreamPerThread) return handle;
  const auto on = static_cast<std::uint64_t>(device) << 40;
  return handle == cuda::kStreamPerThread ? kDefault | on | (std::uint64_t{thread} + 1)
                                          : kDefault | on;
}

} // namespace

void StreamClock::on_life(const Event& e) {
  if (!e.succeeded()) return;
  const event::Life& life = e.life();
  const LifeOp op = life.op;
  switch (life.object) {
  case ObjectClass::kStream: forget(life.handle); break;
  case ObjectClass::kEvent:
    events_.erase(life.handle);
    if (op == LifeOp::kCreate)
      events_[life.handle].is_shared =
        (life.flags() & cuda::kEventInterprocess) != 0 || is_call(e, "cuIpcOpenEventHandle");
    break;
  case ObjectClass::kContext:
  case ObjectClass::kPrimaryContext:
    if (op != LifeOp::kCreate && op != LifeOp::kRetain) host_waits(e);
    break;
  default: break;
  }
}

void StreamClock::on_capture(const Event& e, const Heap& heap) {
  if (!e.succeeded()) return;
  const event::Sync& sync = e.sync();
  const SyncOp op = sync.op;
  if (!heap.is_capturing(e, sync.stream)) return;
  const bool external = sync.is_external();
  if (op == SyncOp::kEventRecord) {
    if (const auto at = events_.find(sync.event()); at != events_.end()) {
      (external ? at->second.by_graphs : at->second.in_graph) = true;
    }
  } else if (op == SyncOp::kStreamWaitEvent) {
    const auto at = events_.find(sync.event());
    graphs_wait_ |= external || at == events_.end() || at->second.is_shared || !at->second.in_graph;
  } else if (op == SyncOp::kExternalWait) {
    graphs_wait_ = true;
  } else if (op == SyncOp::kHostFunction || op == SyncOp::kExternalSignal) {
    graphs_signal_ = true;
  }
}

// Which graph has the node now may be unknown, so what one does all may do.
void StreamClock::on_graph_change(const Event& e) {
  if (!e.succeeded()) return;
  const event::GraphChange& change = e.graph_change();
  switch (change.op) {
  case trace::GraphOp::kEventRecord:
    if (const auto at = events_.find(change.event()); at != events_.end())
      at->second.by_graphs = true;
    break;
  case trace::GraphOp::kEventWait:
  case trace::GraphOp::kExternalWait: graphs_wait_ = true; break;
  case trace::GraphOp::kHost:
  case trace::GraphOp::kExternalSignal: graphs_signal_ = true; break;
  default: break;
  }
}

// Memory operations of graphs: cuStreamWriteValue and cuStreamWaitValue of a node.
void StreamClock::on_graph_use(const Event& e, const Heap& heap) {
  constexpr std::uint64_t kBatchMemOp = 12; // cuda.h, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
  const event::Use& view = e.use();
  const trace::UseClass use = view.use;
  const bool by_hand = use == trace::UseClass::kGraphNode && view.shape->node_type == kBatchMemOp;
  const bool on_stream = use == trace::UseClass::kMemOp || use == trace::UseClass::kMemOpWait;
  if (!e.succeeded() || !(by_hand || (on_stream && heap.is_capturing(e, view.stream)))) return;
  graphs_wait_ = graphs_signal_ = true;
}

// Where default streams are apart. Contexts of one device count as one unless uncertain work is not
// ordered: fewer streams look unordered that way.
int StreamClock::scope_of(std::uint16_t context, const Heap& heap) const {
  if (context == 0) context = kFirstContext;
  return strict_ ? context : std::max(0, heap.device_of_context(context));
}

void StreamClock::forget(std::uint64_t handle) {
  const auto at = by_key_.find(handle);
  if (at == by_key_.end()) return;
  ended_.push_back({at->second, 0});
  by_key_.erase(at);
}

// Another thread writes to the log: the one before it has ended.
void StreamClock::on_thread(const Event& e) {
  const auto [at, is_new] = thread_of_log_.try_emplace(e.log, e.thread);
  const std::uint32_t before = std::exchange(at->second, e.thread);
  if (is_new || before == e.thread) return;
  for (int device = 0; device <= last_device_; ++device) {
    const std::uint64_t key = key_of(cuda::kStreamPerThread, device, before);
    if (const auto own = by_key_.find(key); own != by_key_.end())
      ended_.push_back({own->second, key});
  }
}

StreamClock::Stream StreamClock::find(const Event& e, std::uint64_t handle, const Heap& heap) {
  const int device = scope_of(e.context, heap);
  last_device_ = std::max(last_device_, device);
  const std::uint64_t key = key_of(handle, device, e.thread);
  if (const auto at = by_key_.find(key); at != by_key_.end()) return at->second;
  if (handle <= cuda::kStreamLegacy) return legacy_of(e, device);
  // Of a stream whose creation went unseen it is uncertain whether it is a blocking one: those are
  // ordered with more.
  const gmt::Stream* made = heap.cuda().streams.find(handle);
  if (made != nullptr)
    return add(e, key, handle, {made->is_blocking, scope_of(made->context, heap)});
  // A blocking one (CUDA's manual, stream synchronization behavior)
  const bool default_one = handle == cuda::kStreamPerThread;
  return add(e, key, handle, {default_one || !strict_, device});
}

StreamClock::Stream StreamClock::legacy_of(const Event& e, int device) {
  const std::uint64_t key = key_of(cuda::kStreamLegacy, device, 0);
  if (const auto at = by_key_.find(key); at != by_key_.end()) return at->second;
  return add(e, key, cuda::kStreamLegacy, {});
}

// The number of a stream that has ended long ago, if there is one.
bool StreamClock::give_out_again() {
  if (strict_ || ended_.empty() || (ended_.size() <= kRest && streams_.size() < kMaxStreams))
    return false;
  const auto at = by_key_.find(ended_.front().key);
  if (at != by_key_.end() && at->second == ended_.front().stream) by_key_.erase(at);
  return true;
}

StreamClock::Stream StreamClock::add(const Event& e, std::uint64_t key, std::uint64_t handle,
                                     const Created& created) {
  const bool legacy = handle <= cuda::kStreamLegacy;
  const Stream barrier = !legacy && created.blocking ? legacy_of(e, created.device) : kNoStream;
  auto number = static_cast<Stream>(streams_.size());
  if (give_out_again()) {
    number = ended_.front().stream;
    ended_.pop_front();
  } else if (streams_.size() < kMaxStreams) {
    streams_.emplace_back();
  } else {
    full_ = true;
    return 0;
  }
  by_key_[key] = number;
  streams_[number] = {};
  streams_[number].handle = handle;
  streams_[number].context = context_of(e);
  streams_[number].barrier = legacy ? number : barrier;
  return number;
}

} // namespace gmt
