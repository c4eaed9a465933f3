// SPDX-License-Identifier: Apache-2.0
// What a report says of one process beside its findings: how it ended, what was lost, how much
// memory it used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/history/memory_history.h"
#include "analyzer/analysis/memory_tables.h"
#include "analyzer/analysis/stack_memory.h"
#include "analyzer/analysis/timeline/timeline.h"
#include "analyzer/coalescing/access_tables.h"
#include "analyzer/model/process.h"
#include "analyzer/trace_reader/facts/executions.h"

namespace gmt {

struct Totals {
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0; // all allocations added up
  std::uint64_t frees = 0;
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t launches = 0;
  std::uint64_t unfinished_launches = 0; // that had not returned when the process ended
  // Device memory alive at the peak (host kinds of memory not counted)
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_order = 0;
  std::string peak_range; // NVTX ranges that were open then, "epoch 2 / forward"; empty if none
  std::uint64_t live_bytes = 0; // alive at the end, all kinds of memory that can leak
  std::uint64_t live_blocks = 0;
  // What kernels did with malloc and free, in none of the above: calls, the most that one context's
  // heap held, and the end.
  std::uint64_t device_heap_calls = 0, device_heap_peak_bytes = 0, device_heap_live_bytes = 0;
};

struct ProcessReport {
  std::uint32_t pid = 0;
  std::string host;
  std::string executable;
  std::vector<std::string> arguments; // argv, the program's name first
  std::string trace;                  // path of the trace directory
  std::string device;                 // "real" or "simulated"
  // Its number among the processes that mpirun, torchrun or the like started
  std::optional<std::uint32_t> rank = {};
  std::string driver_version;            // "13.0", empty if unknown
  std::uint64_t began_ns = 0;            // nanoseconds since 1970, 0 if unknown
  std::vector<std::string> devices = {}; // names of those that it used, by their numbers
  Ending ended;
  bool exit_recorded = false; // a log goes on to the process's last words: its end is not cut off
  Totals totals;
  MemoryTables tables;
  std::optional<AccessTables> accesses = {}; // if something was measured
  std::optional<Executions> executions = {}; // if kernels ran on the simulated device
  std::vector<StackMemory> stacks = {};      // if they were asked for
  std::optional<MemoryHistory> history = {}; // if it was asked for
  std::optional<Timeline> timeline = {};     // if it was asked for
  // By cause, in words: "disk full or file size limit", ...
  std::map<std::string, std::uint64_t> lost;
  std::uint64_t torn = 0;    // slots reserved and never finished
  std::uint64_t damaged = 0; // records whose bytes make no sense
  std::string missing;       // which part of the trace is gone, in a sentence; empty if none

  std::uint64_t lost_events() const {
    std::uint64_t sum = damaged;
    for (const auto& [cause, records] : lost) sum += records;
    return sum;
  }
};

} // namespace gmt
