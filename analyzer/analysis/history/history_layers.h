// SPDX-License-Identifier: Apache-2.0
// The layers of a finished history: which are shown, what they are called.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/history/history_columns.h"
#include "analyzer/analysis/history/memory_history.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/heap/nvtx_ranges.h"

namespace gmt {

// The order of HistoryColumns::Ids.
enum LayerSetIndex : std::size_t { kByStack, kByKind, kByRange, kByLibrary };
inline constexpr LayerSeries::Id kKindsADevice = MemoryUse::kMemoryKinds;

struct LayerNames {
  const Ranges& ranges;
  std::span<const std::string> libraries; // by layer
};

// By kind of memory, by library, by call stack and, if there are any, by range; of each set the
// layers that once held most.
std::vector<MemoryHistory::LayerSet> layer_sets(const HistoryColumns& columns,
                                                const LayerNames& names, std::size_t most_layers);
// "line of tensors": by call stack what tensors held when most of them were alive in a column.
MemoryHistory::LayerSet tensor_layers(const HistoryColumns& tensors, std::size_t most_layers);

} // namespace gmt
