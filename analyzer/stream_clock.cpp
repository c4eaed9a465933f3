// SPDX-License-Identifier: Apache-2.0
// The happens-before relation of stream_clock.h.
//
// The legacy stream waits for all blocking streams of its device, and they for it, at every piece of its
// work. Its entry in a clock therefore stands for theirs too (Point::barrier), and what blocking streams
// learn from events is collected for it, so that no call walks over streams. Numbers of destroyed streams are
// given out again: that can only make more work look ordered.

#include "analyzer/stream_clock.h"

#include <algorithm>

#include "analyzer/words.h"

namespace gmt {
namespace {

using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;

constexpr std::uint64_t kLegacyStream = 1,
                        kPerThreadStream = 2; // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD (cuda.h)
constexpr std::uint64_t kNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
constexpr std::uint64_t kInterprocess = 4;    // CU_EVENT_INTERPROCESS

// Contexts of one device count as one: fewer streams look unordered that way.
// Calls that name no context are the first one's.
int device_of(const Event& e, const Heap& heap) {
  return std::max(0, heap.device_of_context(std::max<std::uint16_t>(e.context, 1)));
}

// Default streams have one handle each for all devices and threads.
std::uint64_t key_of(std::uint64_t handle, int device, std::uint32_t thread) {
  constexpr std::uint64_t kDefault = std::uint64_t{1} << 63;
  if (handle > kPerThreadStream) return handle;
  const auto on = static_cast<std::uint64_t>(device) << 40;
  return handle == kPerThreadStream ? kDefault | on | (std::uint64_t{thread} + 1) : kDefault | on;
}

} // namespace

void StreamClock::Clock::raise(Stream stream, std::uint64_t order) {
  if (of.size() <= stream) of.resize(std::size_t{stream} + 1);
  of[stream] = std::max(of[stream], order);
}

void StreamClock::Clock::join(const Clock& other) {
  all = std::max(all, other.all);
  if (of.size() < other.of.size()) of.resize(other.of.size());
  for (std::size_t i = 0; i < other.of.size(); ++i) of[i] = std::max(of[i], other.of[i]);
}

bool StreamClock::Clock::covers(const Point& point) const {
  return point.order <= all || point.order <= at(point.stream) ||
         (point.barrier != kNoStream && point.order <= at(point.barrier));
}

// ---- lives

void StreamClock::on_life(const Event& e, const Heap& heap) {
  if (!e.succeeded()) return;
  const auto op = static_cast<LifeOp>(e.p(2));
  switch (static_cast<ObjectClass>(e.p(1))) {
  case ObjectClass::kStream:
    forget(e.p(0));
    if (op == LifeOp::kCreate) created_[e.p(0)] = {(e.p(3) & kNonBlocking) == 0, device_of(e, heap)};
    break;
  case ObjectClass::kEvent:
    events_.erase(e.p(0));
    if (op == LifeOp::kCreate) events_[e.p(0)].is_shared = (e.p(3) & kInterprocess) != 0;
    break;
  case ObjectClass::kGraph: captured_graphs_.erase(e.p(0)); break;
  case ObjectClass::kGraphExec:
    plain_execs_.erase(e.p(0));
    if (op == LifeOp::kCreate && captured_graphs_.contains(e.p(3))) plain_execs_.insert(e.p(0));
    break;
  case ObjectClass::kContext:
  case ObjectClass::kPrimaryContext:
    if (op != LifeOp::kCreate && op != LifeOp::kRetain) host_waits(e);
    break;
  default: break;
  }
}

void StreamClock::on_capture(const Event& e) {
  const bool ended = e.succeeded() && e.p(2) == static_cast<std::uint64_t>(SyncOp::kEndCapture);
  if (ended && e.p(1) != 0) captured_graphs_.insert(e.p(1));
}

void StreamClock::forget(std::uint64_t handle) {
  created_.erase(handle);
  const auto at = by_key_.find(handle);
  if (at == by_key_.end()) return;
  free_.push_back(at->second);
  by_key_.erase(at);
}

// A stream whose birth went unseen is taken for a blocking one: those are ordered with more.
StreamClock::Stream StreamClock::find(const Event& e, std::uint64_t handle, const Heap& heap) {
  const int device = device_of(e, heap);
  const std::uint64_t key = key_of(handle, device, e.thread);
  if (const auto at = by_key_.find(key); at != by_key_.end()) return at->second;
  if (handle <= kLegacyStream) return legacy_of(device);
  const auto at = created_.find(handle);
  return add(key, handle, false, at != created_.end() ? at->second : Created{true, device});
}

StreamClock::Stream StreamClock::legacy_of(int device) {
  const std::uint64_t key = key_of(kLegacyStream, device, 0);
  if (const auto at = by_key_.find(key); at != by_key_.end()) return at->second;
  return add(key, kLegacyStream, true, {});
}

StreamClock::Stream StreamClock::add(std::uint64_t key, std::uint64_t handle, bool legacy,
                                     const Created& created) {
  const Stream barrier = !legacy && created.blocking ? legacy_of(created.device) : kNoStream;
  if (free_.empty()) {
    if (streams_.size() >= kMaxStreams) {
      full_ = true;
      return 0;
    }
    free_.push_back(static_cast<Stream>(streams_.size()));
    streams_.emplace_back();
  }
  const Stream number = free_.back();
  free_.pop_back();
  by_key_[key] = number;
  streams_[number] = {};
  streams_[number].handle = handle;
  streams_[number].barrier = legacy ? number : barrier;
  return number;
}

// ---- work and order

StreamClock::Point StreamClock::work(const Event& e, std::uint64_t handle, const Heap& heap) {
  const Stream number = find(e, handle, heap);
  State& s = streams_[number];
  if (s.barrier == number) {
    s.clock.join(s.learnt);
    s.learnt = {};
    s.newest = e.order;
    s.clock.raise(number, e.order);
  } else if (s.barrier != kNoStream && streams_[s.barrier].newest > s.seen) {
    s.clock.join(streams_[s.barrier].clock);
    s.seen = streams_[s.barrier].newest;
  }
  return {number, s.barrier, e.order};
}

bool StreamClock::waits_outside(const State& s) const {
  return s.waits_outside || (s.barrier != kNoStream && streams_[s.barrier].waits_outside);
}

StreamClock::Clock StreamClock::after(Point work) const {
  const State& s = streams_[work.stream];
  Clock clock = s.clock;
  clock.raise(work.stream, work.order);
  if (waits_outside(s)) clock.all = work.order;
  return clock;
}

void StreamClock::host_waits(Point work) { host_.join(after(work)); }

bool StreamClock::is_ordered(Point earlier, Point later) const {
  const State& s = streams_[later.stream];
  return earlier.stream == later.stream || waits_outside(s) || s.clock.covers(earlier) || is_done(earlier);
}

bool StreamClock::is_done(Point earlier) const { return host_.covers(earlier); }

void StreamClock::learn(Stream stream, const Clock& clock) {
  State& s = streams_[stream];
  s.clock.join(clock);
  if (s.barrier != kNoStream && s.barrier != stream) streams_[s.barrier].learnt.join(clock);
}

void StreamClock::on_sync(const Event& e, const Heap& heap) {
  if (!e.succeeded()) return;
  switch (static_cast<SyncOp>(e.p(2))) {
  case SyncOp::kStreamSynchronize:
  case SyncOp::kStreamQuery:
  // A host function may tell any thread that the work before it is done.
  case SyncOp::kHostFunction:
    if (!heap.is_capturing(e.p(0))) host_waits(work(e, e.p(0), heap));
    break;
  case SyncOp::kContextSynchronize: host_waits(e); break;
  case SyncOp::kEventRecord: on_record(e, heap); break;
  case SyncOp::kStreamWaitEvent: on_wait(e, heap); break;
  case SyncOp::kEventSynchronize:
  case SyncOp::kEventQuery: on_event_done(e); break;
  case SyncOp::kExternalWait: {
    const Stream stream = work(e, e.p(0), heap).stream;
    State& s = streams_[stream];
    s.waits_outside = true;
    if (s.barrier != kNoStream) streams_[s.barrier].waits_outside = true;
    break;
  }
  case SyncOp::kGraphLaunch: {
    const Stream stream = work(e, e.p(0), heap).stream;
    Clock everything;
    everything.all = e.order;
    // A graph that was built node by node may wait for events.
    if (graphs_wait_ || !plain_execs_.contains(e.p(1))) learn(stream, everything);
    break;
  }
  case SyncOp::kGraphUpload: work(e, e.p(0), heap); break;
  case SyncOp::kBeginCapture:
  case SyncOp::kEndCapture: break; // see on_capture()
  }
}

void StreamClock::on_record(const Event& e, const Heap& heap) {
  const auto at = events_.find(e.p(1));
  if (at == events_.end()) return; // of another process: waiting for it orders with everything
  at->second.in_graph = heap.is_capturing(e.p(0));
  if (!at->second.in_graph) at->second.clock = after(work(e, e.p(0), heap));
}

void StreamClock::on_wait(const Event& e, const Heap& heap) {
  const auto at = events_.find(e.p(1));
  const bool unknown = at == events_.end() || at->second.is_shared;
  if (heap.is_capturing(e.p(0))) {
    graphs_wait_ |= unknown || !at->second.in_graph;
    return;
  }
  const Stream stream = work(e, e.p(0), heap).stream;
  Clock everything;
  everything.all = e.order;
  // An event that was never recorded orders nothing (cuda.h on cuStreamWaitEvent).
  learn(stream, unknown || at->second.in_graph ? everything : at->second.clock);
}

void StreamClock::on_event_done(const Event& e) {
  const auto at = events_.find(e.p(1));
  if (at == events_.end() || at->second.is_shared || at->second.in_graph) return host_waits(e);
  host_.join(at->second.clock);
}

// cuStreamWriteValue tells whoever polls the memory that the work before it is done; cuStreamWaitValue waits
// for a value that may come from anywhere.
void StreamClock::on_use(const Event& e, const Heap& heap) {
  const auto use = static_cast<trace::UseClass>(e.p(2));
  if (!e.succeeded() || (use != trace::UseClass::kMemOp && use != trace::UseClass::kMemOpWait)) return;
  const Point point = work(e, e.p(3), heap);
  State& s = streams_[point.stream];
  s.waits_outside = true;
  if (s.barrier != kNoStream) streams_[s.barrier].waits_outside = true;
  host_waits(point);
}

std::string StreamClock::name(Stream stream) const {
  const std::uint64_t handle = streams_[stream].handle;
  if (handle == kLegacyStream) return "the default stream";
  if (handle == kPerThreadStream) return "the thread's default stream";
  return cat({"stream ", format_address(handle)});
}

} // namespace gmt
