// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/totals.h"

#include <algorithm>

namespace gmt {
namespace {

using Kind = EventKind;

// Neither what was only looked up, nor parts of what is counted already.
bool counts(trace::MemoryKind memory_kind) {
  return can_leak(memory_kind) && memory_kind != trace::MemoryKind::kSubAllocation;
}

// An address, array or function of 0.
bool names_nothing(const Event& e) { return e.subject().first == 0; }

} // namespace

void count(Totals& totals, const Event& e) {
  if (!is_call(e.kind)) return;
  ++totals.events;
  const bool is_own = !e.is_nested && !e.from_runtime;
  if (e.kind == Kind::kLaunch && e.in_flight() && is_own) ++totals.unfinished_launches;
  if (!e.succeeded() || !is_own || names_nothing(e)) return;
  switch (e.kind) {
  case Kind::kAlloc:
    if (!counts(e.allocation().memory_kind)) break;
    ++totals.allocations;
    totals.allocated_bytes += e.allocation().bytes;
    break;
  case Kind::kFree:
    if (e.free().function != trace::FreeFunction::kRegionUnregister) ++totals.frees;
    break;
  case Kind::kCopy:
    ++totals.copies;
    totals.copied_bytes += e.copy().bytes;
    break;
  case Kind::kLaunch: ++totals.launches; break;
  default: break;
  }
}

void note_peak_range(Totals& totals, const Event& e, const Heap& heap, const Ranges& ranges) {
  if (e.kind == Kind::kAlloc && heap.peak_order() == e.order)
    totals.peak_range = ranges.text(ranges.here());
}

void finish_totals(Totals& totals, const Heap& heap, const EndOfTrace& end) {
  totals.peak_bytes = heap.peak_device_bytes();
  totals.peak_order = heap.peak_order();
  heap.for_each_live([&totals](const Block& block) {
    if (!counts(block.memory_kind) || !has_memory(block)) return;
    ++totals.live_blocks;
    totals.live_bytes += block.bytes;
  });
  for (const auto& context : end.device_contexts) {
    totals.device_heap_calls += context->heap.records();
    totals.device_heap_peak_bytes =
      std::max(totals.device_heap_peak_bytes, context->heap.peak_bytes());
    totals.device_heap_live_bytes += context->heap.live_bytes();
  }
}

} // namespace gmt
