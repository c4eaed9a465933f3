// SPDX-License-Identifier: Apache-2.0
// The models of one recorded process, beside its heap: names, kernels, devices, NVTX ranges, object
// files, device heaps, memory accesses, gaps in the order of records. Each event goes through
// follow(), then through the heap, then through follow_call(); end() closes the models once there
// is no further event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis/analysis_options.h"
#include "analyzer/analysis/unrecorded_calls.h"
#include "analyzer/coalescing/memory_access.h"
#include "analyzer/detectors/end_of_trace.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/heap/nvtx_ranges.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/facts/clock_pairs.h"
#include "analyzer/trace_reader/facts/executions.h"
#include "analyzer/trace_reader/facts/last_words.h"
#include "analyzer/trace_reader/facts/name_table.h"
#include "analyzer/trace_reader/facts/static_ranges.h"
#include "analyzer/trace_reader/missing_records.h"
#include "trace/guard.h"

namespace gmt {

// What --guard did in a process, from the newest GuardCounts record: counts of allocations, by what
// became of them.
struct GuardUse {
  bool asked = false; // --guard or --guard-sample
  bool sampled = false;
  std::uint64_t fenced = 0, most_bytes = 0, checked = 0, unchecked = 0, reused = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(trace::GuardPlain::kCount)> plain = {};
  std::uint64_t exports = 0; // blocks that another process could not get
};

class ProcessModel final : public ProcessFacts {
public:
  // Reads the logs of kernels and of memory accesses. Stream and options must live as long as the
  // model.
  ProcessModel(const EventStream& stream, const AnalysisOptions& options);
  ProcessModel(const ProcessModel&) = delete;
  ProcessModel& operator=(const ProcessModel&) = delete;

  void follow(const Event& e) {
    if (!is_call(e.kind)) note(e);
    ranges_.follow(e);
    gaps_.follow(e);
    unrecorded_.follow(e);
    now_ = e.order;
    if (e.api >= known_calls_ && e.api != trace::kNoApi) ++nameless_calls_;
  }
  // The same event, behind Heap::apply().
  void follow_call(const Event& e, const Heap& heap) {
    launches_.follow(e, heap);
    if (device_heaps_.any()) device_heaps_.follow(e, heap);
    if (memory_access_.asked()) memory_access_.follow(e, heap, names_);
    if (ranges_.any()) follow_blocks(heap);
  }
  EndOfTrace end(); // once

  bool exit_recorded() const {
    return last_words_.recorded();
  } // a log goes on to the process's last words
  // Whether records that are missing can be distinguished from those that are not written yet
  // (since 1.5).
  bool is_checked_for_gaps() const { return trace_.info.minor >= 5 && !may_be_running_; }
  // Records that were made, and are not in the trace for no reason that it names.
  std::uint64_t missing_records() const;
  const Executions& executions() const { return executions_.executions(); }
  std::uint64_t nameless_calls() const {
    return nameless_calls_;
  } // whose function the trace does not name

  std::string_view api_name(std::uint16_t api) const override { return names_.api_name(api); }
  std::string_view handle_name(std::uint64_t handle) const override {
    return names_.handle_name(handle);
  }
  std::string_view text(std::uint64_t id) const override { return names_.text(id); }
  std::uint64_t realtime_of(std::uint64_t ticks) const override {
    return clock_.realtime_of(ticks);
  }
  double nanoseconds(std::uint64_t ticks) const override { return clock_.nanoseconds(ticks); }

  const Kernel* kernel(std::uint64_t function) const override;
  const DeviceFacts* device(int ordinal) const override;
  Caller caller(StackId stack) const override;
  std::vector<PythonLine> python_lines(StackId stack) const override;
  const Ranges& ranges() const override { return ranges_; }
  const DeviceHeaps& device_heaps() const override { return device_heaps_; }
  const LaunchLog& launches() const override { return launches_; }
  std::span<const CoreDump> core_dumps() const override { return trace_.core_dumps; }
  std::uint64_t fatal_faults() const override { return fatal_faults_; }
  std::span<const PolicyRule> policies() const override { return options_.policies; }
  bool groups_by_range() const override { return options_.group_by_range; }
  std::uint32_t forked_from() const override { return trace_.info.forked_from; }
  bool simulated() const override { return trace_.info.device == "simulated"; }
  bool sees_unwritten_copies() const override { return simulated() && trace_.info.minor >= 6; }
  bool has_kernel_checks() const override { return trace_.asks_for("kernel_checks"); }
  bool is_guarded() const override { return guard_.asked; }
  const GuardUse& guard_use() const { return guard_; }
  const UnrecordedCalls& unrecorded() const { return unrecorded_; }
  bool fences_tensors() const; // --guard tensors
  // Whether an object file is loaded whose path contains these words.
  bool is_loaded(std::string_view words) const;
  bool records_access() const override { return trace_.info.minor >= 4; }
  std::uint64_t lost_so_far() const override;
  std::string_view unseen_user() const override;
  bool is_plain_host_memory(std::uint64_t address) const override {
    const TraceInfo& info = trace_.info;
    return (address >= info.heap_begin && address < info.heap_end) ||
           (address >= info.stack_begin && address < info.stack_end);
  }
  bool is_static_memory(std::uint64_t address) const override {
    return static_ranges_.find(address, now_) != nullptr;
  }
  StaticVariable static_variable(std::uint64_t address) const override;

private:
  void note(const Event& e);
  void note_name(const Event& e);
  void note_kernel(const Event& e);
  void note_device(const Event& e);
  void note_guard(const Event& e);
  void follow_blocks(const Heap& heap);
  std::vector<unsigned> architectures() const; // of the devices seen: 90 for compute capability 9.0

  const EventStream& stream_;
  const TraceDir& trace_;
  const AnalysisOptions& options_;
  NameTable names_;
  ClockPairs clock_;
  Ranges ranges_{names_.texts()};
  StaticRanges static_ranges_;
  std::unordered_map<std::uint64_t, Kernel> kernels_; // by function handle
  std::map<int, DeviceFacts> devices_;                // by ordinal
  DeviceHeaps device_heaps_;
  LaunchLog launches_;
  std::uint64_t fatal_faults_ = 0;
  MemoryAccess memory_access_;
  GuardUse guard_;
  OrderGaps gaps_;
  UnrecordedCalls unrecorded_;
  LastWords last_words_;
  ExecutionFacts executions_;
  bool may_be_running_; // the process may still be writing
  std::size_t known_calls_;
  std::uint64_t nameless_calls_ = 0;
  std::uint64_t now_ = 0; // order of the newest event
};

} // namespace gmt
