// SPDX-License-Identifier: Apache-2.0
// The happens-before relation of stream_clock.h.
//
// The legacy stream waits for all blocking streams of its device, and they for it, at every piece
// of its work. Its entry in a clock therefore stands for theirs too (Point::barrier), and what
// blocking streams learn from events is collected for it, so that no call walks over streams.
// Numbers of destroyed streams are given out again: that can only make more work look ordered.

#include "analyzer/detectors/shared/stream_clock.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/text_format.h"
#include "trace/cuda_constants.h"

namespace gmt {
namespace {

using trace::SyncOp;

} // namespace

void StreamClock::Clock::raise(Stream stream, std::uint64_t order) {
  if (of.size() <= stream) of.resize(std::size_t{stream} + 1);
  of[stream] = std::max(of[stream], order);
}

void StreamClock::Clock::join(const Clock& other) {
  all = std::max(all, other.all);
  perhaps = std::max(perhaps, other.perhaps);
  if (of.size() < other.of.size()) of.resize(other.of.size());
  for (std::size_t i = 0; i < other.of.size(); ++i) of[i] = std::max(of[i], other.of[i]);
}

bool StreamClock::Clock::is_sure(const Point& point) const {
  return point.order <= all || point.order <= at(point.stream) ||
         (point.barrier != kNoStream && point.order <= at(point.barrier));
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
  s.last = e.order;
  return {number, s.barrier, e.order};
}

bool StreamClock::waits_outside(const State& s) const {
  if (strict_) return false;
  return s.waits_outside || (s.barrier != kNoStream && streams_[s.barrier].waits_outside);
}

// Into a clock that is there already: a copy that waits must not copy a clock.
void StreamClock::join_after(Point work, Clock& clock) const {
  const State& s = streams_[work.stream];
  clock.join(s.clock);
  clock.raise(work.stream, work.order);
  if (has_context_waits_) clock.join(contexts_wait_for_);
  if (waits_outside(s)) clock.all = std::max(clock.all, work.order);
}

void StreamClock::host_waits(Point work) { join_after(work, host_); }

bool StreamClock::is_ordered(Point earlier, Point later) const {
  const State& s = streams_[later.stream];
  return earlier.stream == later.stream || waits_outside(s) || s.clock.covers(earlier) ||
         is_done(earlier) || (has_context_waits_ && contexts_wait_for_.covers(earlier));
}

std::shared_ptr<const StreamClock::Past> StreamClock::past(Point newest) const {
  const State& s = streams_[newest.stream];
  auto past = std::make_shared<Past>();
  past->clock = s.clock;
  past->clock.join(host_);
  if (has_context_waits_) past->clock.join(contexts_wait_for_);
  if (waits_outside(s)) past->clock.all = std::max(past->clock.all, newest.order);
  return past;
}

bool StreamClock::is_ordered(Point earlier, const Past& of_later) {
  return of_later.clock.covers(earlier);
}

bool StreamClock::is_perhaps(Point earlier, Point later) const {
  const State& s = streams_[later.stream];
  const bool is_sure = earlier.stream == later.stream || waits_outside(s) ||
                       s.clock.is_sure(earlier) || host_.is_sure(earlier) ||
                       (has_context_waits_ && contexts_wait_for_.is_sure(earlier));
  return !is_sure && is_ordered(earlier, later);
}

bool StreamClock::is_perhaps(Point earlier, const Past& of_later) {
  return !of_later.clock.is_sure(earlier) && of_later.clock.covers(earlier);
}

bool StreamClock::is_done(Point earlier) const { return host_.covers(earlier); }

void StreamClock::learn(Stream stream, const Clock& clock) {
  State& s = streams_[stream];
  s.clock.join(clock);
  if (s.barrier != kNoStream && s.barrier != stream) streams_[s.barrier].learnt.join(clock);
}

void StreamClock::on_sync(const Event& e, const Heap& heap) {
  if (!e.succeeded()) return;
  const event::Sync& sync = e.sync();
  switch (sync.op) {
  case SyncOp::kStreamSynchronize:
  case SyncOp::kStreamQuery:
    if (!heap.is_capturing(e, sync.stream)) host_waits(work(e, sync.stream, heap));
    break;
  case SyncOp::kHostFunction:
  case SyncOp::kExternalSignal: signal(e, sync.stream, heap); break;
  case SyncOp::kContextSynchronize: on_context_synchronized(e); break;
  case SyncOp::kEventRecord: on_record(e, heap); break;
  case SyncOp::kStreamWaitEvent: on_wait(e, heap); break;
  case SyncOp::kElapsedTime: on_event_done(e, sync.first_event()); [[fallthrough]];
  case SyncOp::kEventSynchronize:
  case SyncOp::kEventQuery: on_event_done(e, sync.event()); break;
  case SyncOp::kContextRecord:
    if (const auto at = events_.find(sync.event()); at != events_.end()) {
      at->second.in_graph = false;
      at->second.clock = {};
      if (!strict_) at->second.clock.all = e.order;
    }
    break;
  case SyncOp::kContextWait: on_context_wait(e); break;
  case SyncOp::kExternalWait: {
    const Stream stream = work(e, sync.stream, heap).stream;
    State& s = streams_[stream];
    s.waits_outside = true;
    if (s.barrier != kNoStream) streams_[s.barrier].waits_outside = true;
    break;
  }
  case SyncOp::kGraphLaunch: {
    const Point launch = work(e, sync.stream, heap);
    put_behind_earlier_launches(launch, sync.executable_graph());
    if (strict_) break;
    // A graph that was built node by node may wait for events, which older traces do not say. A
    // captured one's order is its stream's.
    Clock everything;
    everything.all = e.order;
    const bool is_known = sees_graph_nodes_ || heap.is_graph_of_capture(sync.executable_graph());
    if (graphs_wait_ || !is_known) learn(launch.stream, everything);
    if (graphs_signal_) host_waits(launch);
    break;
  }
  case SyncOp::kGraphUpload: work(e, sync.stream, heap); break;
  case SyncOp::kBeginCapture:
  case SyncOp::kEndCapture: break; // see on_capture()
  default:
    if (!strict_) host_waits(e);
    break; // of a later version of the format
  }
}

// Whatever streams they have (cuda.h on cuGraphLaunch).
void StreamClock::put_behind_earlier_launches(Point launch, std::uint64_t executable) {
  Clock& earlier = launches_[executable];
  learn(launch.stream, earlier);
  join_after(launch, earlier);
}

// A host function, or any reader of the memory, may let any thread know that the work before it is
// done.
void StreamClock::signal(const Event& e, std::uint64_t handle, const Heap& heap) {
  if (heap.is_capturing(e, handle)) return;
  const Point point = work(e, handle, heap);
  if (!strict_) host_waits(point);
}

void StreamClock::on_record(const Event& e, const Heap& heap) {
  const event::Sync& sync = e.sync();
  const auto at = events_.find(sync.event());
  if (at == events_.end() || heap.is_capturing(e, sync.stream))
    return; // of another process; see on_capture()
  at->second.in_graph = false;
  Clock recorded;
  const Stream stream = find(e, sync.stream, heap);
  const std::uint64_t launch = streams_[stream].last;
  Point done = work(e, sync.stream, heap);
  if (is_call(e, "cuLaunchKernelEx") && launch != 0 && !strict_) { // by an attribute
    done.order = launch - 1; // the event may come before the kernel has ended
    recorded.perhaps = e.order;
  }
  join_after(done, recorded);
  at->second.clock = std::move(recorded);
}

void StreamClock::on_wait(const Event& e, const Heap& heap) {
  const event::Sync& sync = e.sync();
  if (heap.is_capturing(e, sync.stream)) return;
  const auto at = events_.find(sync.event());
  const Stream stream = work(e, sync.stream, heap).stream;
  // An event that was never recorded orders nothing (cuda.h on cuStreamWaitEvent).
  if (at != events_.end() && !is_unknown(at->second)) return learn(stream, at->second.clock);
  if (strict_) return;
  Clock everything;
  everything.perhaps = e.order;
  learn(stream, everything);
}

void StreamClock::on_event_done(const Event& e, std::uint64_t event) {
  const auto at = events_.find(event);
  if (at != events_.end() && !is_unknown(at->second)) return host_.join(at->second.clock);
  if (!strict_) host_.perhaps = e.order;
}

// Streams of other contexts count as waiting too.
void StreamClock::on_context_wait(const Event& e) {
  if (strict_) return;
  const auto at = events_.find(e.sync().event());
  has_context_waits_ = true;
  if (at != events_.end() && !is_unknown(at->second))
    return contexts_wait_for_.join(at->second.clock);
  contexts_wait_for_.perhaps = e.order;
}

void StreamClock::all_wait(const Event& e) {
  has_context_waits_ = true;
  contexts_wait_for_.all = e.order;
}

void StreamClock::on_context_synchronized(const Event& e) {
  if (!strict_) return host_waits(e);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].context == context_of(e)) host_.raise(static_cast<Stream>(i), e.order);
  }
}

// cuStreamWriteValue signals, cuStreamWaitValue waits for a value that may come from anywhere.
void StreamClock::on_use(const Event& e, const Heap& heap) {
  const trace::UseClass use = e.use().use;
  if (!e.succeeded() || (use != trace::UseClass::kMemOp && use != trace::UseClass::kMemOpWait))
    return;
  const Point point = work(e, e.use().stream, heap);
  State& s = streams_[point.stream];
  s.waits_outside = true;
  if (s.barrier != kNoStream) streams_[s.barrier].waits_outside = true;
  if (!strict_) host_waits(point);
}

std::string StreamClock::name(Stream stream) const {
  const std::uint64_t handle = streams_[stream].handle;
  if (handle == cuda::kStreamLegacy) return "the default stream";
  if (handle == cuda::kStreamPerThread) return "the thread's default stream";
  return cat({"stream ", format_address(handle)});
}

} // namespace gmt
