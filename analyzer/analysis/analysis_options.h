// SPDX-License-Identifier: Apache-2.0
// What the reader of a report asked of the analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/analysis/history/history_size.h"
#include "analyzer/analysis/time_window.h"
#include "analyzer/analysis/timeline/timeline.h"
#include "analyzer/coalescing/memory_access.h"
#include "analyzer/detectors/policy.h"
#include "analyzer/device_code/kernel_pointers.h"
#include "analyzer/model/process.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

using FindStatic = std::function<StaticVariable(const Module&, std::uint64_t address)>;

struct AnalysisOptions {
  bool group_by_range = false;
  std::vector<PolicyRule> policies = {};
  std::uint64_t coalescing_floor = MemoryAccess::kDefaultFloor; // bytes
  FindCode find_code = {};     // of kernels that were measured; none: only offsets are known
  FindStatic find_static = {}; // none: variables have no names
  FindPointerUses find_pointer_uses = {}; // none: what kernels do with memory is unknown
  HistorySize history = {};
  TimelineSize timeline = {};
  TimeSpan span = {}; // of the details that history, timeline and sink have
};

} // namespace gmt
