// SPDX-License-Identifier: Apache-2.0
// What the mode --coalescing left out to save time, and what it took beyond its time, in the words
// of the report's "not checked".
#pragma once

#include <string>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// The subject of its lines in "not checked"
inline constexpr const char* kMemoryAccesses = "memory accesses";

std::string list_names(const std::vector<std::string>& names); // "a, b and 3 others"

// Kernels that were launched and of which no launch was measured. Whether it said why for some
// kernel.
bool report_unmeasured(const MemoryAccess& access, Findings& findings);
void report_shared(const MemoryAccess& access, Findings& findings);
void report_budget(const MemoryAccess& access, const TraceDir& trace, Findings& findings);

} // namespace gmt
