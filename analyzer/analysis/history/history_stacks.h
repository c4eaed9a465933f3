// SPDX-License-Identifier: Apache-2.0
// Which call stacks a history has: those that held most at the peak or at the end, allocated most,
// or allocated most often. All others are added up.
#pragma once

#include <span>

#include "analyzer/analysis/history/memory_history.h"
#include "analyzer/analysis/memory_tables.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/model/trace_names.h"

namespace gmt {

struct StackSources {
  std::span<const StackUse> uses;
  const MemoryUse& use;
  const TraceNames& names;
};

// `most` of each of the four, and of those that tensors were made by. Those of the layers are there
// in any case.
void choose_stacks(const StackSources& sources, std::size_t most, MemoryHistory& history);

} // namespace gmt
