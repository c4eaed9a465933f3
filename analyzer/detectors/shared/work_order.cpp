// SPDX-License-Identifier: Apache-2.0
// What calls order, see work_order.h.

#include "analyzer/detectors/shared/work_order.h"

#include <span>
#include <string>
#include <string_view>

#include "analyzer/base/text_format.h"
#include "analyzer/heap/heap.h"
#include "trace/other_names.h"

namespace gmt {

using trace::FreeFunction;
using trace::MemoryKind;
using trace::Ordering;
using Kind = EventKind;
using Point = StreamClock::Point;

namespace {

bool uses_only_device(const Heap& heap) {
  for (const Access& access : heap.accesses()) {
    const MemoryKind memory_kind = access.block->memory_kind;
    const bool device = is_device_kind(memory_kind) || memory_kind == MemoryKind::kPoolImport ||
                        memory_kind == MemoryKind::kVmmMapping || memory_kind == MemoryKind::kIpc;
    if (!device || memory_kind == MemoryKind::kManaged) return false;
  }
  return true;
}

bool writes_known_memory(const Heap& heap) {
  for (const Access& access : heap.accesses()) {
    if (access.kind == Access::Kind::kWrite) return true;
  }
  return false;
}

} // namespace

std::optional<std::uint64_t> stream_of_work(const Event& e) {
  switch (e.kind) {
  case Kind::kLaunch:
  case Kind::kCopy:
  case Kind::kSet: return named_stream(e);
  case Kind::kUse:
    switch (e.use().use) {
    case trace::UseClass::kPrefetch:
    case trace::UseClass::kDiscard:
      if (named_stream(e) == 0) return {}; // older traces do not say it
      return named_stream(e);
    case trace::UseClass::kMemOp:
    case trace::UseClass::kMemOpWait: return named_stream(e);
    default: return {};
    }
  default: return {};
  }
}

bool WorkOrder::follow(const Event& e, const Heap& heap, bool is_awake) {
  switch (e.kind) {
  case Kind::kLife: clock_.on_life(e); break;
  case Kind::kSync: clock_.on_capture(e, heap); break;
  case Kind::kUse: clock_.on_graph_use(e, heap); break;
  case Kind::kGraphChange: clock_.on_graph_change(e); return true;
  case Kind::kThread: clock_.on_thread(e); return true;
  default: break;
  }
  if (!is_awake || !e.succeeded() || clock_.is_full()) return true;
  switch (e.kind) {
  case Kind::kLife:
  case Kind::kNote: on_other(e); return true;
  case Kind::kSync:
    if (e.sync().op > trace::SyncOp::kExternalSignal) last_unknown_ = {e.order, e.api};
    clock_.on_sync(e, heap);
    return true;
  case Kind::kUse: clock_.on_use(e, heap); return false;
  default: return false;
  }
}

// Events that name no stream: objects that come and go, and calls whose words are not read.
void WorkOrder::on_other(const Event& e) {
  if (e.is_nested || e.from_runtime) return;
  switch (orderings_.of(e)) {
  case Ordering::kContext: return clock_.host_waits(e);
  case Ordering::kUnknown: last_unknown_ = {e.order, e.via != trace::kNoApi ? e.via : e.api}; break;
  default: break;
  }
}

std::optional<Point> WorkOrder::start(const Event& e, const Heap& heap) {
  const std::optional<std::uint64_t> stream = stream_of_work(e);
  if (e.is_nested || e.from_runtime) return {};
  if (!stream) {
    // Uses that are not checked order the stream all the same.
    const bool of_stream = e.kind == Kind::kUse && orderings_.of(e) == Ordering::kStream;
    if (of_stream && !heap.is_capturing(e, named_stream(e))) clock_.work(e, named_stream(e), heap);
    return {};
  }
  if (heap.is_capturing(e, *stream)) return {}; // it will run when its graph is launched
  if (may_go_on(e, heap)) {                     // it waits for the work before it, and then begins
    Event before = e;
    --before.order;
    clock_.host_waits(clock_.work(before, *stream, heap));
  }
  if (e.kind == Kind::kCopy && is_peer_copy(e, heap)) {
    Event before = e;
    --before.order;
    clock_.all_wait(before);
  }
  const Point work = clock_.work(e, *stream, heap);
  if (clock_.is_full()) return {};
  return work;
}

void WorkOrder::end(const Event& e, Point work, const Heap& heap) {
  if (e.kind == Kind::kCopy) {
    if (copy_waits(e, heap) && !may_go_on(e, heap)) clock_.host_waits(work);
    if (is_peer_copy(e, heap)) clock_.all_wait(e);
  }
  const bool device_set = !heap.accesses().empty() && uses_only_device(heap);
  if (e.kind == Kind::kSet && !e.set().is_async && !device_set) clock_.host_waits(work);
}

// Releases may wait for the device (CUDA programming guide on implicit synchronisation).
void WorkOrder::on_release(const Event& e) {
  const FreeFunction function = e.free().function;
  if (function != FreeFunction::kMemFreeAsync && function != FreeFunction::kHostFree &&
      function != FreeFunction::kGraphFreeNode && function != FreeFunction::kRegionUnregister) {
    clock_.host_waits(e);
  }
}

bool WorkOrder::is_certain_since(std::uint64_t order) {
  if (last_unknown_.order <= order) return true;
  ++unsure_;
  unsure_because_of_ = last_unknown_.api;
  return false;
}

void WorkOrder::report_unchecked(std::string_view kind, Findings& findings) const {
  if (clock_.is_full()) {
    findings.not_checked(
      {std::string(kind), cat({"the program had more than ", format_count(StreamClock::kMaxStreams),
                               " streams at a time: later calls were not checked"})});
  }
  if (unsure_ == 0) return;
  const std::string_view unknown = facts_.api_name(unsure_because_of_);
  if (unknown == trace::kOtherName_unrecordedCalls) {
    findings.not_checked(
      {std::string(kind),
       cat({"calls are not in the trace that may have ordered the streams: ",
            format_plural(unsure_, "use"), " behind them may be ordered or not"})});
    return;
  }
  findings.not_checked(
    {std::string(kind), cat({unknown, " was called, and how it orders work is not known: ",
                             format_plural(unsure_, "use"), " behind it may be ordered or not"})});
}

bool WorkOrder::report_losses(std::string_view kind, const EndOfTrace& end, Findings& findings) {
  if (end.lost_records == 0) return false;
  findings.not_checked(
    {std::string(kind), "records were lost, and any of them may have ordered the streams"});
  return true;
}

// Whether the host knows that the copy is done when its call has returned, or may know it.
bool WorkOrder::copy_waits(const Event& e, const Heap& heap) const {
  const bool to_known = writes_known_memory(heap);
  if (!e.copy().is_async)
    return !(to_known && heap.accesses().size() == 2 && uses_only_device(heap));
  return !to_known; // to pageable host memory
}

bool WorkOrder::may_go_on(const Event& e, const Heap& heap) const {
  if (pageable_ == PageableCopies::kDoneAtReturn || e.kind != Kind::kCopy) return false;
  return is_copy_from_pageable(e, heap);
}

bool is_copy_from_pageable(const Event& e, const Heap& heap) {
  const std::span<const Access> accesses = heap.accesses();
  return !e.copy().is_async && accesses.size() == 1 &&
         accesses.front().kind == Access::Kind::kWrite && uses_only_device(heap);
}

// It is in order with all work of both contexts, earlier and later, and the host does not wait for
// it (cuda.h on cuMemcpyPeer; two H100 with driver 580 do not keep that, but who relies on the
// manual is not to be blamed). Within one device it is a copy on the default stream and no more: an
// H100 with driver 580 orders it with no stream that is not a blocking one.
bool WorkOrder::is_peer_copy(const Event& e, const Heap& heap) const {
  if (e.copy().is_async || facts_.api_name(e.api).find("Peer") == std::string_view::npos)
    return false;
  const std::span<const Access> both = heap.accesses();
  if (both.size() != 2) return true;
  const int from = heap.device_of(*both[0].block), to = heap.device_of(*both[1].block);
  return from < 0 || from != to;
}

} // namespace gmt
