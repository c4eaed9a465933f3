// SPDX-License-Identifier: Apache-2.0
// Where memory traffic went in one process, as the report shows it: the source lines that waste
// most, and each kernel with how much of it was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/access_log.h"

namespace gmt {

class MemoryAccess;

inline constexpr std::size_t kMaxAccessLines = 10;

struct AccessTables {
  struct Kernel {
    std::string kernel;    // demangled
    bool is_kernel = true; // false: a device function, called by kernels that are not known
    std::uint64_t launches = 0, measured = 0;
    // Of global memory, in the launches that were measured.
    std::uint64_t requests = 0; // instructions that warps executed
    std::uint64_t sectors = 0, wasted_sectors = 0;
    std::uint64_t wasted_bytes = 0; // in all launches
    KernelCounters counters;        // launches 0: none was counted

    double sectors_per_request() const {
      return requests == 0 ? 0 : static_cast<double>(sectors) / static_cast<double>(requests);
    }
    // The share of its sectors that ideal accesses would have taken too, 0 to 1.
    double efficiency() const {
      return sectors == 0 ? 1
                          : 1 - static_cast<double>(wasted_sectors) / static_cast<double>(sectors);
    }
  };
  // The kMaxAccessLines that waste most of global memory's traffic
  std::vector<AccessFigures> lines;
  std::vector<Kernel> kernels;                // those that waste most first
  std::vector<const Kernel*> counted() const; // those with counters, those that move most first
  std::uint64_t moved_bytes = 0, wasted_bytes = 0; // of global memory, in all launches
  // Of all kernels, also of those that were never measured
  std::uint64_t launches = 0, measured = 0;
  std::uint64_t put_off = 0; // launches that were due and not measured, to save time
};

AccessTables access_tables(const MemoryAccess& access);

} // namespace gmt
