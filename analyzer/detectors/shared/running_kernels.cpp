// SPDX-License-Identifier: Apache-2.0
// While no kernel can be running nothing is followed but lives and captures, and programs that
// launch on one stream and wait there pay a few comparisons a call.

#include "analyzer/detectors/shared/running_kernels.h"

#include <algorithm>

#include "trace/other_names.h"

namespace gmt {

using Kind = EventKind;
using trace::MemoryKind;
using trace::SyncOp;
using trace::UseClass;

namespace {

// Nothing but this device's work reaches it.
bool is_device_only(const Block& block) {
  switch (block.memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kArray:
  case MemoryKind::kMipmappedArray: return true;
  case MemoryKind::kStreamOrdered: return block.shape().pool == 0;
  default: return false;
  }
}

// Where a kernel may look for news without having been given anything of the host's.
bool may_be_polled(const Block& block) {
  return (block.flags & kWasArgument) != 0 || block.memory_kind == MemoryKind::kModuleGlobal;
}

} // namespace

void RunningKernels::follow(const Event& e, const Heap& heap) {
  has_contexts_ |= e.context > 1 || heap.cuda().contexts.has_several();
  switch (e.kind) {
  case Kind::kLife: return clock_.on_life(e);
  case Kind::kThread: return clock_.on_thread(e);
  case Kind::kAlloc: return on_alloc(e);
  case Kind::kNote: return on_note(e);
  case Kind::kSync: return on_sync(e, heap);
  default: break;
  }
  if (!e.succeeded() || e.is_nested || e.from_runtime) return;
  if (e.kind == Kind::kLaunch) return on_launch(e, heap, e.launch().stream, false);
  if (may_run()) on_write(e, heap);
}

void RunningKernels::on_sync(const Event& e, const Heap& heap) {
  clock_.on_capture(e, heap);
  if (!e.succeeded() || e.is_nested || e.from_runtime) return;
  const SyncOp op = e.sync().op;
  if (op == SyncOp::kGraphLaunch) return on_launch(e, heap, e.sync().stream, true);
  if (op == SyncOp::kContextSynchronize && !has_contexts_) may_be_unrecorded_ = false;
  if (!may_run()) return;
  flush(heap);
  clock_.on_sync(e, heap);
  forget_done();
}

// Traces before 1.5 distinguish managed variables from others by the call alone.
void RunningKernels::on_alloc(const Event& e) {
  if (has_managed_variables_) return;
  const MemoryKind memory_kind = e.allocation().memory_kind;
  const bool may_be_one =
    memory_kind == MemoryKind::kModuleGlobal || memory_kind == MemoryKind::kManaged;
  has_managed_variables_ = memory_kind == MemoryKind::kManagedVariable ||
                           (may_be_one && facts_.api_name(e.api) == "cuLibraryGetManaged");
}

void RunningKernels::on_note(const Event& e) {
  may_be_unrecorded_ |= facts_.api_name(e.api) == trace::kOtherName_unrecordedCalls;
}

void RunningKernels::on_launch(const Event& e, const Heap& heap, std::uint64_t stream,
                               bool of_graph) {
  if (heap.is_capturing(e, stream)) return;
  if (!is_pending(e, stream)) {
    flush(heap);
    pending_.event = e;
    pending_.event.say(event::Subject{}); // what it points to is gone with it
    pending_.stream = stream;
    pending_.notified = 0;
    pending_.any = true;
  }
  pending_.event.order = e.order;
  if (of_graph || pending_.notified != 0 || is_notified(e, heap)) pending_.notified = e.order;
}

// Threads take turns on most streams. Only the per-thread default stream is another one in each.
bool RunningKernels::is_pending(const Event& e, std::uint64_t stream) const {
  return pending_.any && pending_.event.own_stream(pending_.stream) == e.own_stream(stream) &&
         pending_.event.context == e.context;
}

void RunningKernels::flush(const Heap& heap) {
  if (!pending_.any) return;
  pending_.any = false;
  const Point point = clock_.work(pending_.event, pending_.stream, heap);
  if (launches_.size() <= point.stream) launches_.resize(std::size_t{point.stream} + 1);
  Launches& own = launches_[point.stream];
  if (own.newest.order == 0) ++running_;
  own.newest = point;
  if (pending_.notified == 0) return;
  own.newest_notified = point;
  own.newest_notified.order = pending_.notified;
}

// What the host has waited for is no matter any more.
void RunningKernels::forget_done() {
  for (Launches& on : launches_) {
    if (on.newest.order == 0 || !clock_.is_done(on.newest)) continue;
    on = {};
    --running_;
  }
}

StreamClock::Point RunningKernels::work(const Event& e, std::uint64_t stream, const Heap& heap) {
  flush(heap);
  return clock_.work(e, stream, heap);
}

// Words that are no memory we know may be the host's own, where kernels can read that.
bool RunningKernels::is_notified(const Event& launch, const Heap& heap) const {
  if (!launch.launch().is_scanned || has_managed_variables_) return true;
  const auto accesses = heap.accesses();
  for (const Access& access : accesses) {
    if (!is_device_only(*access.block)) return true;
  }
  const Arguments words = launch.launch().arguments;
  if (words.size() <= accesses.size()) return false; // nearly all
  const auto zeros = static_cast<std::size_t>(std::ranges::count(words, Argument{}));
  if (words.size() - zeros <= accesses.size()) return false;
  const DeviceFacts* device = facts_.device(std::max(0, heap.device_of_context(launch.context)));
  return device != nullptr && device->reads_pageable_memory;
}

// Copies that wait let the host know that the work before them is done; any may be news for a
// kernel that runs.
void RunningKernels::on_write(const Event& e, const Heap& heap) {
  const bool is_use = e.kind == Kind::kUse;
  const bool memory_operation = is_use && e.use().use == UseClass::kMemOp;
  const std::uint64_t stream = named_stream(e);
  if (heap.is_capturing(e, stream) || (is_use && !memory_operation)) return;
  bool host = false, news = memory_operation;
  std::size_t device = 0;
  for (const Access& access : heap.accesses()) {
    news |= access.kind == Access::Kind::kWrite && may_be_polled(*access.block);
    host |= !is_device_only(*access.block);
    ++device;
  }
  host |= device < 2;
  const bool waits = e.kind == Kind::kCopy && !e.copy().is_async && host;
  if (!news && !waits) return;
  if (running_ == 0 && is_pending(e, stream)) { // behind all that run
    pending_.any = !waits;
    return;
  }
  const Point now = work(e, stream, heap);
  if (news && is_any_running(now)) written_ = e.order;
  if (!waits || clock_.is_full()) return;
  clock_.host_waits(now);
  forget_done();
}

bool RunningKernels::is_any_running(Point now) const {
  if (clock_.is_full()) return true;
  return std::ranges::any_of(launches_, [&](const Launches& on) {
    return on.newest.order != 0 && !clock_.is_ordered(on.newest, now);
  });
}

bool RunningKernels::may_write(const Block& block, const Event& copy, const Heap& heap) {
  if (may_be_unrecorded_) return true;
  if (!pending_.any && running_ == 0) return false;
  const Point now = work(copy, named_stream(copy), heap);
  if (clock_.is_full()) return true;
  for (const Launches& on : launches_) {
    if (on.newest_notified.order != 0 && !clock_.is_ordered(on.newest_notified, now)) return true;
  }
  return written_ > block.allocated_at && is_any_running(now);
}

} // namespace gmt
