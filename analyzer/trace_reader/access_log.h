// SPDX-License-Identifier: Apache-2.0
// What instructions did to memory, as one context's access-<n>.log has it (trace/FORMAT.md,
// "Instructions and memory").
//
// Trusts nothing, as SlotFile does: what makes no sense is counted and left out. Its words are
// raised where it stands while the process lives, so any number may be the one before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/trace_reader/log_stats.h"
#include "trace/vocabulary.h"

namespace gmt {

// trace::Kind::kAccessWindows.
struct AccessWindows {
  trace::AccessTrouble trouble = trace::AccessTrouble::kNone;
  std::uint64_t code = 0; // the CUptiResult behind it
  std::uint64_t opened = 0, read = 0, given_up = 0;
  std::uint64_t launches = 0, launches_read = 0, launches_given_up = 0;
  std::uint64_t open_nanoseconds = 0;
  std::uint64_t graph_launches = 0;
  std::uint64_t graphs_in_windows = 0;     // their kernels may not have run
  std::uint64_t unknown_graphs = 0;        // of them: it is not known which kernels they launched
  std::uint64_t put_off = 0;               // launches that were due and left out to save time
  std::uint64_t measuring_nanoseconds = 0; // what measuring cost the process, by then
  std::uint64_t elapsed_nanoseconds = 0;   // since its first launch; both 0 in traces before 1.5
  // Of whole-kernel counters.
  trace::AccessTrouble counters_trouble = trace::AccessTrouble::kNone;
  std::uint64_t counters_code = 0;
  std::uint64_t counted = 0, counted_lost = 0; // launches
};

// trace::Kind::kAccessCounters. Each figure is a sum over the launches that it was counted in.
struct KernelCounters {
  struct Figure {
    std::uint64_t sum = 0, launches = 0;
  };
  std::uint64_t launches = 0;       // that some figure was counted in
  Figure read_bytes, written_bytes; // of the device's memory
  Figure l1_sectors, l1_hits, l2_sectors, l2_hits;
  Figure loads, load_sectors, stores, store_sectors; // of global memory, by warps
  Figure nanoseconds;                                // that the kernel ran
  Figure possible_bytes; // that the device's memory can move in that time
};
// The members in the order of the trace's words, from trace::AccessCountersWord::read_bytes on.
inline constexpr KernelCounters::Figure KernelCounters::* kCounterFigures[] = {
  &KernelCounters::read_bytes,   &KernelCounters::written_bytes,  &KernelCounters::l1_sectors,
  &KernelCounters::l1_hits,      &KernelCounters::l2_sectors,     &KernelCounters::loads,
  &KernelCounters::load_sectors, &KernelCounters::stores,         &KernelCounters::store_sectors,
  &KernelCounters::nanoseconds,  &KernelCounters::possible_bytes, &KernelCounters::l2_hits};

// trace::Kind::kAccessInstruction; trace::kUnknownCount where the chip has no such metric.
struct AccessCounts {
  std::uint64_t executions = 0, thread_executions = 0;
  std::uint64_t sectors = 0, ideal_sectors = 0, bytes = 0; // global memory
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0, shared_bytes = 0;
  std::uint64_t local_sectors = 0;

  // Instructions that did not are measured too, for their executions.
  bool accessed_memory() const {
    const auto any = [](std::uint64_t figure) {
      return figure != 0 && figure != trace::kUnknownCount;
    };
    return any(sectors) || any(bytes) || any(wavefronts) || any(shared_bytes) || any(local_sectors);
  }
  bool operator==(const AccessCounts&) const = default;
};

// trace::Kind::kAccessFunction.
struct AccessFunction {
  struct Instruction {
    std::uint32_t offset = 0; // in the function, bytes
    AccessCounts counts;
  };
  std::uint32_t number = 0;
  std::string name;                    // as linked; empty if unknown
  std::uint64_t identity = 0;          // CUPTI's checksum of the cubin and the symbol's index in it
  std::uint64_t measured = 0;          // launches whose figures are in the sums
  std::uint64_t lost = 0;              // launches whose figures are not
  std::uint64_t shared_measured = 0;   // the same, figures of shared memory
  std::uint64_t launches = 0;          // in all; 0 for device functions
  std::uint64_t plain_nanoseconds = 0; // of a launch that was not measured; 0 unknown
  std::uint64_t longest_nanoseconds = 0; // of a launch that was measured; 0 unknown
  std::uint64_t too_costly = 0;          // launches that were due and put off
  std::vector<Instruction> instructions;
  KernelCounters counters;
};

struct AccessLog {
  std::string name; // "access-0"
  LogStats stats;
  bool has_windows = false; // false: the process died before it wrote them
  AccessWindows windows;
  std::vector<AccessFunction> functions; // in the order of the file
};

AccessLog read_access_log(const std::filesystem::path& path);

} // namespace gmt
