// SPDX-License-Identifier: Apache-2.0
// One trace as facts and a merged stream of events: what `dump` prints and the analysis works on.
// next() reads the logs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/log_merge.h"
#include "analyzer/trace_reader/missing_records.h"
#include "analyzer/trace_reader/stack_table.h"
#include "analyzer/trace_reader/trace_dir.h"
#include "analyzer/base/text_format.h"

namespace gmt {

// What reading the logs cost in records, all logs together.
struct ReadStats {
  LogStats total;                                                          // `skipped` unused
  std::vector<std::pair<std::filesystem::path, std::string>> skipped_logs; // and why
  std::uint64_t lost() const;
};

using FindStatic = std::function<StaticVariable(const Module&, std::uint64_t address)>;

// What the reader of a report asked of the analysis.
struct AnalysisOptions {
  bool group_by_range = false;
  std::vector<PolicyRule> policies = {};
  std::uint64_t coalescing_floor = MemoryAccess::kDefaultFloor; // bytes
  FindCode find_code = {}; // of kernels that were measured; none: only offsets are known
  FindStatic find_static = {}; // none: variables have no names
};

class EventStream final : public ProcessFacts {
public:
  explicit EventStream(TraceDir trace, AnalysisOptions options = {});

  // The next record in merged order, null after the last; valid until the next call. Besides calls these are
  // what stands before kAlloc in trace/format.h, stacks excepted.
  const Event* next();
  // A record that next() will return soon, n calls after this one, or null; n up to Merge::kAhead.
  const Event* ahead(std::size_t n) const { return merge_->ahead(n); }

  const TraceDir& trace() const { return trace_; }
  StackTable& stacks() { return stacks_; }
  ReadStats stats() const;
  std::uint64_t threads() const; // whose calls have been seen so far

  std::string_view api_name(std::uint16_t api) const override {
    return as_written(trace_.api_name(api));
  }
  std::string_view handle_name(std::uint64_t handle) const override;
  const Ending& ending() const override { return ending_; }
  bool exit_recorded() const { return exit_recorded_; } // a log goes on to the process's last words
  std::uint64_t lost_records() const override;
  std::uint64_t missing_records() const; // made, and not in the trace for no reason that it tells; final at the end
  bool is_judged_for_gaps() const { return trace_.info.minor >= 5 && !may_be_running_; }
  bool is_plain_host_memory(std::uint64_t address) const override {
    const TraceInfo& info = trace_.info;
    return (address >= info.heap_begin && address < info.heap_end) ||
           (address >= info.stack_begin && address < info.stack_end);
  }
  bool is_static_memory(std::uint64_t address) const override { return static_module(address) != nullptr; }
  StaticVariable static_variable(std::uint64_t address) const override;
  bool simulated() const override { return trace_.info.device == "simulated"; }
  bool tells_access() const override { return trace_.info.minor >= 4; }
  std::string_view unseen_user() const override;
  const Kernel* kernel(std::uint64_t function) const override;
  const DeviceFacts* device(int ordinal) const override;
  std::vector<unsigned> architectures() const; // of the devices seen: 90 for compute capability 9.0
  std::string_view text(std::uint64_t id) const override;
  Caller caller(StackId stack) const override;
  const Ranges& ranges() const override { return ranges_; }
  Ranges& ranges() { return ranges_; }
  std::span<const PolicyRule> policies() const override { return options_.policies; }
  const DeviceHeaps& device_heaps() const override { return device_heaps_; }
  DeviceHeaps& device_heaps() { return device_heaps_; } // empty until the analysis reads them
  const MemoryAccess& memory_access() const override { return memory_access_; }
  MemoryAccess& memory_access() { return memory_access_; } // empty until the analysis reads it
  std::uint64_t realtime(const Event& e) const override;
  bool groups_by_range() const override { return options_.group_by_range; }
  double nanoseconds(std::uint64_t ticks) const override {
    return static_cast<double>(ticks) * nanoseconds_per_tick_;
  }

private:
  struct StaticRange {
    std::uint64_t begin, end;
    std::size_t module;      // in trace_.modules
    std::uint64_t reach = 0; // the largest end up to this one
  };
  void find_static_ranges();
  const Module* static_module(std::uint64_t address) const; // as of the newest event
  void note(const Event& e);
  void note_name(const Event& e);
  void note_kernel(const Event& e);
  void note_device(const Event& e);
  void note_exit(const Event& e);
  void note_thread(const Event& e);
  void conclude();

  const AnalysisOptions options_;
  TraceDir trace_;
  StackTable stacks_;
  std::unique_ptr<Merge> merge_;
  std::unordered_map<std::uint64_t, std::string> names_;
  Ranges::Texts texts_;
  Ranges ranges_{texts_};
  OrderGaps gaps_;
  std::unordered_set<std::uint32_t> threads_; // numbers, where logs tell of threads
  static constexpr std::uint32_t kRecentThreads = 64; // events of several threads alternate
  std::vector<std::uint32_t> recent_threads_ = std::vector(kRecentThreads, ~std::uint32_t{0});
  std::unordered_map<std::uint64_t, Kernel> kernels_; // by function handle
  std::map<int, DeviceFacts> devices_;
  DeviceHeaps device_heaps_;
  MemoryAccess memory_access_;
  double nanoseconds_per_tick_ = 0;
  std::uint64_t now_ = 0; // order of the newest event
  std::vector<StaticRange> static_ranges_; // by begin; a place may be several modules', one after the other
  mutable std::uint64_t gap_begin_ = 0, gap_end_ = 0; // between two of them, where the last address was
  Ending ending_;
  Ending last_words_; // from kExit records
  bool exit_recorded_ = false;
  bool may_be_running_ = false; // the process may still be writing
};

// Calls alone: what counts as an event in reports.
constexpr bool is_call(trace::Kind kind) { return kind >= trace::Kind::kAlloc; }

} // namespace gmt
