// SPDX-License-Identifier: Apache-2.0
// What instructions did to memory, as one context's access-<n>.log has it (trace/FORMAT.md, "Instructions and
// memory"). Read by MemoryAccess, which adds contexts up, and by `dump`.
//
// Trusts nothing, as LogReader does: what makes no sense is counted and left out, and the file may end
// anywhere. Its words are raised in place while the process lives, so any number may be the one before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/log_reader.h"

namespace gmt {

// trace::Kind::kAccessWindows.
struct AccessWindows {
  trace::AccessTrouble trouble = trace::AccessTrouble::kNone;
  std::uint64_t code = 0; // the CUptiResult that told
  std::uint64_t opened = 0, read = 0, given_up = 0;
  std::uint64_t launches = 0, launches_read = 0, launches_given_up = 0;
  std::uint64_t open_nanoseconds = 0;
  std::uint64_t graph_launches = 0;
  std::uint64_t put_off = 0; // launches that were due and left out to save time
  // Of whole-kernel counters.
  trace::AccessTrouble counters_trouble = trace::AccessTrouble::kNone;
  std::uint64_t counters_code = 0;
  std::uint64_t counted = 0, counted_lost = 0; // launches
};

// trace::Kind::kAccessCounters: sums over launches that were counted.
struct KernelCounters {
  std::uint64_t launches = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0; // of the device's memory
  std::uint64_t l1_sectors = 0, l1_hits = 0, l2_sectors = 0;
  std::uint64_t loads = 0, load_sectors = 0, stores = 0, store_sectors = 0; // of global memory, by warps
};

// trace::Kind::kAccessInstruction; trace::kUnknownCount where the chip has no such metric.
struct AccessCounts {
  std::uint64_t executions = 0, thread_executions = 0;
  std::uint64_t sectors = 0, ideal_sectors = 0, bytes = 0; // global memory
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0, shared_bytes = 0;
  std::uint64_t local_sectors = 0;

  // Instructions that did not are measured too, for their executions.
  bool touched_memory() const {
    const auto any = [](std::uint64_t figure) { return figure != 0 && figure != trace::kUnknownCount; };
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
  std::string name;           // as linked; empty if unknown
  std::uint64_t identity = 0; // CUPTI's checksum of the cubin and the symbol's index in it
  std::uint64_t measured = 0; // launches whose figures are in the sums
  std::uint64_t lost = 0;     // launches whose figures are not
  std::uint64_t launches = 0; // in all; 0 for device functions
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
