// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/history/history_layers.h"

#include <algorithm>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using SeriesEntry = LayerSeries::Entry;
using Step = MemoryHistory::Step;

std::vector<Step> steps_of(const std::vector<SeriesEntry>& entries) {
  std::vector<Step> steps;
  const auto add = [&steps](std::uint32_t column, std::uint64_t bytes) {
    if (!steps.empty() && steps.back().second == bytes) return;
    if (steps.empty() && bytes == 0) return;
    steps.emplace_back(column, bytes);
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    add(entries[i].column, entries[i].at_high);
    const bool follows = i + 1 < entries.size() && entries[i + 1].column == entries[i].column + 1;
    if (!follows) add(entries[i].column + 1, entries[i].last);
  }
  return steps;
}

// Of one set, named by `name_of(id)`.
template <class NameOf>
MemoryHistory::LayerSet set_of(std::string by, const LayerSeries& series, std::size_t most_layers,
                               const NameOf& name_of, bool by_stack = false) {
  std::vector<std::pair<LayerSeries::Id, std::uint64_t>> chosen;
  for (std::size_t i = 0; i < series.layers().size(); ++i) {
    const std::uint64_t most = most_of(series.layers()[i]);
    if (most != 0) chosen.emplace_back(static_cast<LayerSeries::Id>(i), most);
  }
  const std::size_t all = chosen.size();
  std::ranges::stable_sort(chosen, std::ranges::greater{}, [](const auto& c) { return c.second; });
  if (all > most_layers) chosen.resize(most_layers);
  MemoryHistory::LayerSet set{std::move(by), {}, all - chosen.size()};
  for (const auto& [id, most] : chosen) {
    set.layers.push_back({.name = name_of(id),
                          .stack = {},
                          .most = most,
                          .steps = steps_of(series.layers()[id].entries)});
    if (by_stack) set.layers.back().stack = StackId{id};
  }
  return set;
}

} // namespace

std::vector<MemoryHistory::LayerSet> layer_sets(const HistoryColumns& columns,
                                                const LayerNames& names, std::size_t most_layers) {
  std::vector<MemoryHistory::LayerSet> sets;
  sets.push_back(
    set_of("kind of memory", columns.set(kByKind), most_layers, [](LayerSeries::Id id) {
      std::string name(memory_noun(static_cast<trace::MemoryKind>(id % kKindsADevice)));
      const LayerSeries::Id device = id / kKindsADevice;
      return device == 0 ? name : cat({name, ", device ", std::to_string(device - 1)});
    }));
  sets.push_back(set_of("library", columns.set(kByLibrary), most_layers,
                        [&names](LayerSeries::Id id) { return names.libraries[id]; }));
  sets.push_back(set_of(
    "call stack", columns.set(kByStack), most_layers, [](LayerSeries::Id) { return std::string(); },
    true));
  if (names.ranges.any()) {
    sets.push_back(
      set_of("NVTX range", columns.set(kByRange), most_layers, [&names](LayerSeries::Id id) {
        return id == 0 ? std::string("no range") : names.ranges.text(id);
      }));
  }
  return sets;
}

MemoryHistory::LayerSet tensor_layers(const HistoryColumns& tensors, std::size_t most_layers) {
  return set_of(
    "line of tensors", tensors.set(kByStack), most_layers,
    [](LayerSeries::Id) { return std::string(); }, true);
}

} // namespace gmt
