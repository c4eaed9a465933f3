// SPDX-License-Identifier: Apache-2.0
// Runs one trace through models and detectors. replay() runs once an event, all else once a trace.

#include "analyzer/analysis/analysis.h"

#include <optional>
#include <utility>

#include "analyzer/analysis/arbiter.h"
#include "analyzer/analysis/dispatch.h"
#include "analyzer/analysis/gaps/gaps.h"
#include "analyzer/analysis/grouping.h"
#include "analyzer/analysis/history/history_recorder.h"
#include "analyzer/analysis/host_crash.h"
#include "analyzer/analysis/losses.h"
#include "analyzer/analysis/missing_parts.h"
#include "analyzer/analysis/owners.h"
#include "analyzer/analysis/process_model.h"
#include "analyzer/analysis/timeline/timeline_recorder.h"
#include "analyzer/analysis/totals.h"
#include "analyzer/base/memory_limit.h"
#include "analyzer/base/text_format.h"
#include "analyzer/heap/copy_use.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/trace_reader/event_stream.h"

namespace gmt {
namespace {

// Names and the report itself take some more: a gigabyte in all.
constexpr std::uint64_t kMostMemory = std::uint64_t{700} << 20;

constexpr int kMostNamedDevices = 64; // more than a machine has

ProcessReport describe(const TraceDir& trace) {
  ProcessReport process;
  process.pid = trace.info.pid;
  process.host = trace.info.host;
  process.executable = trace.info.executable;
  process.arguments = trace.info.arguments;
  process.trace = trace.path.string();
  process.device = trace.info.device;
  process.rank = trace.info.rank;
  process.driver_version = trace.info.driver_version;
  process.began_ns = trace.info.realtime_ns;
  return process;
}

// Several that follow the memory of one heap.
class MemoryWatchList final : public MemoryWatch {
public:
  void add(MemoryWatch& watch) { all_.push_back(&watch); }
  void on_change(const MemoryChange& change) override {
    for (MemoryWatch* watch : all_) watch->on_change(change);
  }
  void on_tensor(const MemoryChange& change) override {
    for (MemoryWatch* watch : all_) watch->on_tensor(change);
  }

private:
  std::vector<MemoryWatch*> all_;
};

class TraceAnalysis {
public:
  TraceAnalysis(const TraceDir& trace, const AnalysisOptions& options)
      : stream_(trace), model_(stream_, options),
        arbiter_(heap_, model_.device_heaps(), stream_.stats().memory_lost_from(),
                 stream_.stats().lost() != 0),
        findings_(model_.ranges(), options.group_by_range), detectors_(model_),
        process_(describe(trace)) {
    stream_.join_python_stacks();
    if (options.history.columns != 0) history_.emplace(options.history, options.span, model_);
    if (options.timeline.slices != 0) timeline_.emplace(options.timeline, options.span, model_);
    if (history_) watches_.add(*history_);
    if (timeline_) watches_.add(*timeline_);
    if (history_ || timeline_) heap_.watch(watches_);
    if (stream_.trace().asks_for("kernel_checks")) heap_.expect_poison();
  }

  void replay();
  void finish();
  Analysis take();

private:
  void leave_out_rest(const Event& first);
  void report_bounds();
  // What the heap will need soon is all over memory: fetched now, it is there in time.
  void prefetch() {
    if (const Event* later = stream_.far_ahead()) heap_.expect(*later);
    if (const Event* later = stream_.near_ahead()) heap_.expect_block(*later);
  }

  EventStream stream_;
  ProcessModel model_;
  Heap heap_;
  Arbiter arbiter_;
  CopyUse copies_;
  Grouping findings_;
  Dispatch detectors_;
  ProcessReport process_;
  std::uint64_t left_out_ = 0; // calls
  std::optional<HistoryRecorder> history_;
  std::optional<TimelineRecorder> timeline_;
  MemoryWatchList watches_;
};

void TraceAnalysis::replay() {
  const MemoryLimit limit(kMostMemory);
  while (const Event* e = stream_.next()) {
    if (limit.is_reached()) return leave_out_rest(*e);
    prefetch();
    model_.follow(*e);
    count(process_.totals, *e);
    if (history_) history_->follow(*e, heap_);
    if (timeline_) timeline_->follow(*e);
    findings_.at(*e);
    const std::span<const Verdict> verdicts = heap_.apply(*e);
    model_.follow_call(*e, heap_);
    if (model_.ranges().any()) note_peak_range(process_.totals, *e, heap_, model_.ranges());
    if (e->kind == EventKind::kCopy) copies_.add(*e, heap_);
    detectors_.on_event(*e, arbiter_.settle(*e, verdicts), heap_, findings_);
  }
  findings_.at_end();
}

// What they would have done is unknown: what is alive may be freed by one of them.
void TraceAnalysis::leave_out_rest(const Event& first) {
  left_out_ = is_call(first.kind) ? 1 : 0;
  while (const Event* e = stream_.next()) left_out_ += is_call(e->kind) ? 1 : 0;
  findings_.at_end();
  const std::string why = cat({"the last calls of the trace, ", std::to_string(left_out_),
                               ", are left out: what all of them change would take more than ",
                               format_bytes(kMostMemory), " of this report's memory"});
  findings_.not_checked({"leak", why});
  findings_.not_checked({"memory findings", why});
}

void TraceAnalysis::report_bounds() {
  for (const std::string& part : stream_.trace().left_out)
    findings_.not_checked({"parts of the trace", cat({"left out: ", part})});
  if (const std::uint64_t merged = stream_.stacks().merged())
    findings_.not_checked(
      {"call stacks", cat({format_plural(merged, "call stack"), merged == 1 ? " is" : " are",
                           " known by the outermost frames alone: ",
                           std::to_string(StackTable::kMostStacks), " others came before"})});
  findings_.report_left_out();
}

void TraceAnalysis::finish() {
  EndOfTrace end = model_.end();
  end.crash = read_crash(stream_);
  process_.ended = end.ending;
  process_.exit_recorded = model_.exit_recorded();
  const std::string cut = log_that_was_cut(process_, stream_);
  // What was freed there is not known, nor what was used.
  if (left_out_ != 0 || !cut.empty() || model_.missing_records() != 0) end.ending = {};
  ReadStats stats = stream_.stats();
  report_lost_rings(stats, findings_);
  add_losses(stats, process_);
  process_.totals.threads = stream_.threads();
  finish_totals(process_.totals, heap_, end);
  model_.unrecorded().add_to(process_.totals);
  if (end.memory_access.any()) process_.accesses = access_tables(end.memory_access);
  if (model_.executions().any) {
    process_.executions = model_.executions();
    for (Executions::LeftOut& one : process_.executions->left_out)
      one.kernel = demangle(one.kernel);
  }
  process_.tables = memory_tables(heap_, copies_, model_);
  for (int ordinal = 0; ordinal < kMostNamedDevices; ++ordinal) {
    const DeviceFacts* device = model_.device(ordinal);
    if (device != nullptr && !device->name.empty()) process_.devices.push_back(device->name);
  }
  detectors_.finish(end, heap_, findings_);
  report_left_out(process_, findings_);
  report_losses(process_, stats, cut, findings_);
  report_missing(model_, stream_.trace(), process_, findings_);
  report_device_losses(end.device_contexts, heap_, process_, findings_);
  report_access_gaps(end.memory_access, stream_.trace(), process_, findings_);
  report_python(stream_.trace(), findings_);
  report_core_dump(stream_.trace(), heap_.sticky_error(), findings_);
  report_guard_gaps(model_, heap_, findings_);
  report_tensor_gaps(model_, heap_, findings_);
  report_kernel_check_gaps(model_.executions(), findings_);
  report_race_gaps(model_.executions(), findings_);
  model_.unrecorded().report(findings_);
  report_gaps(stream_.trace(), heap_, process_.totals, model_.nameless_calls(), findings_);
  report_bounds();
}

Analysis TraceAnalysis::take() {
  std::vector<StackUse> uses = use_by_stack(heap_);
  if (history_) process_.history = history_->finish(uses, heap_);
  if (timeline_) process_.timeline = timeline_->finish();
  std::vector<Finding> findings = findings_.take_findings();
  excuse_cut_stacks(findings, stream_.trace().modules);
  return {.process = std::move(process_),
          .findings = std::move(findings),
          .not_checked = findings_.take_not_checked(),
          .use_by_stack = std::move(uses),
          .stacks = stream_.take_stacks(),
          .modules = stream_.trace().modules,
          .has_kernel_checks = model_.has_kernel_checks()};
}

} // namespace

Analysis analyze(const std::filesystem::path& trace, const AnalysisOptions& options) {
  return analyze(open_trace(trace).value(), options);
}

Analysis analyze(const TraceDir& trace, const AnalysisOptions& options) {
  TraceAnalysis analysis(trace, options);
  analysis.replay();
  analysis.finish();
  return analysis.take();
}

} // namespace gmt
