// SPDX-License-Identifier: Apache-2.0
// Runs one trace through heap and detectors. Detectors are called by interest (Detector::wants), since most events
// concern none of them.

#include "analyzer/analysis/analysis.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "analyzer/analysis/coalescing_gaps.h"
#include "analyzer/analysis/grouping.h"
#include "analyzer/analysis/losses.h"
#include "analyzer/analysis/missing_parts.h"
#include "analyzer/heap/copy_use.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

using trace::Kind;

class Dispatch {
public:
  explicit Dispatch(const ProcessFacts& facts) {
    std::vector<const DetectorInfo*> all = detectors();
    // Not std::ranges's: clang 14 cannot compile its result with libstdc++ 12.
    std::stable_partition(all.begin(), all.end(), [](const DetectorInfo* info) { return !info->comes_last; });
    for (const DetectorInfo* info : all) {
      std::unique_ptr<Detector> detector = info->make(facts);
      if (!detector) continue;
      detector->begin(info->wants, &changed_);
      detectors_.push_back(std::move(detector));
    }
    sort_by_kind();
  }
  Dispatch(const Dispatch&) = delete; // detectors know where changed_ is
  Dispatch& operator=(const Dispatch&) = delete;

  void on_event(const Event& e, std::span<const Judgement> judgements, const Heap& heap, Findings& findings) {
    if (e.result == 0 && judgements.empty()) {
      for (Detector* detector : by_kind_[static_cast<std::size_t>(e.kind)]) {
        detector->on_event(e, judgements, heap, findings);
      }
    } else {
      on_mishap(e, judgements, heap, findings);
    }
    if (changed_) sort_by_kind();
  }

  void finish(const Heap& heap, Findings& findings) {
    for (const auto& detector : detectors_) detector->finish(heap, findings);
  }

private:
  void on_mishap(const Event& e, std::span<const Judgement> judgements, const Heap& heap,
                 Findings& findings) {
    Wants happened = wants(e.kind);
    if (e.result != 0) happened |= kWantsFailures;
    for (const Judgement& j : judgements) {
      if (j.is_mistake()) happened |= kWantsMistakes;
    }
    findings.next_event();
    for (const auto& detector : detectors_) {
      if ((detector->wants() & happened) != 0) detector->on_event(e, judgements, heap, findings);
    }
  }

  void sort_by_kind() {
    changed_ = false;
    for (unsigned kind = 0; kind < by_kind_.size(); ++kind) {
      by_kind_[kind].clear();
      for (const auto& detector : detectors_) {
        const bool wanted = (detector->wants() & wants(static_cast<Kind>(kind))) != 0;
        if (wanted) by_kind_[kind].push_back(detector.get());
      }
    }
  }

  std::vector<std::unique_ptr<Detector>> detectors_;
  std::array<std::vector<Detector*>, 32> by_kind_; // whom a call that went well concerns; kinds are below 32
  bool changed_ = false;                           // a detector asks for other events than before
};

// Neither what was only looked up, nor parts of what is counted already.
bool counts(trace::Family family) { return can_leak(family) && family != trace::Family::kSubAllocation; }

// An address, array or function of 0, in the first word of what is counted.
bool names_nothing(const Event& e) { return trace::RecordView(e).word(trace::AllocWord::address) == 0; }

void count(Totals& totals, const Event& e) {
  if (!is_call(e.kind)) return;
  ++totals.events;
  if (!e.succeeded() || (e.flags & (trace::kFlagNested | trace::kFlagRuntime)) != 0 || names_nothing(e)) return;
  switch (e.kind) {
  case Kind::kAlloc:
    if (!counts(trace::AllocView(e).memory_kind())) break;
    ++totals.allocations;
    totals.allocated_bytes += trace::AllocView(e).bytes();
    break;
  case Kind::kFree:
    if (trace::FreeView(e).function() != trace::FreeFunction::kRegionUnregister) ++totals.frees;
    break;
  case Kind::kCopy:
    ++totals.copies;
    totals.copied_bytes += trace::CopyView(e).bytes();
    break;
  case Kind::kLaunch: ++totals.launches; break;
  default: break;
  }
}

// Where blocks are born, and where most device memory was alive.
void follow_ranges(const Event& e, const Heap& heap, Ranges& ranges, Totals& totals) {
  for (const Touch& touch : heap.touched()) ranges.on_touch(touch);
  if (e.kind == Kind::kAlloc && heap.peak_order() == e.order) totals.peak_range = ranges.text(ranges.here());
}

void finish_totals(Totals& totals, const Heap& heap) {
  totals.peak_bytes = heap.peak_device_bytes();
  totals.peak_order = heap.peak_order();
  heap.for_each_live([&totals](const Block& block) {
    if (!counts(block.family)) return;
    ++totals.live_blocks;
    totals.live_bytes += block.bytes;
  });
}

void add_device_heaps(Totals& totals, const DeviceHeaps& heaps) {
  for (const auto& context : heaps.contexts()) {
    totals.device_heap_calls += context->heap.records();
    totals.device_heap_peak_bytes = std::max(totals.device_heap_peak_bytes, context->heap.peak_bytes());
    totals.device_heap_live_bytes += context->heap.live_bytes();
  }
}

ProcessReport describe(const TraceDir& trace) {
  ProcessReport process;
  process.pid = trace.info.pid;
  process.host = trace.info.host;
  process.executable = trace.info.executable;
  process.arguments = trace.info.arguments;
  process.trace = trace.path.string();
  process.device = trace.info.device;
  process.driver_version = trace.info.driver_version;
  return process;
}

} // namespace

Analysis analyze(const std::filesystem::path& trace, const AnalysisOptions& options) {
  return analyze(open_trace(trace).value(), options);
}

Analysis analyze(const TraceDir& trace, const AnalysisOptions& options) {
  EventStream stream(trace, options);
  Analysis analysis;
  analysis.process = describe(stream.trace());
  Totals& totals = analysis.process.totals;
  Heap heap;
  CopyUse copies;
  Grouping findings(stream.ranges(), options.group_by_range);
  DeviceHeaps& device_heaps = stream.device_heaps();
  device_heaps.read(stream.trace().device_logs);
  MemoryAccess& accesses = stream.memory_access();
  accesses.read(stream.trace().access_logs, stream.trace().asks_for("coalescing") || stream.trace().asks_for("counters"),
                options.coalescing_floor);
  Dispatch detectors(stream);
  const std::size_t names = stream.trace().apis.size();
  std::uint64_t nameless = 0;
  while (const Event* e = stream.next()) {
    if (const Event* later = stream.ahead(8)) heap.expect(*later);
    if (const Event* later = stream.ahead(4)) heap.expect_block(*later);
    count(totals, *e);
    if (e->api >= names && e->api != trace::kNoApi) ++nameless;
    auto judgements = heap.apply(*e);
    if (device_heaps.any()) {
      device_heaps.follow(*e, heap, stream);
      if (device_heaps.misused_by(*e, heap) != 0) judgements = {}; // heap-mixed knows better
    }
    if (accesses.asked()) accesses.follow(*e, heap, stream);
    if (stream.ranges().any()) follow_ranges(*e, heap, stream.ranges(), totals);
    if (e->kind == Kind::kCopy) copies.add(*e, heap);
    detectors.on_event(*e, judgements, heap, findings);
  }
  ReadStats stats = stream.stats();
  // Counts modules, not records: says nothing about the host's calls.
  const std::uint64_t no_ring =
    std::exchange(stats.total.lost[static_cast<std::size_t>(trace::LossCause::kNoRing)], 0);
  if (no_ring != 0) {
    findings.not_checked({"in-kernel malloc",
                          cat({format_plural(no_ring, "module"), " with instrumented kernels could not be given a "
                                                                 "ring in shared memory, or not in time: what "
                                                                 "malloc and free did in them may be missing"})});
  }
  for (std::size_t cause = 0; cause < stats.total.lost.size(); ++cause) {
    if (const std::uint64_t n = stats.total.lost[cause]) {
      analysis.process.lost[std::string(cause_in_words(cause))] += n;
    }
  }
  analysis.process.torn = stats.total.torn;
  analysis.process.damaged = stats.total.damaged;
  analysis.process.ended = stream.ending();
  analysis.process.exit_recorded = stream.exit_recorded();
  totals.threads = stream.threads();
  finish_totals(totals, heap);
  findings.at_end();
  device_heaps.conclude();
  add_device_heaps(totals, device_heaps);
  accesses.join(options.find_code, stream.architectures());
  if (accesses.any()) analysis.process.accesses = access_tables(accesses);
  analysis.process.tables = memory_tables(heap, copies, stream);
  analysis.use_by_stack = use_by_stack(heap);
  detectors.finish(heap, findings);
  explain_losses(analysis.process, stats, findings);
  explain_missing(stream, analysis.process, findings);
  explain_device_losses(device_heaps, heap, analysis.process, findings);
  explain_access_gaps(accesses, stream.trace(), analysis.process, findings);
  explain_gaps(stream.trace(), heap, totals, nameless, findings);
  analysis.findings = findings.take_findings();
  analysis.not_checked = findings.take_not_checked();
  analysis.stacks = std::move(stream.stacks());
  analysis.modules = stream.trace().modules;
  return analysis;
}

} // namespace gmt
